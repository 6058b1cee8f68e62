// Tracks which control is in use, so that values from Python do not change it meanwhile.

import type { Link } from "../lib/link";

/**
 * Milliseconds: longer than Python needs to send a payload and its acknowledgement in either
 * order.
 */
const SETTLE = 150;
/** Maximum milliseconds between key presses that are one edit for undo. */
const BURST = 1000;

export class InteractionGuard {
  private dragged: Element | null = null;
  private typed: Element | null = null;
  private touched: Element | null = null;
  private groups = 0;
  private groupOf: Element | null = null;
  private lastStep = 0;
  private timer = 0;
  private release = (): void => {
    this.dragged = null;
    this.settle();
  };

  constructor(
    root: HTMLElement,
    private link: Link<"inspector">,
    private redraw: () => void,
  ) {
    root.addEventListener("pointerdown", (event) => {
      const el = event.target as Element;
      if (!el.matches("input[type=range]")) return;
      this.dragged = el;
      this.begin(el);
    });
    root.addEventListener("input", (event) => {
      const el = event.target as HTMLElement;
      this.touched = el;
      if (el.matches("input:not([type=range], [type=checkbox])")) this.typed = el;
    });
    const stop = (event: Event): void => {
      if (event.target === this.typed) this.typed = null;
      this.settle();
    };
    root.addEventListener("change", stop);
    root.addEventListener("focusout", stop);
    window.addEventListener("pointerup", this.release);
    window.addEventListener("pointercancel", this.release);
    link.on("ack", () => this.settle());
  }

  /** Return a group id that is the same for all changes of one drag or one burst of keys. */
  group(el: Element): string {
    const idle = performance.now() - this.lastStep > BURST && this.dragged !== el;
    if (this.groupOf !== el || idle) this.begin(el);
    this.touched = el; // keys and the wheel change a field without an input event
    this.lastStep = performance.now();
    return `${this.link.view}-${this.groups}`;
  }

  /** Return whether a control is being dragged, typed in, or waiting for Python. */
  holds(control: Element): boolean {
    const inside = (el: Element | null): boolean => el !== null && control.contains(el);
    if (inside(this.dragged) || inside(this.typed)) return true;
    return this.link.waiting && inside(this.touched);
  }

  /** Replace the typed text with Python's value; later key presses are another edit. */
  letGo(): void {
    this.typed = this.groupOf = null;
  }

  dispose(): void {
    clearTimeout(this.timer);
    window.removeEventListener("pointerup", this.release);
    window.removeEventListener("pointercancel", this.release);
  }

  private begin(el: Element): void {
    this.groups += 1;
    this.groupOf = el;
    this.lastStep = performance.now();
  }

  private settle(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(this.redraw, SETTLE);
  }
}
