// Merges chains into one box each: dagre's time grows with the number of boxes, and chains need no
// layout.

import type { Boxed, Joined, Ranked } from "./ranks";

export interface Contracted {
  /** One box per chain, as wide as its widest member. */
  boxes: Boxed[];
  /** Edges between chains. */
  edges: Joined[];
  /** All boxes of each chain from top to bottom, by the chain's first box. */
  chains: ReadonlyMap<string, readonly string[]>;
}

/** Merge each chain of boxes (each other's only neighbours) into one; `last` are not merged. */
export function contracted(
  boxes: readonly Boxed[],
  edges: readonly Joined[],
  last: readonly string[],
): Contracted {
  const [outs, ins] = [grouped(edges, "source"), grouped(edges, "target")];
  const ends = new Set(last);
  const below = new Map<string, string>();
  for (const [source, [edge, ...more]] of outs) {
    const { target } = edge!;
    if (!more.length && ins.get(target)!.length === 1 && !ends.has(target)) below.set(source, target);
  }
  const inside = new Set(below.values());
  const head = new Map<string, string>();
  const chains = new Map<string, string[]>();
  // A cycle has no first box: use any.
  const order = [...boxes].sort((a, b) => Number(inside.has(a.id)) - Number(inside.has(b.id)));
  for (const { id: first } of order) {
    const chain: string[] = [];
    for (let id: string | undefined = first; id && !head.has(id); id = below.get(id)) {
      head.set(id, first);
      chain.push(id);
    }
    if (chain.length) chains.set(first, chain);
  }
  const known = new Map(boxes.map((box) => [box.id, box]));
  return {
    boxes: [...chains].map(([id, chain]) => ({
      id,
      left: Math.max(...chain.map((each) => known.get(each)!.left)),
      right: Math.max(...chain.map((each) => known.get(each)!.right)),
    })),
    edges: edges
      .filter(({ source, target }) => below.get(source) !== target)
      .map((edge) => ({ ...edge, source: head.get(edge.source)!, target: head.get(edge.target)! })),
    chains,
  };
}

/** Compute the positions of all boxes from their chains. Boxes without inputs are placed low. */
export function expanded(
  places: ReadonlyMap<string, Ranked>,
  { chains, edges }: Contracted,
): Map<string, Ranked> {
  const lengths: number[] = [];
  for (const [first, { rank }] of places) {
    lengths[rank] = Math.max(lengths[rank] ?? 0, chains.get(first)!.length);
  }
  const tops: number[] = [];
  lengths.reduce((top, length, rank) => (tops[rank] = top) + length, 0);
  const fed = new Set(edges.map(({ target }) => target));
  const found = new Map<string, Ranked>();
  for (const [first, { rank, x }] of places) {
    const chain = chains.get(first)!;
    const top = tops[rank]! + (fed.has(first) ? 0 : lengths[rank]! - chain.length);
    chain.forEach((id, at) => found.set(id, { rank: top + at, x }));
  }
  return found;
}

function grouped(edges: readonly Joined[], by: "source" | "target"): Map<string, Joined[]> {
  const groups = new Map<string, Joined[]>();
  for (const edge of edges) {
    const group = groups.get(edge[by]);
    if (group) group.push(edge);
    else groups.set(edge[by], [edge]);
  }
  return groups;
}
