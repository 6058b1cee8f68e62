// What React Flow draws, made from what Python shows. An item that did not change stays the same
// object, so that React draws only what did.

import { Position, type Edge, type Node, type NodeHandle } from "@xyflow/react";
import type { EdgeEntry, NodeEntry } from "../views";
import type { State } from "./canvasStore";
import {
  drawnInputs,
  inputSocket,
  outputId,
  outputSize,
  outputSocket,
  PORT,
  rim,
  sizeOf,
} from "./geometry";
import type { Point, Size, Socket } from "./geometry";
import { edgeName } from "./edgeDrag";
import { route, type Rect, type Route, type Run } from "./edgeRouting";

export type OpFlow = Node<{ entry: NodeEntry; current: boolean; reached: boolean }, "op" | "draw">;
export type OutFlow = Node<{ edge: EdgeEntry; reached: boolean }, "out">;
export type BoxFlow = OpFlow | OutFlow;
export type LineFlow = Edge<{ entry: EdgeEntry; route: Route }, "line">;

const SIDES = {
  left: Position.Left,
  right: Position.Right,
  top: Position.Top,
  bottom: Position.Bottom,
};
/** React Flow says "node" of every box, which is no word for an element without a role. */
const BARE = { "aria-roledescription": undefined } as const;

const inHandle = (name: string): string => `in:${name}`;
const outHandle = (name: string): string => `out:${name}`;

function handle(type: "source" | "target", id: string, at: Socket): NodeHandle {
  const half = PORT / 2;
  return {
    type,
    id,
    position: SIDES[at.side],
    x: at.x - half,
    y: at.y - half,
    width: PORT,
    height: PORT,
  };
}

function handles(node: NodeEntry): NodeHandle[] {
  return [
    ...drawnInputs(node).map(({ name }) =>
      handle("target", inHandle(name), inputSocket(node, name)),
    ),
    ...node.outputs.map(({ name }) => handle("source", outHandle(name), outputSocket(node, name))),
  ];
}

/** The same result for the same inputs, for each id. */
class Memory<T> {
  private known = new Map<string, { inputs: readonly unknown[]; made: T }>();
  private next = new Map<string, { inputs: readonly unknown[]; made: T }>();

  take(id: string, inputs: readonly unknown[], make: () => T): T {
    const old = this.known.get(id);
    const same = old && old.inputs.every((input, at) => Object.is(input, inputs[at]));
    const entry = same ? old : { inputs, made: make() };
    this.next.set(id, entry);
    return entry.made;
  }

  /** Forgets what was not asked for since the last time. */
  turn(): void {
    this.known = this.next;
    this.next = new Map();
  }
}

type Shown = Pick<State, "nodes" | "edges" | "selected" | "picked" | "moved">;

export class Flow {
  private boxes = new Memory<BoxFlow>();
  private lines = new Memory<LineFlow>();
  private sockets = new Memory<NodeHandle[]>();

  nodes(state: Shown, spots: ReadonlyMap<string, Point>): BoxFlow[] {
    const chosen = new Set(state.selected);
    const current = state.selected.at(-1) ?? "";
    const reached = state.nodes.some((node) => node.id === current) ? current : state.nodes[0]?.id;
    const where = (id: string): Point => state.moved?.get(id) ?? spots.get(id) ?? { x: 0, y: 0 };
    const found: BoxFlow[] = state.nodes.map((entry) => {
      const { id } = entry;
      const at = where(id);
      const flags = [chosen.has(id), id === current, id === reached, state.moved?.has(id) ?? false];
      return this.boxes.take(id, [entry, at.x, at.y, ...flags], () => ({
        ...box(id, at, sizeOf(entry), flags[0]!, flags[3]!),
        type: entry.generator ? "draw" : "op",
        handles: this.sockets.take(id, [entry], () => handles(entry)),
        data: { entry, current: flags[1]!, reached: flags[2]! },
      }));
    });
    for (const edge of state.edges) {
      if (edge.target) continue;
      const id = outputId(edge.input);
      const at = where(id);
      const size = outputSize(edge.input);
      const flags = [state.picked.has(id), state.moved?.has(id) ?? false, !state.nodes.length];
      found.push(
        this.boxes.take(id, [edge, at.x, at.y, ...flags], () => ({
          ...box(id, at, size, flags[0]!, flags[1]!),
          type: "out",
          handles: [handle("target", "in:", { x: 0, y: size.height / 2, side: "left" })],
          data: { edge, reached: flags[2]! },
        })),
      );
    }
    this.boxes.turn();
    return found;
  }

  edges(state: Shown, routes: ReadonlyMap<string, Route>): LineFlow[] {
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
          target: entry.target || outputId(entry.input),
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
          data: { entry, route: path },
        })),
      ];
    });
    this.lines.turn();
    return found;
  }
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

/** How all edges run, for the places where the boxes stand. */
export class Routes {
  private memory = new Memory<Route>();

  find(state: Shown, spots: ReadonlyMap<string, Point>): Map<string, Route> {
    const nodes = new Map(state.nodes.map((node) => [node.id, node]));
    const rects: Rect[] = [];
    for (const node of state.nodes) {
      const at = spots.get(node.id);
      if (at) rects.push(rectOf(at, sizeOf(node)));
    }
    for (const edge of state.edges) {
      const at = edge.target ? undefined : spots.get(outputId(edge.input));
      if (at) rects.push(rectOf(at, outputSize(edge.input)));
    }
    const runs: Run[] = [];
    const found = new Map<string, Route>();
    for (const edge of state.edges) {
      const source = nodes.get(edge.source);
      const at = spots.get(edge.source);
      const to = spots.get(edge.target || outputId(edge.input));
      const target = nodes.get(edge.target);
      if (!source || !at || !to || (edge.target && !target)) continue;
      const out = outputSocket(source, edge.output);
      const into: Socket = target
        ? inputSocket(target, edge.input)
        : { x: 0, y: outputSize(edge.input).height / 2, side: "left" };
      const made = route(
        { ...rim(at, out), side: out.side },
        { ...rim(to, into), side: into.side },
        rects,
        `${edge.source}.${edge.output}`,
        runs,
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
  return { x: at.x, y: at.y - size.over, right: at.x + size.width, bottom: at.y + size.height };
}
