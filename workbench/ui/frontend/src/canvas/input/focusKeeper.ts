// Keeps the keyboard's focus where the work is, also when what had it has gone.

import { focused } from "../../lib/focus";
import type { CanvasStore } from "../state/canvasStore";

export class FocusKeeper {
  /** Whether the focus was here last, and nobody took it elsewhere. */
  private held = false;
  private current = "";
  /** Whether the current box has yet to be given the focus: it may be drawn later. */
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
    // At once, before another key comes, which would reach the page instead.
    const gone = new MutationObserver(() => this.restore());
    gone.observe(root, { childList: true, subtree: true });
    // After the change is drawn: a button that is disabled by it loses the focus, too.
    const unwatch = this.store.watch(() => requestAnimationFrame(() => this.restore()));
    return () => {
      unwatch();
      gone.disconnect();
      root.removeEventListener("focusin", into);
      root.removeEventListener("focusout", out);
      document.removeEventListener("pointerdown", press, true);
    };
  }

  /** Follows the selection. Returns whether another box is current than before. */
  follow(): boolean {
    const changed = this.current !== this.store.current;
    this.current = this.store.current;
    if (changed) this.due = true;
    this.restore();
    // React Flow draws its nodes, and takes them away, only after this.
    requestAnimationFrame(() => this.restore());
    return changed;
  }

  private restore(): void {
    const { store } = this;
    const { popup, renaming } = store.get();
    if (!this.held || popup || renaming || !store.dom.root.isConnected) return;
    const el = focused(store.dom.root);
    const lost = !el || el === store.dom.root || !store.dom.root.contains(el);
    const there = store.dom.element(store.current) !== null;
    const free = lost || el.matches("[data-focus], .wb-canvas-box");
    if (!lost && !(this.due && free && there)) return;
    this.due = !there;
    if (lost || store.dom.focusedId !== store.current) store.dom.focus(store.current);
  }
}
