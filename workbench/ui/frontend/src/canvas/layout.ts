// Where everything stands when nobody put it anywhere: left to right, row under row.

import type { EdgeEntry, NodeEntry } from "../views";
import { fold, type Row } from "./rowBreaking";
import {
  CARD,
  DRAW,
  drawnInputs,
  inputSocket,
  outputId,
  outputSize,
  outputSocket,
  sizeOf,
} from "./geometry";
import type { Point, Size } from "./geometry";
import { ranks, type Ranked } from "./ranks";

export const GAP = { most: 44, least: 26, rows: 34, output: 30 };
const SATELLITE = DRAW.height + 20;
/** Room at both sides for the edges that turn back to the next row. */
export const MARGIN = 38;
const ZOOMS = [1, 0.92, 0.85, 0.78, 0.7, 0.6, 0.5, 0.42, 0.35, 0.3];
/** How much smaller everything may be drawn for a branch that is not cut. */
const WORTH = 0.25;
/** Between the lines of two branches. */
const BRANCH = { gap: 22, most: 80 };

export interface Layout {
  spots: Map<string, Point>;
  width: number;
  height: number;
  /** Edges of branches that go on in another row. */
  cuts: number;
  /** Rows beyond those that the ranks would fill. */
  spare: number;
}

export interface Box extends Size {
  id: string;
  node: NodeEntry | null;
}

/** Everything that is drawn: nodes, and a pill for each of the graph's outputs. */
export function boxesOf(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): Box[] {
  const outputs = edges.filter((edge) => !edge.target);
  return [
    ...nodes.map((node) => ({ id: node.id, node, ...sizeOf(node) })),
    ...outputs.map((edge) => ({ id: outputId(edge.input), node: null, ...outputSize(edge.input) })),
  ];
}

/**
 * As large as it can be shown whole in `wide` x `tall`, down to what can still be read; somewhat
 * smaller where that keeps a branch in one row.
 */
export function arrange(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
  wide: number,
  tall: number,
): Layout {
  const plan = new Plan(nodes, edges);
  let best: Layout | null = null;
  let least = Infinity;
  let layout = plan.folded(wide);
  for (const zoom of ZOOMS) {
    const shrunk = (1 - zoom) / WORTH;
    if (shrunk >= least) break;
    layout = plan.folded(wide / zoom);
    if (layout.height * zoom > tall || layout.width * zoom > wide) continue;
    const price = shrunk + layout.cuts + layout.spare / 2;
    if (price < least) [best, least] = [layout, price];
  }
  return best ?? layout;
}

class Plan {
  private boxes: Map<string, Box>;
  /** Generators that stand over the argument they feed -> where that is. */
  private hosts = new Map<string, { target: string; x: number; level: number }>();
  private levels = new Map<string, number>();
  private ranked: Map<string, Ranked>;
  private crossing: number[] = [];
  private last: number;

  constructor(
    nodes: readonly NodeEntry[],
    private edges: readonly EdgeEntry[],
  ) {
    const boxes = boxesOf(nodes, edges);
    this.boxes = new Map(boxes.map((box) => [box.id, box]));
    const shared = this.findHosts(nodes, null);
    this.ranked = this.ranks();
    if (shared) {
      // Only now is it known which of the arguments that a draw feeds stands highest.
      this.findHosts(nodes, this.ranked);
      this.ranked = this.ranks();
    }
    this.last = Math.max(-1, ...[...this.ranked.values()].map((place) => place.rank));
    const cut: Set<string>[] = [];
    const more: number[] = [];
    for (const { source, output, target } of edges) {
      const [from, to] = [this.ranked.get(source)?.rank, this.ranked.get(target)?.rank];
      if (from === undefined || to === undefined) continue;
      for (let at = from + 1; at <= to; at++) {
        (cut[at] ??= new Set()).add(`${source}.${output}`);
        more[at] = (more[at] ?? 0) + 1;
      }
    }
    // Edges from one port run together: each further one counts less than another port's.
    this.crossing = cut.map((ports, at) => ports.size + ((more[at] ?? 0) - ports.size) / 4);
  }

  private ranks(): Map<string, Ranked> {
    const placed = [...this.boxes.values()].filter((box) => box.node && !this.hosts.has(box.id));
    const boxed = placed.map((box) => ({ id: box.id, up: this.up(box), down: this.down(box) }));
    const found = ranks(boxed, this.edges, true);
    // What the graph gives out first stands above the rest, on the line of what it comes from.
    const ends = this.edges.flatMap(({ source, target }) =>
      target ? [] : [found.get(source)?.y ?? 0],
    );
    const mean = ends.reduce((sum, y) => sum + y, 0) / ends.length;
    if ((ends[0] ?? 0) <= mean + 1) return found;
    const turned = ranks(boxed, this.edges, false);
    for (const place of turned.values()) place.y *= -1;
    return turned;
  }

  folded(wide: number): Layout {
    const room = wide - 2 * MARGIN;
    const columns = (space: number): number =>
      Math.max(1, Math.floor((space + GAP.least) / (CARD.width + GAP.least)));
    const fits = columns(room);
    const outputs = [...this.boxes.values()].filter((box) => !box.node);
    const pill = Math.max(0, ...outputs.map((box) => box.width + GAP.output));
    const roomy = CARD.width + GAP.most;
    const pitch = Math.min(roomy, fits > 1 ? (room - CARD.width) / (fits - 1) : roomy);
    const last = pill ? Math.max(1, Math.floor((room - pill - CARD.width) / pitch) + 1) : fits;
    const spots = new Map<string, Point>();
    const { rows, cuts } = fold(this.crossing, this.last + 1, fits, last);
    let top = 0;
    for (const row of rows) top = this.placeRow(row, pitch, top, spots) + GAP.rows;
    this.placeOutputs(rows.at(-1) ?? [0, 0], top - GAP.rows, spots);
    this.placeSatellites(spots);
    const spare = rows.length - Math.ceil((this.last + 1) / fits);
    return { ...this.measured(spots), cuts, spare };
  }

