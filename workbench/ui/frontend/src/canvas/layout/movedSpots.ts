// Positions after boxes were moved, and the values sent to Python.

import { BODY, CARD, type DrawnNode, type Point } from "./geometry";
import type { LayoutCache } from "./layoutCache";

type Spots = ReadonlyMap<string, Point>;

const blockOf = (scope: string): string => scope.slice(0, scope.lastIndexOf("."));

/** Return the position of a box; boxes in a moved frame move with the frame. */
export function spotWith(
  id: string,
  spots: Spots,
  moved: Spots,
  scopes: ReadonlyMap<string, string>,
): Point | undefined {
  const at = moved.get(id) ?? spots.get(id);
  if (!at || moved.has(id)) return at;
  let block = blockOf(scopes.get(id) ?? "");
  while (block) {
    const [to, from] = [moved.get(block), spots.get(block)];
    if (to && from) return { x: at.x + to.x - from.x, y: at.y + to.y - from.y };
    block = blockOf(scopes.get(block) ?? "");
  }
  return at;
}

export function spotsWith(spots: Spots, moved: Spots, scopes: ReadonlyMap<string, string>): Spots {
  return new Map([...spots].map(([id, at]) => [id, spotWith(id, spots, moved, scopes) ?? at]));
}

/** Return the upper left corner of each body in a frame. */
export function cornersOf(nodes: readonly DrawnNode[], spots: Spots): Map<string, Point> {
  const corners = new Map<string, Point>();
  for (const { id, place } of nodes) {
    const at = spots.get(id);
    for (const { scope, x, y } of (at && place?.rects) || []) {
      corners.set(scope, { x: at!.x + x, y: at!.y + y });
    }
  }
  return corners;
}

/** Return the minimum position of a box in a body: inside the edges, below the bar. */
export function leastSpot(corner: Point): Point {
  return { x: corner.x + BODY.pad, y: corner.y + BODY.bar.height + BODY.gap };
}

/**
 * Return the positions of all boxes in bodies in which something was moved, in the format of Python.
 * The position of a group is assigned to its first node.
 */
export function placements(
  { boxes, nodes, spots, scopes, scope }: LayoutCache,
  moved: Spots,
): Record<string, number[]> {
  const touched = new Set([...moved.keys()].map((id) => scopes.get(id)));
  const now = spotsWith(spots, moved, scopes);
  const corners = cornersOf(nodes, now).set(scope, { x: 0, y: 0 });
  const found: Record<string, number[]> = {};
  for (const { id, node } of boxes) {
    const own = scopes.get(id);
    const [at, corner] = [now.get(id), corners.get(own ?? "")];
    if (!at || !corner || !touched.has(own)) continue;
    const bar = id === own && own !== scope;
    found[node?.group?.members[0] ?? id] = bar ? openedBar(node) : [Math.round(at.x - corner.x), Math.round(at.y - corner.y)];
  }
  return found;
}

/** Return the position of the input card in the opened body: the position of the body's bar. */
function openedBar(bar: DrawnNode | null): number[] {
  const line = bar?.place?.line ?? BODY.line;
  return [Math.round(line - CARD.line), BODY.bar.height - CARD.height];
}
