// On which side of a node its buttons cover least.

import { Position } from "@xyflow/react";
import type { LayoutCache } from "./layoutCache";

interface Side {
  position: Position;
  align: "start" | "center" | "end";
  /** Screen pixels between the node and the buttons. */
  offset: number;
}

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

const GAP = 5;
/** Beside a node stand its ports. */
const PORTS = 14;
/** How much worse it is to lie outside of the canvas than on another node. */
const OUTSIDE = 4;
/** The share of the buttons that may lie on other nodes before they leave their node. */
const COVERED = 0.1;

/**
 * Null where there is no room beside the node. `size` in screen pixels; `view` is [x, y, zoom],
 * `canvas` what is seen of the canvas.
 */
export function freeSide(
  { boxes, settled }: LayoutCache,
  id: string,
  size: { width: number; height: number },
  [left, top, zoom]: readonly [number, number, number],
  canvas: { width: number; height: number },
): Side | null {
  const seen: Area[] = [];
  let own: Area | null = null;
  let over = 0;
  for (const box of boxes) {
    const at = settled.get(box.id);
    if (!at) continue;
    const [x, width] = [at.x * zoom + left, box.width * zoom];
    if (box.id === id) {
      over = box.over * zoom;
      own = { x, y: at.y * zoom + top, width, height: box.height * zoom };
    } else {
      const height = (box.height + box.over) * zoom;
      seen.push({ x, y: (at.y - box.over) * zoom + top, width, height });
    }
  }
  const generator = boxes.find((box) => box.id === id)?.node?.generator ?? false;
  const below: Side[] = [
    { position: Position.Bottom, align: "end", offset: GAP },
    { position: Position.Bottom, align: "start", offset: GAP },
  ];
  const beside: Side = { position: Position.Right, align: "center", offset: GAP };
  const above: Side = { position: Position.Top, align: "end", offset: GAP + over };
  const sides = generator
    ? [beside, ...below, above]
    : [...below, above, { ...beside, offset: PORTS }];
  const first = sides[0]!;
  if (!own) return first;
  let [best, least] = [first, Infinity];
  for (const side of sides) {
    const area = placed(own, side, size);
    const inside = overlap(area, { x: 0, y: 0, ...canvas });
    const outside = area.width * area.height - inside;
    const price = seen.reduce((sum, other) => sum + overlap(area, other), OUTSIDE * outside);
    if (price < least - 1) [best, least] = [side, price];
  }
  return least <= COVERED * size.width * size.height ? best : null;
}

function placed(own: Area, side: Side, size: { width: number; height: number }): Area {
  const { position, align, offset } = side;
  if (position === Position.Right) {
    const y = own.y + (own.height - size.height) / 2;
    return { x: own.x + own.width + offset, y, ...size };
  }
  const x = align === "end" ? own.x + own.width - size.width : own.x;
  const y =
    position === Position.Bottom ? own.y + own.height + offset : own.y - offset - size.height;
  return { x, y, ...size };
}

function overlap(a: Area, b: Area): number {
  const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const tall = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  return wide > 0 && tall > 0 ? wide * tall : 0;
}
