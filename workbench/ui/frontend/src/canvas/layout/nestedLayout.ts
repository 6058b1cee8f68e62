// Layout of blocks with their contents: each body separately, one below the other in a frame.

import type { EdgeEntry, NodeEntry, ScopeEntry } from "../../payloads";
import { BODY, CARD, FRAME, titleWidth, type DrawnNode, type BlockSize, type Point } from "./geometry";
import { arrange, boxesOf, type Layout } from "./layout";
import { manualLayout } from "./manualLayout";

/** Position in a frame: relative to the outermost frame. */
export interface InnerLayout extends Point {
  frame: string;
}

export interface NestedLayout {
  /** Sizes of boxes that depend on their contents; all others have their default size. */
  places: ReadonlyMap<string, BlockSize>;
  inner: ReadonlyMap<string, InnerLayout>;
  /** Reserved lane of each edge inside a frame, relative to the frame's left edge. */
  lanes: ReadonlyMap<string, InnerLayout>;
}

/** Return the visible body; empty for the whole graph. */
export function shownScope(breadcrumb: readonly ScopeEntry[]): string {
  return breadcrumb.at(-1)?.bodies.find((body) => body.shown)?.scope ?? "";
}

/** Return the body of each node, edge and output pill. */
export function scopesOf(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
): Map<string, string> {
  const scopes = new Map(nodes.map(({ id, scope }) => [id, scope]));
  for (const edge of edges) scopes.set(edge.id, scopes.get(edge.source) ?? "");
  return scopes;
}

/** Return the nodes with their computed sizes. */
export function sized(
  nodes: readonly NodeEntry[],
  places: NestedLayout["places"],
): readonly DrawnNode[] {
  if (!places.size) return nodes;
  return nodes.map((node) => {
    const place = places.get(node.id);
    return place ? { ...node, place } : node;
  });
}

/** Compute the layout of all frames. A body without manual `positions` is laid out automatically. */
export function layOutFrames(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
  positions: Positions = {},
): NestedLayout {
  const maker = new Maker(nodes, edges, positions);
  for (const node of nodes) if (node.expanded && !maker.isInside(node)) maker.addFrame(node);
  return maker;
}

/** Return the positions including the contents of frames. */
export function withInner(
  spots: Map<string, Point>,
  inner: ReadonlyMap<string, InnerLayout>,
): Map<string, Point> {
  for (const [id, { frame, x, y }] of inner) {
    const at = spots.get(frame);
    if (at) spots.set(id, { x: at.x + x, y: at.y + y });
  }
  return spots;
}

type Positions = Readonly<Record<string, number[]>>;

/** Layout of a body, relative to its own corner. */
interface Body {
  scope: string;
  width: number;
  height: number;
  /** x position of straight chains. */
  line: number;
  spots: Map<string, Point>;
  lanes: Map<string, number>;
}

class Maker implements NestedLayout {
  readonly places = new Map<string, BlockSize>();
  readonly inner = new Map<string, InnerLayout>();
  readonly lanes = new Map<string, InnerLayout>();
  private readonly drawn: ReadonlySet<string>;
  private readonly bodies = new Map<string, Body>();
  private readonly within = new Map<string, NodeEntry[]>();
  private readonly edges = new Map<string, EdgeEntry[]>();

  constructor(
    nodes: readonly NodeEntry[],
    edges: readonly EdgeEntry[],
    private readonly positions: Positions,
  ) {
    const scopes = scopesOf(nodes, edges);
    for (const node of nodes) grouped(this.within, node.scope).push(node);
    for (const edge of edges) grouped(this.edges, scopes.get(edge.id)!).push(edge);
    this.drawn = new Set(nodes.flatMap((node) => (node.expanded ? scopesIn(node) : [])));
  }

  isInside({ scope }: NodeEntry): boolean {
    return this.drawn.has(scope);
  }

  /** Compute the layout of a frame of the visible body with its contents. */
  addFrame(node: NodeEntry): void {
    this.frame(node);
    this.put(node, node.id, { x: 0, y: 0 });
  }

