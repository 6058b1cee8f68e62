// Placement of a node's toolbar where it covers least.

import { Position } from "@xyflow/react";
import type { LayoutCache } from "../layout/layoutCache";

interface Side {
  position: Position;
  align: "start" | "end";
  /** Screen pixels between node and toolbar. */
  offset: number;
}

interface Size {
  width: number;
  height: number;
}

interface Area extends Size {
  x: number;
  y: number;
}

/** x, y and zoom of the view, as in React Flow. */
type View = readonly [number, number, number];

const GAP = 8;
/** Screen pixels below a toolbar at the bottom of the canvas, as in `canvas.css`. */
const SPACE_BELOW = 46;
/** Weight of an area outside of the canvas, relative to an area on other nodes. */
const OUTSIDE_WEIGHT = 4;
/** Fraction of the toolbar that may cover other nodes before it moves away from its node. */
const MOST_COVERED = 0.2;

/**
 * Return the side of a node with space for the toolbar, or null. `size` is in screen pixels;
 * `canvas` is the size of its visible part.
 */
export function freeSide(
  { boxes, settled, inner }: LayoutCache,
  id: string,
  size: Size,
  view: View,
  canvas: Size,
): Side | null {
  const seen: Area[] = [];
  let own: Area | null = null;
  for (const box of boxes) {
    const at = settled.get(box.id);
    if (!at) continue;
    if (box.id === id) own = onScreen(box, at, view);
    else if (!inner.has(box.id)) seen.push(onScreen(box, at, view));
  }
  const sides: Side[] = [Position.Right, Position.Left].flatMap((position) =>
    (["start", "end"] as const).map((align) => ({ position, align, offset: GAP })),
  );
  const first = sides[0]!;
  if (!own) return first;
  let [best, least] = [first, Infinity];
  for (const near of sides) {
    const side = { ...near, offset: clearDistance(own, near, size, seen) };
    const area = placed(own, side, size);
    const inside = overlap(area, { x: 0, y: 0, ...canvas });
    const outside = area.width * area.height - inside;
    const price = seen.reduce((sum, other) => sum + overlap(area, other), OUTSIDE_WEIGHT * outside);
    if (price < least - 1) [best, least] = [side, price];
  }
  return least <= MOST_COVERED * size.width * size.height ? best : null;
}

/**
 * Return the position of a toolbar without space next to its node: at the bottom, unless the node
 * is there.
 */
export function freeEdge(
  { boxes, settled }: LayoutCache,
  id: string,
  size: Size,
  view: View,
  canvas: Size,
): "bottom-center" | "top-right" {
  const box = boxes.find((each) => each.id === id);
  const at = settled.get(id);
  if (!box || !at) return "bottom-center";
  const bottom = {
    x: (canvas.width - size.width) / 2,
    y: canvas.height - SPACE_BELOW - size.height,
    ...size,
  };
  return overlap(onScreen(box, at, view), bottom) > 0 ? "top-right" : "bottom-center";
}

/** Return the distance from the node at which the toolbar covers no wider card above or below. */
function clearDistance(own: Area, side: Side, size: Size, seen: Area[]): number {
  const area = placed(own, side, size);
  const beyond = seen
    .filter((other) => overlap(area, other) > 0)
    .map((other) =>
      side.position === Position.Right
        ? other.x + other.width - own.x - own.width
        : own.x - other.x,
    );
  const most = Math.max(0, ...beyond);
  return most < 3 * GAP ? Math.max(side.offset, most + 1) : side.offset;
}

function onScreen(size: Size, at: { x: number; y: number }, [left, top, zoom]: View): Area {
  return {
    x: at.x * zoom + left,
    y: at.y * zoom + top,
    width: size.width * zoom,
    height: size.height * zoom,
  };
}

function placed(own: Area, side: Side, size: Size): Area {
  const { position, align, offset } = side;
  const right = position === Position.Right;
  const x = right ? own.x + own.width + offset : own.x - offset - size.width;
  const y = align === "start" ? own.y : own.y + own.height - size.height;
  return { x, y, ...size };
}

function overlap(a: Area, b: Area): number {
  const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const tall = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return wide > 0 && tall > 0 ? wide * tall : 0;
}
