// Whether the palette is open, stored by the browser.

import type { CanvasStore } from "./canvasStore";

const STORAGE_KEY = "dali-workbench-palette";

export function paletteWasOpen(): boolean {
  try {
    return localStorage.getItem(STORAGE_KEY) === "open";
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
    localStorage.setItem(STORAGE_KEY, open ? "open" : "closed");
  } catch {
    // Without storage the state lasts as long as the page.
  }
}
