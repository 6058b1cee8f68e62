// How an edge runs: straight where nothing is in its way, else through the free lane that costs
// the least. Every path is M C L C, so that the browser can let one glide into another.

import type { Point, Side } from "./geometry";

export interface Rect {
  x: number;
  y: number;
  right: number;
  bottom: number;
}

export interface End extends Point {
  side: Side;
}

export interface Route {
  from: End;
  to: End;
  path: string;
  /** Where its `+` stands. */
  middle: Point;
  /** Points along it, to find the edge that lies under a node. */
  along: Point[];
}

/** A horizontal run that another edge already takes. */
export interface Run {
  port: string;
  y: number;
  left: number;
  right: number;
}

/** M p0, C p1 p2 p3, L p4, C p5 p6 p7. */
type Shape = [Point, Point, Point, Point, Point, Point, Point, Point];

const BULGE = 38;
/** Within this an edge turns up or down: the least gap between two columns. */
const TURN = 28;
/** From an argument's port to the gap at either side of its card. */
const ASIDE = { left: 40, right: 138 };
const COST = { hit: 1e4, overlap: 400, detour: 40 };
const LANES = 48;

/** `port` names the source: edges from one port may share a lane. Adds its own run to `runs`. */
export function route(
  from: End,
  to: End,
  rects: readonly Rect[],
  port: string,
  runs: Run[],
): Route {
  const direct = straight(from, to);
  let best = direct;
  if (from.side === "bottom" && to.side === "top") {
    const ways = [direct, beside(from, to, -1), beside(from, to, 1)];
    const price = (shape: Shape, at: number): number =>
      cost(shape, rects, port, runs) + at + (at === 0 && to.y < from.y + 8 ? COST.hit / 2 : 0);
    best = ways.reduce((a, b, at) => (price(b, at) < price(a, ways.indexOf(a)) ? b : a));
  }
  if (from.side === "right" && to.side === "left") {
    let least = to.x - from.x > 12 ? cost(direct, rects, port, runs) : Infinity;
    for (const y of lanes(from, to, rects)) {
      const detour =
        COST.detour + Math.abs(y - from.y) + Math.abs(y - to.y) - Math.abs(from.y - to.y);
      if (detour >= least) break;
      const shape = through(from, to, y);
      const price = detour + cost(shape, rects, port, runs);
      if (price < least) [best, least] = [shape, price];
    }
    if (least === Infinity) best = through(from, to, (from.y + to.y) / 2);
    const run = runOf(best, port);
    if (run) runs.push(run);
  }
  return { from, to, path: pathOf(best), middle: middleOf(best), along: along(best) };
}

/** Levels at which an edge may run across, the nearest first. */
function lanes(from: End, to: End, rects: readonly Rect[]): number[] {
  const left = Math.min(from.x, to.x) - BULGE;
  const right = Math.max(from.x, to.x) + BULGE;
  const found = new Set<number>();
  if (to.x > from.x) found.add(Math.round(from.y)).add(Math.round(to.y));
  for (const rect of rects) {
    if (rect.right < left || rect.x > right) continue;
    for (const by of [16, 23, 30])
      found.add(Math.round(rect.y - by)).add(Math.round(rect.bottom + by));
  }
  const away = (y: number): number => Math.abs(y - from.y) + Math.abs(y - to.y);
  return [...found].sort((a, b) => away(a) - away(b)).slice(0, LANES);
}

function cost(shape: Shape, rects: readonly Rect[], port: string, runs: readonly Run[]): number {
  let sum = 0;
  const points = along(shape);
  const [a, b] = [shape[3], shape[4]];
  for (const rect of near(shape, rects)) {
    const inside = ({ x, y }: Point): boolean =>
      x > rect.x - 3 && x < rect.right + 3 && y > rect.y - 3 && y < rect.bottom + 3;
    const run =
      Math.min(a.x, b.x) < rect.right + 3 &&
      Math.max(a.x, b.x) > rect.x - 3 &&
      a.y > rect.y - 3 &&
      a.y < rect.bottom + 3;
    if (run || points.some(inside)) sum += COST.hit;
  }
  const own = runOf(shape, port);
  if (!own) return sum;
  const shared = runs.filter(
    (run) =>
      run.port !== port &&
      Math.abs(run.y - own.y) < 5 &&
      run.left < own.right - 8 &&
      own.left < run.right - 8,
  );
  return sum + shared.length * COST.overlap;
}

/** Those that a path could touch at all: it stays between its outermost points. */
function near(shape: Shape, rects: readonly Rect[]): Rect[] {
  const [xs, ys] = [shape.map(({ x }) => x), shape.map(({ y }) => y)];
  const [left, right] = [Math.min(...xs) - 3, Math.max(...xs) + 3];
  const [top, bottom] = [Math.min(...ys) - 3, Math.max(...ys) + 3];
  return rects.filter(
    (rect) => rect.right > left && rect.x < right && rect.bottom > top && rect.y < bottom,
  );
}