  private up(box: Box): number {
    return 27 + box.over + (this.levels.get(box.id) ?? 0) * SATELLITE;
  }

  private down(box: Box): number {
    return box.height - 27;
  }

  /** Returns whether some generator feeds several arguments. */
  private findHosts(nodes: readonly NodeEntry[], ranked: Map<string, Ranked> | null): boolean {
    let shared = false;
    this.hosts.clear();
    this.levels.clear();
    const height = ({ target }: EdgeEntry): number => {
      const place = ranked?.get(target);
      return place ? place.rank * 1e5 + place.y : 0;
    };
    for (const node of nodes) {
      if (!node.generator || drawnInputs(node).length) continue;
      const fed = this.edges.filter(({ source }) => source === node.id);
      fed.sort((a, b) => height(a) - height(b));
      const target = fed[0]?.argument ? this.boxes.get(fed[0].target)?.node : undefined;
      if (!fed[0] || !target || target.generator) continue;
      shared ||= fed.length > 1;
      const level = (this.levels.get(target.id) ?? 0) + 1;
      this.levels.set(target.id, level);
      const { x } = inputSocket(target, fed[0].input);
      this.hosts.set(node.id, { target: target.id, x, level });
    }
    return shared;
  }

  /** Returns the row's lower end. */
  private placeRow([from, to]: Row, pitch: number, top: number, spots: Map<string, Point>): number {
    const inside = [...this.ranked].flatMap(([id, { rank, y }]) =>
      rank >= from && rank < to ? [{ box: this.boxes.get(id)!, rank, line: Math.round(y) }] : [],
    );
    const lines = [...new Set(inside.map(({ line }) => line))].sort((a, b) => a - b);
    // How far down each column is full: dagre leaves more room between branches than they need.
    const full = new Map<number, number>();
    let low = top;
    let last: { line: number; y: number } | null = null;
    for (const line of lines) {
      const on = inside.filter((item) => item.line === line);
      const floor = Math.max(...on.map(({ box, rank }) => (full.get(rank) ?? top) + this.up(box)));
      const y: number = last
        ? Math.max(floor, last.y + Math.min(line - last.line, BRANCH.most))
        : floor;
      for (const { box, rank } of on) {
        spots.set(box.id, { x: (rank - from) * pitch, y: y - 27 });
        full.set(rank, y + this.down(box) + BRANCH.gap);
        low = Math.max(low, y + this.down(box));
      }
      last = { line, y };
    }
    return low;
  }

  /** Behind what they give out where that place is free, else one under the other at the end. */
  private placeOutputs([from]: Row, floor: number, spots: Map<string, Point>): void {
    const taken: Box[] = [];
    const waiting: Box[] = [];
    let right = 0;
    for (const edge of this.edges) {
      const box = edge.target ? undefined : this.boxes.get(outputId(edge.input));
      const source = this.boxes.get(edge.source)?.node;
      const at = spots.get(edge.source);
      if (!box) continue;
      if (!source || !at || source.generator) {
        waiting.push(box);
        continue;
      }
      const line = at.y + outputSocket(source, edge.output).y;
      const spot = { x: at.x + CARD.width + GAP.output, y: line - box.height / 2 };
      if (this.isFree(spot, box, taken, spots)) {
        spots.set(box.id, spot);
        taken.push(box);
        if ((this.ranked.get(source.id)?.rank ?? 0) >= from) right = Math.max(right, spot.x);
      } else waiting.push(box);
    }
    const behind = [...this.ranked].filter(([, { rank }]) => rank >= from);
    const x =
      right ||
      Math.max(0, ...behind.map(([id]) => (spots.get(id)?.x ?? 0) + CARD.width + GAP.output));
    waiting.forEach((box, at) => spots.set(box.id, { x, y: floor + 12 + at * 34 }));
  }

  /** Whether nothing of the same row stands there or farther to the right at that level. */
  private isFree(spot: Point, box: Box, taken: readonly Box[], spots: Map<string, Point>): boolean {
    const nodes = [...this.ranked.keys()].map((id) => this.boxes.get(id)!);
    return [...nodes, ...taken].every((other) => {
      const at = spots.get(other.id)!;
      const beside =
        at.y - other.over < spot.y + box.height + 6 && spot.y - 6 < at.y + other.height;
      return !beside || at.x + other.width <= spot.x;
    });
  }

  private placeSatellites(spots: Map<string, Point>): void {
    for (const [id, { target, x, level }] of this.hosts) {
      const at = spots.get(target);
      const host = this.boxes.get(target);
      if (!at || !host) continue;
      // The first argument's is the highest: its edge passes left of those below.
      const height = (this.levels.get(target) ?? 1) - level + 1;
      spots.set(id, { x: at.x + x - 20, y: at.y - host.over - height * SATELLITE });
    }
  }

  private measured(spots: Map<string, Point>): Pick<Layout, "spots" | "width" | "height"> {
    const all = [...spots].map(([id, at]) => ({ at, box: this.boxes.get(id)! }));
    const top = Math.min(0, ...all.map(({ at, box }) => at.y - box.over));
    const width = Math.max(0, ...all.map(({ at, box }) => at.x + box.width));
    const height = Math.max(0, ...all.map(({ at, box }) => at.y + box.height)) - top;
    return { spots, width: width + 2 * MARGIN, height };
  }
}
