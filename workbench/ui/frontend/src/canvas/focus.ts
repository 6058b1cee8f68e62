// Keeps the keyboard's focus where the work is, also when what had it has gone.

import { focused } from "../lib/dom";
import type { Desk } from "./desk";

export class Holder {
  /** Whether the focus was here last, and nobody took it elsewhere. */
  private held = false;
  private current = "";
  /** Whether the current box has yet to be given the focus: it may be drawn later. */
  private due = false;

  constructor(private desk: Desk) {}

  listen(): () => void {
    const { root } = this.desk;
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
    return () => {
      gone.disconnect();
      root.removeEventListener("focusin", into);
      root.removeEventListener("focusout", out);
      document.removeEventListener("pointerdown", press, true);
    };
  }

  /** After a drawing. Returns whether another box is current than before. */
  follow(): boolean {
    const changed = this.current !== this.desk.current;
    this.current = this.desk.current;
    if (changed) this.due = true;
    this.restore();
    // React Flow draws its nodes, and takes them away, only after this.
    requestAnimationFrame(() => this.restore());
    return changed;
  }

  private restore(): void {
    const { desk } = this;
    const { popup, renaming } = desk.get();
    if (!this.held || popup || renaming || !desk.root.isConnected) return;
    const el = focused(desk.root);
    const lost = !el || !desk.root.contains(el);
    const there = desk.element(desk.current) !== null;
    const free = lost || el.matches("[data-focus], .wb-canvas-box");
    if (!lost && !(this.due && free && there)) return;
    this.due = !there;
    if (lost || desk.focusedId !== desk.current) desk.focus(desk.current);
  }
}
