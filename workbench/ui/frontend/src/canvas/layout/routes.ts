// Routes of all edges of a graph.

import type { EdgeEntry } from "../../payloads";
import { route, type Rect, type Route, type Run } from "./edgeRouting";
import { inputSocket, outputSize, outputSocket, pillSocket, edgePoint, sizeOf } from "./geometry";
import type { DrawnNode, Point, Size } from "./geometry";
import { KeyedMemo } from "../../lib/keyedMemo";
import { scopesOf } from "./nestedLayout";

/** Computes the routes of all edges from the positions of the boxes. */
export class Routes {
  private memory = new KeyedMemo<Route>();

  /** Return the route of each edge by edge id. `lanes` are reserved by the layout. */
  find(
    nodes: readonly DrawnNode[],
    edges: readonly EdgeEntry[],
    spots: ReadonlyMap<string, Point>,
    lanes: ReadonlyMap<string, number>,
  ): Map<string, Route> {
    const known = new Map(nodes.map((node) => [node.id, node]));
    const scopes = scopesOf(nodes, edges);
    const rects = new Map<string, Rect[]>();
    const runs = new Map<string, Run[]>();
    for (const scope of scopes.values()) {
      rects.set(scope, []);
      runs.set(scope, []);
    }
    for (const node of nodes) {
      const at = spots.get(node.id);
      if (at) rects.get(node.scope)!.push(rectOf(at, sizeOf(node)));
    }
    for (const edge of edges) {
      const at = edge.target ? undefined : spots.get(edge.id);
      if (at) rects.get(scopes.get(edge.id)!)!.push(rectOf(at, outputSize(edge)));
    }
    const found = new Map<string, Route>();
    for (const edge of edges) {
      const source = known.get(edge.source);
      const at = spots.get(edge.source);
      const to = spots.get(edge.target || edge.id);
      const target = known.get(edge.target);
      if (!source || !at || !to || (edge.target && !target)) continue;
      const out = outputSocket(source, edge.output);
      const into = target ? inputSocket(target, edge.input) : pillSocket(edge);
      const made = route(
        { ...edgePoint(at, out), side: out.side },
        { ...edgePoint(to, into), side: into.side },
        rects.get(source.scope)!,
        `${edge.source}.${edge.output}`,
        runs.get(source.scope)!,
        lanes.get(edge.id),
      );
      found.set(
        edge.id,
        this.memory.take(edge.id, [made.path], () => made),
      );
    }
    this.memory.turn();
    return found;
  }
}

function rectOf(at: Point, size: Size): Rect {
  return { x: at.x, y: at.y, right: at.x + size.width, bottom: at.y + size.height };
}
