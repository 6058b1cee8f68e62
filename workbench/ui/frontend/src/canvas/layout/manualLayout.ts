// Where things stand once somebody has put them somewhere.

import type { EdgeEntry } from "../../views";
import { CARD, lineOf, type DrawnNode, type Point, type Size } from "./geometry";
import { boxesOf, GAP, type Box } from "./layout";

/**
 * What was put somewhere by hand stays there; what is new stands below what feeds it, and farther
 * to the right until it covers nothing.
 */
export function manualLayout(
  nodes: readonly DrawnNode[],
  edges: readonly EdgeEntry[],
  positions: Record<string, number[]>,
): Map<string, Point> {
  const boxes = boxesOf(nodes, edges);
  const spots = new Map<string, Point>();
  const placed: Box[] = [];
  for (const box of boxes) {
    const [x, y] = positions[box.id] ?? [];
    if (x === undefined || y === undefined) continue;
    spots.set(box.id, { x, y });
    placed.push(box);
  }
  for (const box of boxes) {
    if (spots.has(box.id)) continue;
    spots.set(box.id, freeSpot(nearby(box, boxes, edges, spots), box, placed, spots));
    placed.push(box);
  }
  return spots;
}

/** The first place from there to the right in which a box covers nothing. */
export function freeSpot(
  from: Point,
  box: Size,
  placed: readonly Box[],
  spots: ReadonlyMap<string, Point>,
): Point {
  const spot = { ...from };
  const covers = (other: Box): boolean => {
    const at = spots.get(other.id);
    return (
      !!at &&
      spot.x < at.x + other.width + 16 &&
      at.x < spot.x + box.width + 16 &&
      spot.y < at.y + other.height + 12 &&
      at.y < spot.y + box.height + 12
    );
  };
  while (placed.some(covers)) spot.x += 24;
  return spot;
}

function nearby(
  box: Box,
  boxes: readonly Box[],
  edges: readonly EdgeEntry[],
  spots: Map<string, Point>,
): Point {
  const known = new Map(boxes.map((other) => [other.id, other]));
  const feeding = edges.find(
    (edge) => (edge.target || edge.id) === box.id && spots.has(edge.source),
  );
  const from = feeding && spots.get(feeding.source);
  if (from) {
    const { node, width, height } = known.get(feeding.source)!;
    const x = from.x + lineOf(node, width) - lineOf(box.node, box.width);
    return { x, y: from.y + height + GAP.rows };
  }
  const fed = edges.find((edge) => edge.source === box.id && spots.has(edge.target));
  const to = fed && spots.get(fed.target);
  if (to) return { x: to.x, y: to.y - box.height - GAP.rows };
  const all = [...spots.values()];
  return {
    x: Math.min(0, ...all.map((at) => at.x)),
    y: Math.max(0, ...all.map((at) => at.y + CARD.height + GAP.rows)),
  };
}
