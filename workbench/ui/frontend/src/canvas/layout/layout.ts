// Automatic layout: from top to bottom in rows.

import type { EdgeEntry } from "../../payloads";
import { lineOf, outputSize, sizeOf, type DrawnNode, type Point, type Size } from "./geometry";
import { mirrored, ranks, type Ranks } from "./ranks";

export const GAP = { rows: 38 };
/** Weights for straight edges: image paths have priority. */
const WEIGHTS = { image: 8, encoded: 8, argument: 1, other: 2 };

export interface Layout {
  spots: Map<string, Point>;
  /** x position of each edge that passes other boxes, by edge id. */
  lanes: Map<string, number>;
}

export interface Box extends Size {
  id: string;
  node: DrawnNode | null;
}

/** Return all boxes: nodes, and a pill for each output. */
export function boxesOf(nodes: readonly DrawnNode[], edges: readonly EdgeEntry[]): Box[] {
  const outputs = edges.filter((edge) => !edge.target);
  return [
    ...nodes.map((node) => ({ id: node.id, node, ...sizeOf(node) })),
    ...outputs.map((edge) => ({ id: edge.id, node: null, ...outputSize(edge) })),
  ];
}

/** Compute the positions of all boxes. `gap` is the space between two rows. */
export function arrange(
  nodes: readonly DrawnNode[],
  edges: readonly EdgeEntry[],
  gap: number = GAP.rows,
): Layout {
  const boxes = boxesOf(nodes, edges);
  const ends = boxes.filter(({ node }) => !node).map(({ id }) => id);
  const boxed = boxes.map(({ id, node, width }) => {
    const left = lineOf(node, width);
    return { id, left, right: width - left };
  });
  const joined = edges.map(({ id, source, target, kind, argument }) => ({
    id,
    source,
    target: target || id,
    weight: argument ? WEIGHTS.argument : (WEIGHTS[kind as "image"] ?? WEIGHTS.other),
  }));
  let found = ranks(boxed, joined, ends, "left");
  // The first output is on the left, below its source.
  if (!isFirst(found, ends)) found = mirrored(ranks(boxed, joined, ends, "right"));
  const { places, lanes } = found;
  const rows: Box[][] = [];
  for (const box of boxes) (rows[places.get(box.id)!.rank] ??= []).push(box);
  const spots = new Map<string, Point>();
  let top = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((box) => box.height));
    for (const box of row) {
      const x = places.get(box.id)!.x - lineOf(box.node, box.width);
      // A generator is directly above its consumer.
      const y = box.node?.generator ? top + height - box.height : top;
      spots.set(box.id, { x: Math.round(x), y });
    }
    top += height + gap;
  }
  return { spots, lanes };
}

/** Return whether the first output is left of the average of all outputs. */
function isFirst({ places }: Ranks, ends: readonly string[]): boolean {
  const lines = ends.map((id) => places.get(id)!.x);
  const mean = lines.reduce((sum, x) => sum + x, 0) / lines.length;
  return (lines[0] ?? 0) <= mean + 1;
}
