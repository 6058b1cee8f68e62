// Keyboard handling that prevents conflicts with JupyterLab.

import { focusedElement } from "./focus";
import { isPage } from "./fullPage";
import { followTyping, handlesStep, stepText, type TextField } from "./typedText";

const VALUE = ".wb-val:not([type=search], [role=combobox])";
const FOCUSABLE = "button, input, select, textarea, a[href], [tabindex]";

/** Prevent JupyterLab from handling the keys of a component. */
export function keepKeys(root: HTMLElement): void {
  followTyping(root);
  keepFocus(root);
  // Lab suppresses the change event of Enter in a text field.
  root.addEventListener("keydown", (event) => {
    const el = event.target;
    if (event.key !== "Enter" || !(el instanceof HTMLInputElement) || el.form || !isTyping(el)) return;
    event.preventDefault();
    el.dispatchEvent(new Event("change", { bubbles: true }));
  });
}

/**
 * Lab handles keys unless the focused element opts out, and moves the focus to the notebook on a
 * click. So every focused element is marked, and the target of a click gets the focus back; if it
 * is not focusable, `root` does.
 */
export function keepFocus(root: HTMLElement): void {
  root.addEventListener("keydown", (event) => passSaveKey(root, event), true);
  root.addEventListener("focusin", (event) => {
    (event.target as Element).setAttribute("data-lm-suppress-shortcuts", "true");
  });
  root.addEventListener(
    "pointerdown",
    () => {
      if (!isPage(root)) root.tabIndex = -1;
    },
    true,
  );
  const holder = (event: Event): HTMLElement | null => {
    const el = (event.target as Element).closest<HTMLElement>(FOCUSABLE);
    return el && root.contains(el) ? el : null;
  };
  root.addEventListener("pointerup", (event) => {
    const el = holder(event);
    if (el && !holdsFocus(el)) el.focus({ preventScroll: true });
  });
  root.addEventListener("click", (event) => {
    const el = holder(event);
    if (el && !holdsFocus(root)) el.focus({ preventScroll: true });
  });
  // A button that its own click hides or removes must not leave the next key to the notebook.
  root.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget || isPage(root)) return;
    requestAnimationFrame(() => {
      const gone = !(target as Element).getClientRects().length;
      if (!gone || document.activeElement !== document.body) return;
      root.tabIndex = -1;
      root.focus({ preventScroll: true });
    });
  });
}

/** Return whether an element or a descendant has the focus, even in a shadow root (Panel). */
function holdsFocus(el: HTMLElement): boolean {
  const active = focusedElement(el);
  return active !== null && el.contains(active);
}

/** Let JupyterLab save the notebook; it ignores the key, which comes from a marked element. */
function passSaveKey(root: HTMLElement, event: KeyboardEvent): void {
  if (chord(event) !== "Ctrl+S" || event.defaultPrevented || isPage(root)) return;
  const handled = !document.body.dispatchEvent(new KeyboardEvent(event.type, event));
  if (handled) event.preventDefault();
}

/** Return a key combination as text: `Ctrl+Shift+Z`, `Alt+ArrowLeft`, `/`. Cmd counts as Ctrl. */
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

/** Return whether key presses on an element are text input. */
export function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && !["range", "checkbox", "file"].includes(target.type);
}

/**
 * Undo and redo by key: first for typed text that was not applied yet, then for the graph. Returns
 * whether the key was handled.
 */
export function undoKey(event: KeyboardEvent, ask: (action: "undo" | "redo") => void): boolean {
  const key = chord(event);
  const redo = key === "Ctrl+Shift+Z" || key === "Ctrl+Y";
  if (!redo && key !== "Ctrl+Z") return false;
  const target = event.composedPath()[0] ?? null;
  const field = isTyping(target) ? (target as TextField) : null;
  // Fields for paths, names or searches are in a form or dialog, and show no value.
  if (field && (!field.matches(VALUE) || field.form)) return false;
  const own = field !== null && handlesStep(field, redo);
  if (own && field instanceof HTMLTextAreaElement) return false; // the browser undoes word by word
  event.preventDefault();
  if (own) stepText(field, redo);
  else ask(redo ? "redo" : "undo");
  return true;
}

/**
 * Call `hold` while a key is pressed anywhere in the workbench, except during text input or in a
 * list. In JupyterLab the workbench is the closest group around `root`: there may be several, and
 * keys of cells are not handled.
 */
export function heldKey(root: HTMLElement, key: string, hold: (on: boolean) => void): () => void {
  const meant = (event: KeyboardEvent): boolean =>
    event.key.toLowerCase() === key && !event.ctrlKey && !event.metaKey && !event.altKey;
  const free = (target: EventTarget | undefined): boolean => {
    if (!(target instanceof Element)) return isPage(root);
    if (isTyping(target) || target instanceof HTMLSelectElement) return false;
    if (isPage(root)) return true;
    if (!target.closest(".wb")) return false;
    const alike = `[data-wb="${root.dataset["wb"]}"]`;
    let place: Element | null = target;
    while (place && !place.querySelector(alike)) place = place.parentElement;
    return place?.contains(root) ?? false;
  };
  const press = (event: KeyboardEvent): void => {
    const seen = root.getClientRects().length > 0;
    if (meant(event) && !event.repeat && seen && free(event.composedPath()[0])) hold(true);
  };
  const lift = (event: KeyboardEvent): void => {
    if (event.key.toLowerCase() === key) hold(false);
  };
  const release = (): void => hold(false);
  document.addEventListener("keydown", press, true);
  document.addEventListener("keyup", lift, true);
  window.addEventListener("blur", release);
  return () => {
    document.removeEventListener("keydown", press, true);
    document.removeEventListener("keyup", lift, true);
    window.removeEventListener("blur", release);
  };
}

/** Return the target of key events: the whole page, or in JupyterLab the workbench. */
export function keyScope(root: HTMLElement): EventTarget {
  return isPage(root) ? document : root;
}
