// Full-window mode of a pane.

import { closestAround } from "./siblings";

export type FillingPane = "canvas" | "panels";

/** Return whether a part is in a screen; a part that is shown alone is not. */
export function canFill(part: Element): boolean {
  return closestAround(part, ".wb-screen") !== null;
}

/** Call `changed` when a pane enters or leaves full-window mode. */
export function onFill(part: Element, pane: FillingPane, changed: () => void): () => void {
  const screen = closestAround(part, ".wb-screen");
  if (!screen) return () => {};
  const observer = new MutationObserver((records) => {
    const before = records.map(({ oldValue }) => oldValue);
    if ([...before, screen.dataset["alone"]].includes(pane)) changed();
  });
  observer.observe(screen, { attributeFilter: ["data-alone"], attributeOldValue: true });
  return () => observer.disconnect();
}

/** Toggle full-window mode of a pane around `part`. */
export function fillWindow(part: Element, pane: FillingPane): void {
  const screen = closestAround(part, ".wb-screen");
  if (!screen) return;
  if (screen.dataset["alone"] === pane) delete screen.dataset["alone"];
  else screen.dataset["alone"] = pane;
}