function runOf(shape: Shape, port: string): Run | null {
  const [a, b] = [shape[3], shape[4]];
  if (Math.abs(a.x - b.x) < 24 || Math.abs(a.y - b.y) > 1) return null;
  return { port, y: a.y, left: Math.min(a.x, b.x), right: Math.max(a.x, b.x) };
}

const away = (point: End, by: number): Point => ({
  x: point.x + { left: -by, right: by, top: 0, bottom: 0 }[point.side],
  y: point.y + { left: 0, right: 0, top: -by, bottom: by }[point.side],
});

/** One curve, cut in two at its middle. */
export function straight(from: End, to: End): Shape {
  const [dx, dy] = [Math.abs(to.x - from.x), Math.abs(to.y - from.y)];
  const flat = from.side === "right" && to.side === "left";
  const reach = flat ? Math.max(16, dx / 2) : Math.min(60, Math.max(10, dy / 2, dx / 4));
  const [c1, c2] = [away(from, reach), away(to, reach)];
  const ab = mid(from, c1);
  const bc = mid(c1, c2);
  const cd = mid(c2, to);
  const [abc, bcd] = [mid(ab, bc), mid(bc, cd)];
  const centre = mid(abc, bcd);
  return [from, ab, abc, centre, centre, bcd, cd, to];
}

/** Across at the level `y`; back in wide bows where the target lies to the left. */
function through(from: End, to: End, y: number): Shape {
  const room = to.x - from.x;
  if (room > 24) {
    const turn = Math.min(TURN, room / 2);
    const [out, back] = [from.x + turn / 2, to.x - turn / 2];
    const a = { x: y === from.y ? from.x : from.x + turn, y };
    const b = { x: y === to.y ? to.x : to.x - turn, y };
    return [
      from,
      { x: out, y: from.y },
      { x: out, y },
      a,
      b,
      { x: back, y },
      { x: back, y: to.y },
      to,
    ];
  }
  const [right, left] = [from.x + BULGE, to.x - BULGE];
  // The taller the bow, the farther out it has to begin, so as to clear the cards that it passes.
  const clear = (tall: number): number => Math.min(40, Math.max(0, (tall - 80) / 5));
  const a = { x: from.x - 24 + clear(Math.abs(y - from.y)), y };
  const b = { x: Math.min(to.x + 24 - clear(Math.abs(to.y - y)), a.x), y };
  return [
    from,
    { x: right, y: from.y },
    { x: right, y },
    a,
    b,
    { x: left, y },
    { x: left, y: to.y },
    to,
  ];
}

/** Down or up in the gap beside the cards, to an argument that does not lie right below. */
function beside(from: End, to: End, side: -1 | 1): Shape {
  const edge =
    side < 0 ? Math.min(from.x, to.x) - ASIDE.left : Math.max(from.x, to.x) + ASIDE.right;
  const a = { x: edge, y: from.y + 18 };
  const b = { x: edge, y: to.y - 22 };
  return [
    from,
    { x: from.x, y: from.y + 12 },
    { x: edge, y: from.y + 4 },
    a,
    b,
    { x: edge, y: to.y - 10 },
    { x: to.x, y: to.y - 14 },
    to,
  ];
}

const mid = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });

function bezier(a: Point, b: Point, c: Point, d: Point, t: number): Point {
  const [s, u] = [1 - t, t];
  const [w0, w1, w2, w3] = [s * s * s, 3 * s * s * u, 3 * s * u * u, u * u * u];
  return {
    x: w0 * a.x + w1 * b.x + w2 * c.x + w3 * d.x,
    y: w0 * a.y + w1 * b.y + w2 * c.y + w3 * d.y,
  };
}

const STEP = 14;

/** Points along a path, close enough that no card lies between two of them. */
function along([p0, p1, p2, p3, p4, p5, p6, p7]: Shape): Point[] {
  return [...curve(p0, p1, p2, p3), p3, mid(p3, p4), p4, ...curve(p4, p5, p6, p7)];
}

function curve(a: Point, b: Point, c: Point, d: Point): Point[] {
  const far = Math.abs(a.x - d.x) + Math.abs(a.y - d.y);
  const count = Math.min(40, Math.max(4, Math.ceil(far / STEP)));
  return Array.from({ length: count }, (_, at) => bezier(a, b, c, d, (at + 0.5) / count));
}

function middleOf([, , , p3, p4]: Shape): Point {
  return mid(p3, p4);
}

function pathOf([p0, p1, p2, p3, p4, p5, p6, p7]: Shape): string {
  const at = ({ x, y }: Point): string => `${round(x)} ${round(y)}`;
  return `M${at(p0)}C${at(p1)} ${at(p2)} ${at(p3)}L${at(p4)}C${at(p5)} ${at(p6)} ${at(p7)}`;
}

const round = (value: number): number => Math.round(value * 10) / 10;

/** The path of an edge while one of its ends is on the move. */
export function loose(from: End, to: End): string {
  const back = from.side === "right" && to.side === "left" && to.x - from.x <= 12;
  const shape = back ? through(from, to, (from.y + to.y) / 2) : straight(from, to);
  return pathOf(shape);
}