  private frame(node: NodeEntry): void {
    const bodies = scopesIn(node).map((scope) => this.body(scope));
    const line = Math.max(...bodies.map((body) => body.line));
    for (const body of bodies) shift(body, line - body.line);
    const wide = Math.max(...bodies.map((body) => body.width), titleWidth(node) + FRAME.button);
    let y = FRAME.head;
    const rects = bodies.map((body) => {
      const { scope, height } = body;
      this.places.set(scope, { width: wide, height: BODY.bar.height, line: body.line });
      body.spots.set(scope, { x: 0, y: 0 });
      this.bodies.set(scope, body);
      const rect = { scope, x: FRAME.pad, y, width: wide, height };
      y += height + FRAME.pad;
      return rect;
    });
    const width = wide + 2 * FRAME.pad;
    this.places.set(node.id, { width, height: y, line: FRAME.pad + line, rects });
  }

  private body(scope: string): Body {
    const nodes = this.within.get(scope) ?? [];
    const edges = this.edges.get(scope) ?? [];
    for (const node of nodes) {
      if (node.expanded) this.frame(node);
      if (!node.op) this.places.set(node.id, { ...BODY.bar, line: BODY.line });
    }
    const own = sized(nodes, this.places);
    const { spots, lanes } = this.layout(scope, own, edges);
    const bar = spots.get(scope) ?? { x: 0, y: 0 };
    const boxes = boxesOf(own, edges).filter(({ id }) => id !== scope);
    const tops = boxes.map(({ id }) => spots.get(id)!.y - bar.y);
    const down = Math.max(0, BODY.bar.height + BODY.gap - Math.min(...tops)) - bar.y;
    const wide = BODY.bar.width;
    let [left, right, bottom] = [bar.x, Math.max(wide, bar.x + wide), BODY.bar.height];
    if (this.isByHand(own, edges)) left += BODY.line - CARD.line; // so that its position is unchanged
    for (const box of boxes) {
      const at = spots.get(box.id)!;
      at.y += down;
      left = Math.min(left, at.x);
      right = Math.max(right, at.x + box.width);
      bottom = Math.max(bottom, at.y + box.height);
    }
    for (const x of lanes.values()) [left, right] = [Math.min(left, x - 8), Math.max(right, x + 8)];
    const line = BODY.line + bar.x;
    const body = { scope, width: right, height: bottom + BODY.pad, line, spots, lanes };
    shift(body, BODY.pad - left);
    body.width += BODY.pad;
    return body;
  }

  private isByHand(nodes: readonly DrawnNode[], edges: readonly EdgeEntry[]): boolean {
    return boxesOf(nodes, edges).some(({ id }) => this.positions[id]);
  }

  private layout(scope: string, nodes: readonly DrawnNode[], edges: readonly EdgeEntry[]): Layout {
    if (!this.isByHand(nodes, edges)) return arrange(nodes, edges, BODY.rows);
    // Stored as in the opened body, where a card replaces the bar: both have the same lower edge.
    const [x, y] = this.positions[scope] ?? [];
    const positions = { ...this.positions };
    if (x !== undefined && y !== undefined) {
      positions[scope] = [x + CARD.line - BODY.line, y + CARD.height - BODY.bar.height];
    }
    return { spots: manualLayout(nodes, edges, positions), lanes: new Map() };
  }

  /** Place the contents of a frame, relative to the outermost frame. */
  private put({ id }: NodeEntry, frame: string, corner: Point): void {
    for (const { scope, x, y } of this.places.get(id)!.rects!) {
      const { spots, lanes } = this.bodies.get(scope)!;
      const at = { x: corner.x + x, y: corner.y + y };
      for (const [inside, spot] of spots) {
        this.inner.set(inside, { frame, x: at.x + spot.x, y: at.y + spot.y });
      }
      for (const [edge, lane] of lanes) this.lanes.set(edge, { frame, x: at.x + lane, y: 0 });
      for (const node of this.within.get(scope) ?? []) {
        if (node.expanded) this.put(node, frame, this.inner.get(node.id)!);
      }
    }
  }
}

function shift(body: Body, by: number): void {
  body.line += by;
  body.width += by;
  for (const at of body.spots.values()) at.x += by;
  for (const [edge, x] of body.lanes) body.lanes.set(edge, x + by);
}

const scopesIn = (node: NodeEntry): string[] => node.bodies.map(({ scope }) => scope);

function grouped<T>(groups: Map<string, T[]>, key: string): T[] {
  const found = groups.get(key) ?? [];
  groups.set(key, found);
  return found;
}
