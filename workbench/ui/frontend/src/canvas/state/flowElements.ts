// Elements of React Flow, created from Python's nodes and edges. Unchanged items stay the same
// objects, so that React only renders the others.

import { Position, type Edge, type Node, type NodeHandle, type NodeProps } from "@xyflow/react";
import type { EdgeEntry } from "../../payloads";
import type { State } from "./canvasState";
import {
  drawnInputs,
  inputSocket,
  outputSize,
  outputSocket,
  pillSocket,
  PORT,
  sizeOf,
} from "../layout/geometry";
import type { DrawnNode, Point, Size, Socket } from "../layout/geometry";
import { KeyedMemo } from "../../lib/keyedMemo";
import { isBelowGpuLine } from "../layout/deviceLine";
import { edgeName } from "./edgeDrag";
import type { LayoutCache } from "../layout/layoutCache";
import { leastSpot, spotWith } from "../layout/movedSpots";
import type { Route } from "../layout/edgeRouting";

export interface OpData extends Record<string, unknown> {
  entry: DrawnNode;
  current: boolean;
  reached: boolean;
  /** True if the node is on the wrong side of the line between CPU and GPU. */
  strays: boolean;
}
export type OpFlow = Node<OpData, "op" | "group" | "draw" | "block" | "body">;
export type OutFlow = Node<{ edge: EdgeEntry; reached: boolean }, "out">;
export type BoxFlow = OpFlow | OutFlow;

/** Return whether a box looks the same although React Flow passed new properties. */
export function rendersEqually<T extends BoxFlow>(a: NodeProps<T>, b: NodeProps<T>): boolean {
  return a.data === b.data && a.selected === b.selected;
}
export type LineFlow = Edge<{ entry: EdgeEntry; route: Route; scope: string }, "line">;

const SIDES = {
  top: Position.Top,
  bottom: Position.Bottom,
};
/** Attribute that removes React Flow's role description, invalid for elements without a role. */
const BARE = { "aria-roledescription": undefined } as const;

const inHandle = (name: string): string => `in:${name}`;
const outHandle = (name: string): string => `out:${name}`;

function handle(type: "source" | "target", id: string, at: Socket): NodeHandle {
  const half = PORT.size / 2;
  return {
    type,
    id,
    position: SIDES[at.side],
    x: at.x - half,
    y: at.y - half,
    width: PORT.size,
    height: PORT.size,
  };
}

function handles(node: DrawnNode): NodeHandle[] {
  return [
    ...drawnInputs(node).map(({ name }) =>
      handle("target", inHandle(name), inputSocket(node, name)),
    ),
    ...node.outputs.map(({ name }) => handle("source", outHandle(name), outputSocket(node, name))),
  ];
}

const NOTHING: ReadonlyMap<string, Point> = new Map();

type Places = Pick<LayoutCache, "spots" | "line" | "inner" | "scopes" | "corners">;
type Shown = Pick<State, "nodes" | "edges" | "selected" | "picked" | "moved">;

export class Flow {
  private boxes = new KeyedMemo<BoxFlow>();
  private lines = new KeyedMemo<LineFlow>();
  private sockets = new KeyedMemo<NodeHandle[]>();
  private data = new KeyedMemo<OpData>();

