// The canvas and the inspector beside it are equally tall: the canvas says how tall on what holds
// both, in whichever document or shadow root that is.

const LEVELS = 8;
const NAME = "--wb-top-height";

export function shareHeight(row: HTMLElement, height: number): void {
  row.style.setProperty(NAME, `${height}px`);
}

/** The nearest element around that sets its children side by side; else the canvas itself. */
export function rowOf(root: HTMLElement): HTMLElement {
  return holder(root) ?? root;
}

function holder(root: HTMLElement): HTMLElement | null {
  let el: Node | null = root.parentNode;
  for (let level = 0; el && level < LEVELS; level++) {
    if (el instanceof ShadowRoot) el = el.host;
    if (!(el instanceof HTMLElement) || el === document.body) return null;
    const { display, flexDirection } = getComputedStyle(el);
    if (display === "flex" && flexDirection === "row" && el.childElementCount !== 1) return el;
    el = el.assignedSlot ?? el.parentNode;
  }
  return null;
}
