// One pane over all of the screen, and back.

import { closestAround } from "./siblings";

export type FillingPane = "canvas" | "panels";

/** Whether there is a screen around a part: one that is shown alone has none. */
export function canFill(part: Element): boolean {
  return closestAround(part, ".wb-screen") !== null;
}

/** Calls `changed` when a pane is given all of the screen, and when it gives the rest back. */
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

/** Gives a pane all of the screen around `part`, or gives the rest back. */
export function fillWindow(part: Element, pane: FillingPane): void {
  const screen = closestAround(part, ".wb-screen");
  if (!screen) return;
  if (screen.dataset["alone"] === pane) delete screen.dataset["alone"];
  else screen.dataset["alone"] = pane;
}