  /** Return the boxes of the nodes. `nodes` have their ports in display order. */
  nodes(
    state: Shown,
    nodes: readonly DrawnNode[],
    { spots, line, inner, scopes, corners }: Places,
  ): BoxFlow[] {
    const chosen = new Set(state.selected);
    const current = state.selected.at(-1) ?? "";
    const reached = nodes.some((node) => node.id === current) ? current : nodes[0]?.id;
    const where = (id: string): Point =>
      spotWith(id, spots, state.moved ?? NOTHING, scopes) ?? { x: 0, y: 0 };
    /** Limit a box in a frame to its body, which extends down and to the right. */
    const bound = (id: string, at: Point): Pick<BoxFlow, "draggable" | "extent"> | undefined => {
      const corner = corners.get(scopes.get(id) ?? "");
      if (!corner) return undefined;
      if (corners.has(id)) return { draggable: false }; // the bar of a body
      const least = leastSpot(corner);
      const from: [number, number] = [Math.min(least.x, at.x), Math.min(least.y, at.y)];
      return { extent: [from, [Infinity, Infinity]] };
    };
    const found: BoxFlow[] = nodes.map((entry) => {
      const { id } = entry;
      const at = where(id);
      const corner = corners.get(entry.scope);
      const [selected, moving] = [chosen.has(id), state.moved?.has(id) ?? false];
      const flags = {
        current: id === current,
        reached: id === reached,
        strays: isBelowGpuLine(entry, at, line) && !inner.has(id),
      };
      // The same object for moved boxes, so that their cards are not rendered again.
      const data = this.data.take(id, [entry, ...Object.values(flags)], () => ({ entry, ...flags }));
      const sockets = this.sockets.take(id, [entry], () => handles(entry));
      return this.boxes.take(id, [data, at.x, at.y, corner?.x, corner?.y, selected, moving], () => ({
        ...box(id, at, sizeOf(entry), selected, moving),
        ...bound(id, spots.get(id) ?? at),
        ...(entry.group && { draggable: false }),
        ...(entry.place?.rects && { zIndex: inner.has(id) ? -1 : -2 }),
        type: typeOf(entry),
        handles: sockets,
        data,
      }));
    });
    for (const edge of state.edges) {
      if (edge.target) continue;
      const { id } = edge;
      const at = where(id);
      const size = outputSize(edge);
      const corner = corners.get(scopes.get(id) ?? "");
      const flags = [state.picked.has(id), state.moved?.has(id) ?? false, !nodes.length];
      found.push(
        this.boxes.take(id, [edge, at.x, at.y, corner?.x, corner?.y, ...flags], () => ({
          ...box(id, at, size, flags[0]!, flags[1]!),
          ...bound(id, spots.get(id) ?? at),
          type: "out",
          handles: [handle("target", "in:", pillSocket(edge))],
          data: { edge, reached: flags[2]! },
        })),
      );
    }
    for (const memory of [this.boxes, this.sockets, this.data]) memory.turn();
    return found;
  }

  edges(
    state: Shown,
    routes: ReadonlyMap<string, Route>,
    scopes: ReadonlyMap<string, string>,
  ): LineFlow[] {
    const found = state.edges.flatMap((entry) => {
      const path = routes.get(entry.id);
      if (!path) return [];
      const picked = state.picked.has(entry.id);
      return [
        this.lines.take(entry.id, [entry, path, picked], () => ({
          id: entry.id,
          type: "line" as const,
          source: entry.source,
          sourceHandle: outHandle(entry.output),
          target: entry.target || entry.id,
          targetHandle: inHandle(entry.target && entry.input),
          selected: picked,
          selectable: false,
          className: picked ? "wb-picked" : "",
          ariaLabel: edgeName(entry),
          domAttributes: {
            "data-wb": "edge",
            "data-edge": entry.id,
            "data-kind": entry.kind,
          } as object,
          data: { entry, route: path, scope: scopes.get(entry.id) ?? "" },
        })),
      ];
    });
    this.lines.turn();
    return found;
  }
}

function typeOf(entry: DrawnNode): OpFlow["type"] {
  if (entry.generator) return "draw";
  if (entry.group) return "group";
  if (entry.place) return entry.op ? "block" : "body";
  return "op";
}

function box(id: string, position: Point, size: Size, selected: boolean, moving: boolean) {
  const { width, height } = size;
  return {
    id,
    position: { x: position.x, y: position.y },
    width,
    height,
    measured: { width, height },
    selected,
    className: moving ? "wb-moving" : "",
    domAttributes: BARE,
  };
}
