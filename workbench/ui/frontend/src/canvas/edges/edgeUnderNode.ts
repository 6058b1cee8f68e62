// Find the edge under a node that is dragged with Alt.

import type { Point } from "../layout/geometry";
import type { Route } from "../layout/edgeRouting";

const REACH = 46;

export function edgeUnder(
  routes: ReadonlyMap<string, Route>,
  middle: Point,
  skip: (edge: string) => boolean,
): string {
  let [best, least] = ["", REACH];
  for (const [id, { along, middle: own }] of routes) {
    if (skip(id)) continue;
    for (const { x, y } of [...along, own]) {
      const far = Math.hypot((x - middle.x) / 2, y - middle.y);
      if (far < least) [best, least] = [id, far];
    }
  }
  return best;
}
