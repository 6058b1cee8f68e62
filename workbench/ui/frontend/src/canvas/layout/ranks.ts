// From dagre: how far from the start each box stands, in which order beside its neighbours, and
// where edges run that pass by others.

import { Graph, layout } from "@dagrejs/dagre";
import { contracted, expanded } from "./chains";

export interface Boxed {
  id: string;
  /** How far it reaches to either side of the line of its first port. */
  left: number;
  right: number;
}

export interface Joined {
  id: string;
  source: string;
  target: string;
  /** The more, the straighter. */
  weight: number;
}

/** The rank, from 0, and the line of the first port. */
export interface Ranked {
  rank: number;
  x: number;
}

export interface Ranks {
  places: Map<string, Ranked>;
  /** Edge that passes by other boxes -> where it runs. */
  lanes: Map<string, number>;
}

/**
 * Above this many boxes chains are laid out as one box each, and above as many chains dagre takes
 * its shorter ways: all else would be felt at each edit.
 */
const MANY = 60;

/**
 * `last` are the boxes that stand under all others. Where a way parts, its left or its right branch
 * goes `straight` on.
 */
export function ranks(
  boxes: readonly Boxed[],
  edges: readonly Joined[],
  last: readonly string[],
  straight: "left" | "right",
): Ranks {
  const drawn = new Set(boxes.map(({ id }) => id));
  const joined = edges.filter(({ source, target }) => drawn.has(source) && drawn.has(target));
  if (boxes.length <= MANY) return ranked(boxes, joined, last, straight);
  const chains = contracted(boxes, joined, last);
  const { places, lanes } = ranked(chains.boxes, chains.edges, last, straight);
  return { places: expanded(places, chains), lanes };
}

function ranked(
  boxes: readonly Boxed[],
  joined: readonly Joined[],
  last: readonly string[],
  straight: "left" | "right",
): Ranks {
  const graph = new Graph({ multigraph: true });
  const many = boxes.length > MANY;
  const align = straight === "left" ? "UL" : "UR";
  const ranker = many ? "tight-tree" : "network-simplex";
  // Beside a card there is room for its buttons, also where the view is as small as it gets.
  graph.setGraph({ rankdir: "TB", align, ranker, nodesep: 36, edgesep: 18, ranksep: 40 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, left, right } of boxes) {
    // Even to both sides, so that dagre's middle is the line on which a chain runs straight.
    graph.setNode(id, { width: 2 * Math.max(left, right), height: 100 });
  }
  for (const { id, source, target, weight } of joined) {
    graph.setEdge(source, target, { weight }, id);
  }
  if (last.length) {
    graph.setNode(END, { width: 1, height: 1 });
    for (const id of last) graph.setEdge(id, END, { weight: 50 }, `${id} ${END}`);
  }
  layout(graph, { disableOptimalOrderHeuristic: many });
  const rows = [...new Set(boxes.map(({ id }) => Math.round(graph.node(id).y)))];
  rows.sort((a, b) => a - b);
  const lanes = new Map<string, number>();
  for (const { id, source, target } of joined) {
    // One point lies between two rows: what has more passes by others.
    const points = (graph.edge({ v: source, w: target, name: id }).points ?? []).slice(2, -2);
    const middle = points[points.length >> 1];
    if (middle) lanes.set(id, middle.x);
  }
  const places = new Map(
    boxes.map(({ id }) => {
      const { x, y } = graph.node(id);
      return [id, { rank: rows.indexOf(Math.round(y)), x }] as const;
    }),
  );
  return { places, lanes };
}

const END = " end";

/** The same, seen from behind. */
export function mirrored({ places, lanes }: Ranks): Ranks {
  return {
    places: new Map([...places].map(([id, { rank, x }]) => [id, { rank, x: -x }])),
    lanes: new Map([...lanes].map(([id, x]) => [id, -x])),
  };
}
