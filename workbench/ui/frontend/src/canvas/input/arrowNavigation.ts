// Arrow keys move to the nearest box in that direction.

import type { Point } from "../layout/geometry";

export interface Spot extends Point {
  id: string;
}

const AXES: Record<string, Point> = {
  ArrowLeft: { x: -1, y: 0 },
  ArrowRight: { x: 1, y: 0 },
  ArrowUp: { x: 0, y: -1 },
  ArrowDown: { x: 0, y: 1 },
};

/**
 * Return the nearest box in a cone around the direction; sideways distance counts more than distance ahead.
 */
export function neighbour(spots: readonly Spot[], from: string, key: string): string {
  const at = spots.find(({ id }) => id === from);
  const axis = AXES[key];
  if (!at || !axis) return "";
  let [best, least] = ["", Infinity];
  for (const spot of spots) {
    const [dx, dy] = [spot.x - at.x, spot.y - at.y];
    const ahead = dx * axis.x + dy * axis.y;
    const aside = Math.abs(dx * axis.y) + Math.abs(dy * axis.x);
    if (ahead < 8 || aside > 2.5 * ahead) continue;
    const far = ahead + 2 * aside;
    if (far < least) [best, least] = [spot.id, far];
  }
  return best;
}

/** Return the boxes in reading order: row by row, from left to right. */
export function inReadingOrder(spots: readonly Spot[]): Spot[] {
  const rows: Spot[][] = [];
  for (const spot of [...spots].sort((a, b) => a.y - b.y)) {
    const row = rows.at(-1);
    if (row && spot.y - row[0]!.y < 40) row.push(spot);
    else rows.push([spot]);
  }
  return rows.flatMap((row) => row.sort((a, b) => a.x - b.x));
}
