// Where things stand once somebody has put them somewhere.

import type { EdgeEntry, NodeEntry } from "../views";
import { CARD, isOutput, outputId, type Point, type Size } from "./geometry";
import { boxesOf, GAP, type Box } from "./layout";

/**
 * What was put somewhere by hand stays there; what is new stands behind what feeds it, and lower
 * until it covers nothing.
 */
export function manualLayout(
  nodes: readonly NodeEntry[],
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
    spots.set(box.id, lowered(nearby(box, edges, spots), box, placed, spots));
    placed.push(box);
  }
  return spots;
}

/** The first place from there downwards in which a box covers nothing. */
export function lowered(
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
      spot.y - box.over < at.y + other.height + 12 &&
      at.y - other.over < spot.y + box.height + 12
    );
  };
  while (placed.some(covers)) spot.y += 24;
  return spot;
}

function nearby(box: Box, edges: readonly EdgeEntry[], spots: Map<string, Point>): Point {
  const feeding = edges.find(
    (edge) => (edge.target || outputId(edge.input)) === box.id && spots.has(edge.source),
  );
  const from = feeding && spots.get(feeding.source);
  if (from) {
    const level = isOutput(box.id) ? 15 : 0;
    return { x: from.x + CARD.width + GAP.most, y: from.y + level };
  }
  const fed = edges.find((edge) => edge.source === box.id && spots.has(edge.target));
  const to = fed && spots.get(fed.target);
  if (to)
    return box.node?.generator
      ? { x: to.x, y: to.y - 72 }
      : { x: to.x - CARD.width - GAP.most, y: to.y };
  const all = [...spots.values()];
  return {
    x: Math.min(0, ...all.map((at) => at.x)),
    y: Math.max(0, ...all.map((at) => at.y + 96)),
  };
}
