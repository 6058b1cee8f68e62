// Elements of the canvas on the page, and the focused one.

import { focusedElement } from "../../lib/focus";

export class CanvasDom {
  constructor(readonly root: HTMLElement) {}

  /** Element of the graph: the component without the palette. */
  get box(): HTMLElement {
    return this.root.querySelector<HTMLElement>(".wb-canvas-box") ?? this.root;
  }

  /** Element of a node or output. */
  element(id: string): HTMLElement | null {
    return this.root.querySelector<HTMLElement>(`[data-focus="${CSS.escape(id)}"]`);
  }

  /** Id of the focused node or output; empty if there is none. */
  get focusedId(): string {
    const el = focusedElement(this.root);
    return el instanceof HTMLElement && this.root.contains(el) ? (el.dataset["focus"] ?? "") : "";
  }

  /** Focus a node or output, or the canvas if it is not rendered. */
  focus(id: string): void {
    (this.element(id) ?? this.box).focus({ preventScroll: true });
  }
}
