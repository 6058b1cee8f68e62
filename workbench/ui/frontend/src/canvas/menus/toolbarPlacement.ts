// On which side of a node its buttons cover least.

import { Position } from "@xyflow/react";
import type { LayoutCache } from "../layout/layoutCache";

interface Side {
  position: Position;
  align: "start" | "end";
  /** Screen pixels between the node and the buttons. */
  offset: number;
}

interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

const GAP = 8;
/** How much worse it is to lie outside of the canvas than on another node. */
const OUTSIDE = 4;
/** The share of the buttons that may lie on other nodes before they leave their node. */
const COVERED = 0.2;

/**
 * Null where there is no room beside the node. `size` in screen pixels; `view` is [x, y, zoom],
 * `canvas` what is seen of the canvas.
 */
export function freeSide(
  { boxes, settled, inner }: LayoutCache,
  id: string,
  size: { width: number; height: number },
  [left, top, zoom]: readonly [number, number, number],
  canvas: { width: number; height: number },
): Side | null {
  const seen: Area[] = [];
  let own: Area | null = null;
  for (const box of boxes) {
    const at = settled.get(box.id);
    if (!at) continue;
    const [x, width] = [at.x * zoom + left, box.width * zoom];
    if (box.id === id) {
      own = { x, y: at.y * zoom + top, width, height: box.height * zoom };
    } else if (!inner.has(box.id)) {
      seen.push({ x, y: at.y * zoom + top, width, height: box.height * zoom });
    }
  }
  const sides: Side[] = [Position.Right, Position.Left].flatMap((position) =>
    (["start", "end"] as const).map((align) => ({ position, align, offset: GAP })),
  );
  const first = sides[0]!;
  if (!own) return first;
  let [best, least] = [first, Infinity];
  for (const near of sides) {
    const side = { ...near, offset: besideAll(own, near, size, seen) };
    const area = placed(own, side, size);
    const inside = overlap(area, { x: 0, y: 0, ...canvas });
    const outside = area.width * area.height - inside;
    const price = seen.reduce((sum, other) => sum + overlap(area, other), OUTSIDE * outside);
    if (price < least - 1) [best, least] = [side, price];
  }
  return least <= COVERED * size.width * size.height ? best : null;
}

/** How far from the node the buttons lie beside the wider cards above and below it as well. */
function besideAll(own: Area, side: Side, size: { width: number; height: number }, seen: Area[]): number {
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

function placed(own: Area, side: Side, size: { width: number; height: number }): Area {
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
