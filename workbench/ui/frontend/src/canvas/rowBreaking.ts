// The ranks of a long chain, broken into rows that fit the canvas, like the lines of a text.

/** A row's first rank, and the one behind its last. */
export type Row = [number, number];

export interface Folded {
  rows: Row[];
  /** Edges that a break cuts beyond the one that any break cuts. */
  cuts: number;
}

const COST = { row: 10, cut: 12 };

/**
 * Few rows, and breaks where few edges are cut, so that a branch stays in one row. `crossing[r]`
 * counts what a break before rank `r` cuts; a row takes `fits` ranks, the last one `last`, since
 * the outputs stand behind it.
 */
export function fold(
  crossing: readonly number[],
  count: number,
  fits: number,
  last: number,
): Folded {
  const extra = (at: number): number => Math.max(0, (crossing[at] ?? 1) - 1);
  const best: { cost: number; end: number; cuts: number }[] = [];
  best[count] = { cost: 0, end: count, cuts: 0 };
  for (let first = count - 1; first >= 0; first--) {
    for (let end = first + 1; end <= Math.min(count, first + fits); end++) {
      const rest = best[end]!;
      // A last row without room for the outputs costs as much as another row.
      const ending = end === count ? Number(end - first > last) : extra(end);
      const cost = rest.cost + COST.row + ending * COST.cut;
      const cuts = rest.cuts + (end === count ? 0 : ending);
      if (cost <= (best[first]?.cost ?? Infinity)) best[first] = { cost, end, cuts };
    }
  }
  const rows: Row[] = [];
  for (let first = 0; first < count; first = best[first]!.end) rows.push([first, best[first]!.end]);
  return { rows, cuts: best[0]?.cuts ?? 0 };
}
