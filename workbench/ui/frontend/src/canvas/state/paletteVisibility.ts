// Whether the palette is open, stored by the browser.

import type { CanvasStore } from "./canvasStore";

const KEPT = "dali-workbench-palette";

export function paletteWasOpen(): boolean {
  try {
    return localStorage.getItem(KEPT) === "open";
  } catch {
    return false;
  }
}

/** Open or close the palette. */
export function showPalette(store: CanvasStore, open = !store.get().palette): void {
  const held = store.dom.root.querySelector(".wb-palette:focus-within") !== null;
  store.set({ palette: open });
  if (held && !open) store.dom.focus(store.current);
  try {
    localStorage.setItem(KEPT, open ? "open" : "closed");
  } catch {
    // Without storage the state lasts as long as the page.
  }
}
