// One pane over all of the screen, and back.

import { closestAround } from "./siblings";

export type FillingPane = "canvas" | "panels";

/** Whether there is a screen around a part: one that is shown alone has none. */
export function canFill(part: Element): boolean {
  return closestAround(part, ".wb-screen") !== null;
}

/** Gives a pane all of the screen around `part`, or gives the rest back. */
export function fillWindow(part: Element, pane: FillingPane): void {
  const screen = closestAround(part, ".wb-screen");
  if (!screen) return;
  if (screen.dataset["alone"] === pane) delete screen.dataset["alone"];
  else screen.dataset["alone"] = pane;
}
