// Keeps the keyboard focus on the canvas when the focused element disappears.

import { focusedElement } from "../../lib/focus";
import type { CanvasStore } from "../state/canvasStore";

export class FocusKeeper {
  /** True if the focus was on the canvas and the user has not moved it elsewhere. */
  private held = false;
  private current = "";
  /** True if the current box must get the focus once it is rendered. */
  private due = false;

  constructor(private store: CanvasStore) {}

  listen(): () => void {
    const { root } = this.store.dom;
    const into = (): void => {
      this.held = true;
    };
    const out = (event: FocusEvent): void => {
      if (event.relatedTarget && !root.contains(event.relatedTarget as Node)) this.held = false;
    };
    const press = (event: PointerEvent): void => {
      if (!event.composedPath().includes(root)) this.held = false;
    };
    root.addEventListener("focusin", into);
    root.addEventListener("focusout", out);
    document.addEventListener("pointerdown", press, true);
    // Immediately, because another key would otherwise reach the page.
    const gone = new MutationObserver(() => this.restore());
    gone.observe(root, { childList: true, subtree: true });
    // After rendering, because a button that becomes disabled also loses the focus.
    const unwatch = this.store.watch(() => requestAnimationFrame(() => this.restore()));
    return () => {
      unwatch();
      gone.disconnect();
      root.removeEventListener("focusin", into);
      root.removeEventListener("focusout", out);
      document.removeEventListener("pointerdown", press, true);
    };
  }

  /** Move the focus to the selected box. Returns true if that box has changed. */
  follow(): boolean {
    const changed = this.current !== this.store.current;
    this.current = this.store.current;
    if (changed) this.due = true;
    this.restore();
    // React Flow adds and removes its nodes only after this.
    requestAnimationFrame(() => this.restore());
    return changed;
  }

  private restore(): void {
    const { store } = this;
    const { popup, renaming } = store.get();
    if (!this.held || popup || renaming || !store.dom.root.isConnected) return;
    const el = focusedElement(store.dom.root);
    const lost = !el || el === store.dom.root || !store.dom.root.contains(el);
    const there = store.dom.element(store.current) !== null;
    const free = lost || el.matches("[data-focus], .wb-canvas-box");
    if (!lost && !(this.due && free && there)) return;
    this.due = !there;
    if (lost || store.dom.focusedId !== store.current) store.dom.focus(store.current);
  }
}
