// From dagre: how far from the start each node stands, and in which order beside its neighbours.

import { Graph, layout } from "@dagrejs/dagre";

export interface Boxed {
  id: string;
  /** How far it reaches above and below the line of its first port. */
  up: number;
  down: number;
}

export interface Joined {
  source: string;
  target: string;
  argument: boolean;
}

/** The rank, from 0, and the line of the first port, in a picture of one single row. */
export interface Ranked {
  rank: number;
  y: number;
}

/** Above this many boxes dagre takes its shorter ways: its best ones would be felt at each edit. */
const MANY = 60;

/** Where a way parts, its `upper` or its lower branch goes straight on. */
export function ranks(
  boxes: readonly Boxed[],
  edges: readonly Joined[],
  upper: boolean,
): Map<string, Ranked> {
  const graph = new Graph();
  const align = upper ? "UL" : "UR";
  const many = boxes.length > MANY;
  const ranker = many ? "tight-tree" : "network-simplex";
  graph.setGraph({ rankdir: "LR", align, ranker, nodesep: 20, edgesep: 8, ranksep: 40 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const box of boxes) {
    // Even above and below, so that dagre's middle is the line on which a chain runs straight.
    graph.setNode(box.id, { width: 100, height: 2 * Math.max(box.up, box.down) });
  }
  for (const edge of edges) {
    if (!graph.hasNode(edge.source) || !graph.hasNode(edge.target)) continue;
    graph.setEdge(edge.source, edge.target, { weight: edge.argument ? 1 : 3 });
  }
  layout(graph, { disableOptimalOrderHeuristic: many });
  const columns = [...new Set(boxes.map((box) => Math.round(graph.node(box.id).x)))];
  columns.sort((a, b) => a - b);
  return new Map(
    boxes.map((box) => {
      const { x, y } = graph.node(box.id);
      return [box.id, { rank: columns.indexOf(Math.round(x)), y }];
    }),
  );
}
