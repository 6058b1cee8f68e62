// Ranks from dagre: row and order of each box, and positions of edges that pass other boxes.

import { Graph, layout } from "@dagrejs/dagre";
import { contracted, expanded } from "./chains";

export interface Boxed {
  id: string;
  /** Extent on either side of the first port's line. */
  left: number;
  right: number;
}

export interface Joined {
  id: string;
  source: string;
  target: string;
  /** Higher weights give straighter edges. */
  weight: number;
}

/** Rank from 0, and position of the first port's line. */
export interface Ranked {
  rank: number;
  x: number;
}

export interface Ranks {
  places: Map<string, Ranked>;
  /** Position of each edge that passes other boxes, by edge id. */
  lanes: Map<string, number>;
}

/**
 * Above this number of boxes chains are merged, and above it dagre uses faster algorithms:
 * otherwise each edit would be noticeably slow.
 */
const MANY = 60;

/** Compute the ranks. `last` are placed below all others; `straight` is the straight branch. */
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
  // Space next to a card for its buttons, even at the smallest zoom.
  graph.setGraph({ rankdir: "TB", align, ranker, nodesep: 36, edgesep: 18, ranksep: 40 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, left, right } of boxes) {
    // Symmetric, so that dagre's middle is the line of straight chains.
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
    // One point is between two rows: an edge with more passes other boxes.
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

/** Return the ranks mirrored horizontally. */
export function mirrored({ places, lanes }: Ranks): Ranks {
  return {
    places: new Map([...places].map(([id, { rank, x }]) => [id, { rank, x: -x }])),
    lanes: new Map([...lanes].map(([id, x]) => [id, -x])),
  };
}
