// Keys, and keeping JupyterLab's hands off them.

import { isPage } from "./page";

const FOCUSABLE = "button, input, select, textarea, a[href], [tabindex]";

/**
 * Lab takes keys unless the focused element itself opts out, and moves the focus to the notebook
 * on a click: so every element that gets the focus is marked, and a click's target gets it back.
 */
export function keepKeys(root: HTMLElement): void {
  root.addEventListener("focusin", (event) => {
    (event.target as Element).setAttribute("data-lm-suppress-shortcuts", "true");
  });
  // Lab swallows the change event that Enter gives in a text field.
  root.addEventListener("keydown", (event) => {
    const el = event.target;
    if (event.key !== "Enter" || !(el instanceof HTMLInputElement) || el.form || !isTyping(el)) return;
    event.preventDefault();
    el.dispatchEvent(new Event("change", { bubbles: true }));
  });
  const holder = (event: Event): HTMLElement | null => {
    const el = (event.target as Element).closest<HTMLElement>(FOCUSABLE);
    return el && root.contains(el) ? el : null;
  };
  root.addEventListener("pointerup", (event) => {
    const el = holder(event);
    if (el && !el.matches(":focus")) el.focus({ preventScroll: true });
  });
  root.addEventListener("click", (event) => {
    const el = holder(event);
    if (el && !root.querySelector(":focus")) el.focus({ preventScroll: true });
  });
}

/** `Ctrl+Shift+Z`, `Alt+ArrowLeft`, `/`. Cmd counts as Ctrl. */
export function chord(event: KeyboardEvent): string {
  const named = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  const shift = event.shiftKey && (event.key.length > 1 || /[a-z]/i.test(event.key));
  return [
    (event.ctrlKey || event.metaKey) && "Ctrl",
    event.altKey && "Alt",
    shift && "Shift",
    named,
  ]
    .filter(Boolean)
    .join("+");
}

/** Whether a key belongs to what is being typed, and undo to the browser. */
export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && !["range", "checkbox", "file"].includes(target.type);
}

/** Undo and redo by key, wherever the focus is not in text. Returns whether the key was one. */
export function undoKey(event: KeyboardEvent, ask: (action: "undo" | "redo") => void): boolean {
  const key = chord(event);
  const redo = key === "Ctrl+Shift+Z" || key === "Ctrl+Y";
  if ((!redo && key !== "Ctrl+Z") || isTyping(event.composedPath()[0] ?? null)) return false;
  event.preventDefault();
  ask(redo ? "redo" : "undo");
  return true;
}

/** Where keys pressed anywhere on the page are meant for the workbench: not inside JupyterLab. */
export function keyScope(root: HTMLElement): EventTarget {
  return isPage(root) ? document : root;
}
