// The elements of the canvas on the page, and which of them has the focus.

import { focused } from "../../lib/focus";

export class CanvasDom {
  constructor(readonly root: HTMLElement) {}

  /** The element that shows the graph: the component without the palette. */
  get box(): HTMLElement {
    return this.root.querySelector<HTMLElement>(".wb-canvas-box") ?? this.root;
  }

  /** The element of a node or output. */
  element(id: string): HTMLElement | null {
    return this.root.querySelector<HTMLElement>(`[data-focus="${CSS.escape(id)}"]`);
  }

  /** The id of the node or output that has the focus; empty if none has. */
  get focusedId(): string {
    const el = focused(this.root);
    return el instanceof HTMLElement && this.root.contains(el) ? (el.dataset["focus"] ?? "") : "";
  }

  /** Focuses a node or output, or the canvas if it is not drawn. */
  focus(id: string): void {
    (this.element(id) ?? this.box).focus({ preventScroll: true });
  }
}
