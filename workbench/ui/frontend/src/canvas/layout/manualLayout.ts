// Manual layout: positions of boxes after the user has moved some.

import type { EdgeEntry } from "../../payloads";
import { CARD, lineOf, type DrawnNode, type Point, type Size } from "./geometry";
import { boxesOf, GAP, type Box } from "./layout";

/**
 * Manual positions stay unless an expanded block needs the space; new boxes are placed below
 * their source, and to the right until they cover nothing.
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
  makeRoom(boxes, spots);
  return spots;
}

/**
 * Move boxes below or next to a frame out of it: a block was placed as a card and is larger once
 * expanded. All rows below move together; if there is space, nothing moves.
 */
function makeRoom(boxes: readonly Box[], spots: Map<string, Point>): void {
  const frames = boxes.filter(({ node }) => node?.place?.rects);
  frames.sort((a, b) => spots.get(a.id)!.y - spots.get(b.id)!.y);
  for (const frame of frames) {
    const { x, y } = spots.get(frame.id)!;
    const [right, bottom] = [x + frame.width, y + frame.height];
    const covered = boxes.flatMap(({ id, width, height }) => {
      const at = spots.get(id)!;
      const apart = at.x >= right || at.x + width <= x || at.y >= bottom || at.y + height <= y;
      return id === frame.id || apart ? [] : [at];
    });
    const below = Math.min(...covered.map((at) => at.y).filter((top) => top > y));
    const beside = Math.min(...covered.filter((at) => at.y <= y && at.x > x).map((at) => at.x));
    for (const at of spots.values()) {
      if (at.y >= below) at.y += bottom + GAP.rows - below;
      else if (at.x >= beside) at.x += right + GAP.rows - beside;
    }
  }
}

/** Return the first position to the right at which a box covers no other box. */
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
