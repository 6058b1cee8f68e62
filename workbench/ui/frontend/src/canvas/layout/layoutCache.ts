// Cache of positions and edge routes, recomputed only if something moved.

import { useMemo, useRef } from "preact/compat";
import { reuseUnchanged } from "../../lib/jsonEquality";
import type { EdgeEntry, NodeEntry, ScopeEntry } from "../../payloads";
import { deviceLine } from "./deviceLine";
import { drawnInputs, sizeOf, titleWidth, type DrawnNode, type Point } from "./geometry";
import { manualLayout } from "./manualLayout";
import { cornersOf, spotsWith } from "./movedSpots";
import { arrange, boxesOf, type Box } from "./layout";
import { layOutFrames, scopesOf, shownScope, sized, withInner, type InnerLayout } from "./nestedLayout";
import { orderPorts } from "./portOrder";
import type { Route } from "./edgeRouting";
import { Routes } from "./routes";

export interface Bounds extends Point {
  width: number;
  height: number;
}

export interface LayoutCache {
  boxes: readonly Box[];
  /** Nodes from Python, with their ports in display order. */
  nodes: readonly DrawnNode[];
  /** Positions in the visible body, including nodes in frames. */
  spots: ReadonlyMap<string, Point>;
  /** Positions including moved boxes, without the current drag. */
  settled: ReadonlyMap<string, Point>;
  routes: ReadonlyMap<string, Route>;
  bounds: Bounds;
  /** Height below which nodes run on the GPU; null if none does. */
  line: number | null;
  /** Nodes in frames. */
  inner: ReadonlyMap<string, InnerLayout>;
  /** Body of each node, edge and output. */
  scopes: ReadonlyMap<string, string>;
  /** The visible body. */
  scope: string;
  /** Upper left corner of each body in a frame, without the current drag. */
  corners: ReadonlyMap<string, Point>;
}

type Frames = ReturnType<typeof layOutFrames>;
type Found = { spots: ReadonlyMap<string, Point>; lanes: ReadonlyMap<string, number> };

const NO_LANES: ReadonlyMap<string, number> = new Map();

/** Layout of an empty canvas. */
export const NO_LAYOUT: LayoutCache = {
  boxes: [],
  nodes: [],
  spots: new Map(),
  settled: new Map(),
  routes: new Map(),
  bounds: { x: 0, y: 0, width: 0, height: 0 },
  line: null,
  inner: new Map(),
  scopes: new Map(),
  scope: "",
  corners: new Map(),
};

/** Part of the state that affects positions. */
interface Placed {
  nodes: readonly NodeEntry[];
  edges: readonly EdgeEntry[];
  breadcrumb: readonly ScopeEntry[];
  positions: Record<string, number[]>;
  moved: ReadonlyMap<string, Point> | null;
  dragging: boolean;
  /** Number of times that a new layout was requested. */
  arranged: number;
}

/** Pixels that a card may grow, by a line on a fault, without covering the next card. */
const GROWTH = 24;

/** Return whether only edges were removed; all positions then remain. */
function isCut(before: Placed | null, { nodes, edges, positions, arranged }: Placed): boolean {
  if (before?.positions !== positions || before.arranged !== arranged) return false;
  if (edges.length >= before.edges.length || nodes.length !== before.nodes.length) return false;
  const known = new Map(before.edges.map((edge) => [edge.id, edge]));
  return (
    nodes.every((node, at) => {
      const old = before.nodes[at]!;
      const [now, then] = [sizeOf(node), sizeOf(old)];
      const grown = Math.abs(now.height - then.height);
      const same = node.id === old.id && node.scope === old.scope && node.expanded === old.expanded;
      return same && now.width === then.width && grown <= GROWTH;
    }) &&
    edges.every(({ id, source, output }) => {
      const old = known.get(id);
      return old?.source === source && old.output === output;
    })
  );
}

