// Where everything stands and how the edges run, worked out anew only when something moved.

import { useMemo, useRef } from "react";
import { scopeOf, type State } from "./canvasStore";
import { Routes } from "./flowElements";
import { drawnInputs, type Point } from "./geometry";
import { manualLayout } from "./manualLayout";
import { arrange, boxesOf, type Box } from "./layout";
import type { Route } from "./edgeRouting";

/** Within which all is to be seen at once, before it has to be panned. */
export const TALLEST = 560;
const ROOM = { above: 18, below: 46, breadcrumb: 30 };

export interface Bounds extends Point {
  width: number;
  height: number;
}

export interface LayoutCache {
  boxes: readonly Box[];
  spots: ReadonlyMap<string, Point>;
  /** With what was moved, but for a drag that is still going on. */
  settled: ReadonlyMap<string, Point>;
  routes: ReadonlyMap<string, Route>;
  bounds: Bounds;
  /** The body that all of it stands in. */
  scope: string;
}

export function useLayoutCache(state: State, width: number): LayoutCache {
  const { nodes, edges, positions, moved, dragging } = state;
  const shape = useMemo(() => shapeOf(state), [nodes, edges]);
  const byHand = Object.keys(positions).length > 0;
  const spots = useMemo(
    () =>
      byHand
        ? manualLayout(nodes, edges, positions)
        : arrange(nodes, edges, width, TALLEST - ROOM.above - ROOM.below).spots,
    [shape, positions, byHand ? 0 : width],
  );
  const last = useRef(spots);
  const settled = useMemo(() => {
    if (dragging) return last.current;
    return moved ? new Map([...spots, ...moved]) : spots;
  }, [spots, moved, dragging]);
  last.current = settled;
  const finder = useRef<Routes>(null);
  finder.current ??= new Routes();
  const found = finder.current;
  const routes = useMemo(() => found.find(state, settled), [shape, settled]);
  const boxes = useMemo(() => boxesOf(nodes, edges), [shape]);
  const bounds = useMemo(() => boundsOf(boxes, settled), [boxes, settled]);
  return { boxes, spots, settled, routes, bounds, scope: scopeOf(state.breadcrumb) };
}

/** All that the places depend on: values that change neither sizes nor edges leave them alone. */
function shapeOf({ nodes, edges }: State): string {
  return JSON.stringify([
    nodes.map((node) => [
      node.id,
      node.generator && node.output,
      node.draws.length,
      !!(node.fault || node.note),
      node.bodies.length,
      drawnInputs(node).map((port) => [port.name, port.argument]),
      node.outputs.length,
    ]),
    edges.map((edge) => [edge.id, edge.source, edge.output]),
  ]);
}

function boundsOf(boxes: readonly Box[], spots: ReadonlyMap<string, Point>): Bounds {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const box of boxes) {
    const at = spots.get(box.id);
    if (!at) continue;
    left = Math.min(left, at.x);
    top = Math.min(top, at.y - box.over);
    right = Math.max(right, at.x + box.width);
    bottom = Math.max(bottom, at.y + box.height);
  }
  if (left === Infinity) return { x: 0, y: 0, width: 0, height: 0 };
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** How everything is seen at once, as large as life where that is possible. */
export function framed(
  bounds: Bounds,
  size: { width: number; height: number },
  side: number,
  inside: boolean,
): { x: number; y: number; zoom: number } {
  const above = ROOM.above + (inside ? ROOM.breadcrumb : 0);
  const tall = size.height - above - ROOM.below;
  const wide = size.width - 2 * side;
  const full = Math.min(wide / bounds.width, tall / bounds.height);
  const zoom = full > 0.98 ? 1 : Math.max(0.2, full); // letters are sharp at 1
  const spare = Math.max(0, tall - bounds.height * zoom);
  return { x: side - bounds.x * zoom, y: above + spare / 2 - bounds.y * zoom, zoom };
}

/** As tall as the content wants, within limits. */
export function heightFor(
  { bounds, scope }: LayoutCache,
  width: number,
  side: number,
  least: number,
): number {
  const zoom = Math.min(1, (width - 2 * side) / Math.max(1, bounds.width));
  const wanted = bounds.height * zoom + ROOM.above + ROOM.below + (scope ? ROOM.breadcrumb : 0);
  return Math.round(Math.min(TALLEST, Math.max(least, wanted)));
}