/** Return the layout of a state, the same object while no position changes. */
export function useLayoutCache(state: Placed): LayoutCache {
  const { nodes, edges, positions, moved, dragging, arranged } = state;
  const shape = useMemo(() => shapeOf(nodes, edges), [nodes, edges]);
  const before = useRef<{ state: Placed; frames: Frames; found: Found } | null>(null);
  const kept = useMemo(
    () => (isCut(before.current?.state ?? null, state) ? before.current : null),
    [shape, positions, arranged],
  );
  const frames = useMemo(
    () => kept?.frames ?? layOutFrames(nodes, edges, positions),
    [shape, positions, kept, arranged],
  );
  const scopes = useMemo(() => scopesOf(nodes, edges), [shape]);
  const { inner } = frames;
  const entries = useMemo(() => sized(nodes, frames.places), [nodes, frames]);
  const placed = useMemo((): Found => {
    if (kept) return kept.found;
    const own = entries.filter(({ id }) => !inner.has(id));
    const ownIds = new Set(own.map(({ id }) => id));
    const between = edges.filter(({ source }) => ownIds.has(source));
    const byHand = boxesOf(own, between).some(({ id }) => positions[id]);
    const found = byHand
      ? { spots: manualLayout(own, between, positions), lanes: NO_LANES }
      : arrange(own, between);
    const all = new Map(found.lanes);
    for (const [edge, lane] of frames.lanes) {
      const frame = found.spots.get(lane.frame);
      if (frame) all.set(edge, frame.x + lane.x);
    }
    return { spots: withInner(found.spots, inner), lanes: all as ReadonlyMap<string, number> };
  }, [shape, positions, frames, kept]);
  before.current = { state, frames, found: placed };
  const { spots, lanes } = placed;
  const last = useRef<ReadonlyMap<string, Point>>(spots);
  const settled = useMemo(() => {
    if (dragging) return last.current;
    return moved ? spotsWith(spots, moved, scopes) : spots;
  }, [spots, moved, dragging, scopes]);
  last.current = settled;
  const drawn = useRef<readonly DrawnNode[]>([]);
  drawn.current = useMemo(
    () => reuseUnchanged(drawn.current, orderPorts(entries, edges, settled, lanes)),
    [entries, edges, settled, lanes],
  );
  const ordered = drawn.current;
  const finder = useRef<Routes>(null);
  finder.current ??= new Routes();
  const found = finder.current;
  const routes = useMemo(
    () => found.find(ordered, edges, settled, moved ? NO_LANES : lanes),
    [shape, settled],
  );
  const boxes = useMemo(() => boxesOf(entries, edges), [shape, frames]);
  const bounds = useMemo(() => boundsOf(boxes, settled, routes), [boxes, settled, routes]);
  const line = useMemo(
    () => deviceLine(ordered.filter(({ id }) => !inner.has(id)), settled),
    [ordered, settled, inner],
  );
  const corners = useMemo(() => cornersOf(entries, settled), [entries, settled]);
  const scope = shownScope(state.breadcrumb);
  return useMemo(
    () => ({ boxes, nodes: ordered, spots, settled, routes, bounds, line, inner, scopes, scope, corners }),
    [boxes, ordered, spots, settled, routes, bounds, line, inner, scopes, scope, corners],
  );
}

/** Return a key that only changes when sizes or edges change. */
function shapeOf(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): string {
  return JSON.stringify([
    nodes.map((node) => {
      const { width, height } = sizeOf(node);
      return [
        node.id,
        node.scope,
        node.expanded && titleWidth(node),
        width,
        height,
        drawnInputs(node).map((port) => port.name),
        node.outputs.map((port) => port.name),
      ];
    }),
    edges.map((edge) => [edge.id, edge.source, edge.output]),
  ]);
}

function boundsOf(
  boxes: readonly Box[],
  spots: ReadonlyMap<string, Point>,
  routes: ReadonlyMap<string, Route>,
): Bounds {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  const reach = (x: number, y: number): void => {
    [left, right] = [Math.min(left, x), Math.max(right, x)];
    [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
  };
  for (const box of boxes) {
    const at = spots.get(box.id);
    if (!at) continue;
    reach(at.x, at.y);
    reach(at.x + box.width, at.y + box.height);
  }
  for (const { along } of routes.values()) for (const { x, y } of along) reach(x, y);
  if (left === Infinity) return NO_LAYOUT.bounds;
  return { x: left, y: top, width: right - left, height: bottom - top };
}
