// Routing of edges: straight if nothing is in the way, else through the free lane with the lowest
// cost. Every path is M C L C, so that the browser can animate between two paths.

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
  /** Position of the `+` button. */
  middle: Point;
  /** Points along the edge, to find the edge under a node. */
  along: Point[];
}

/** Vertical segment taken by another edge. */
export interface Run {
  port: string;
  x: number;
  top: number;
  bottom: number;
}

/** M p0, C p1 p2 p3, L p4, C p5 p6 p7. */
type Shape = [Point, Point, Point, Point, Point, Point, Point, Point];

const BULGE = 38;
/** Height of a curve: the smallest gap between two rows. */
const TURN = 27;
const ROUTE_COST = { hit: 1e4, overlap: 400, detour: 40 };
const LANES = 48;

/**
 * Return the route of an edge, and add its vertical segment to `runs`. `port` names the source:
 * edges from one port may share a lane. `lane` was reserved by the layout.
 */
export function route(
  from: End,
  to: End,
  rects: readonly Rect[],
  port: string,
  runs: Run[],
  lane?: number,
): Route {
  const direct = straight(from, to);
  let best = direct;
  let least = to.y - from.y > 12 ? cost(direct, rects, port, runs) : Infinity;
  if (lane !== undefined) {
    const shape = shapeThrough(from, to, lane);
    const price = cost(shape, rects, port, runs);
    if (price <= least) [best, least] = [shape, price];
  }
  for (const x of least ? lanes(from, to, rects) : []) {
    const detour =
      ROUTE_COST.detour + Math.abs(x - from.x) + Math.abs(x - to.x) - Math.abs(from.x - to.x);
    if (detour >= least) break;
    const shape = shapeThrough(from, to, x);
    const price = detour + cost(shape, rects, port, runs);
    if (price < least) [best, least] = [shape, price];
  }
  if (least === Infinity) best = shapeThrough(from, to, (from.x + to.x) / 2);
  const run = runOf(best, port);
  if (run) runs.push(run);
  return { from, to, path: pathOf(best), middle: middleOf(best), along: along(best) };
}

/** Return x positions of lanes in which an edge can run down, nearest first. */
function lanes(from: End, to: End, rects: readonly Rect[]): number[] {
  const top = Math.min(from.y, to.y) - BULGE;
  const bottom = Math.max(from.y, to.y) + BULGE;
  const found = new Set<number>();
  if (to.y > from.y) found.add(Math.round(from.x)).add(Math.round(to.x));
  for (const rect of rects) {
    if (rect.bottom < top || rect.y > bottom) continue;
    for (const by of [14, 22, 30])
      found.add(Math.round(rect.x - by)).add(Math.round(rect.right + by));
  }
  const away = (x: number): number => Math.abs(x - from.x) + Math.abs(x - to.x);
  return [...found].sort((a, b) => away(a) - away(b)).slice(0, LANES);
}

function cost(shape: Shape, rects: readonly Rect[], port: string, runs: readonly Run[]): number {
  let sum = 0;
  const points = along(shape);
  const [a, b] = [shape[3], shape[4]];
  for (const rect of rectsNear(shape, rects)) {
    const inside = ({ x, y }: Point): boolean =>
      x > rect.x - 3 && x < rect.right + 3 && y > rect.y - 3 && y < rect.bottom + 3;
    const run =
      Math.min(a.y, b.y) < rect.bottom + 3 &&
      Math.max(a.y, b.y) > rect.y - 3 &&
      a.x > rect.x - 3 &&
      a.x < rect.right + 3;
    if (run || points.some(inside)) sum += ROUTE_COST.hit;
  }
  const own = runOf(shape, port);
  if (!own) return sum;
  const shared = runs.filter(
    (run) =>
      run.port !== port &&
      Math.abs(run.x - own.x) < 5 &&
      run.top < own.bottom - 8 &&
      own.top < run.bottom - 8,
  );
  return sum + shared.length * ROUTE_COST.overlap;
}

/** Return the rectangles that a path might intersect. */
function rectsNear(shape: Shape, rects: readonly Rect[]): Rect[] {
  const [xs, ys] = [shape.map(({ x }) => x), shape.map(({ y }) => y)];
  const [left, right] = [Math.min(...xs) - 3, Math.max(...xs) + 3];
  const [top, bottom] = [Math.min(...ys) - 3, Math.max(...ys) + 3];
  return rects.filter(
    (rect) => rect.right > left && rect.x < right && rect.bottom > top && rect.y < bottom,
  );
}

function runOf(shape: Shape, port: string): Run | null {
  const [a, b] = [shape[3], shape[4]];
  if (Math.abs(a.y - b.y) < 24 || Math.abs(a.x - b.x) > 1) return null;
  return { port, x: a.x, top: Math.min(a.y, b.y), bottom: Math.max(a.y, b.y) };
}

/** Return a single curve, split in the middle. */
export function straight(from: End, to: End): Shape {
  const reach = Math.max(14, Math.abs(to.y - from.y) / 2);
  const [c1, c2] = [outwards(from, reach), outwards(to, reach)];
  const ab = mid(from, c1);
  const bc = mid(c1, c2);
  const cd = mid(c2, to);
  const [abc, bcd] = [mid(ab, bc), mid(bc, cd)];
  const centre = mid(abc, bcd);
  return [from, ab, abc, centre, centre, bcd, cd, to];
}

const outwards = ({ x, y, side }: End, by: number): Point => ({
  x,
  y: side === "top" ? y - by : y + by,
});

/** Return a path through the lane at `x`, with wide curves if the target is above. */
function shapeThrough(from: End, to: End, x: number): Shape {
  const room = to.y - from.y;
  if (room > 24) {
    const turn = Math.min(TURN, room / 2);
    const [out, back] = [from.y + turn / 2, to.y - turn / 2];
    const a = { x, y: x === from.x ? from.y : from.y + turn };
    const b = { x, y: x === to.x ? to.y : to.y - turn };
    return [
      from,
      { x: from.x, y: out },
      { x, y: out },
      a,
      b,
      { x, y: back },
      { x: to.x, y: back },
      to,
    ];
  }
  const [below, above] = [from.y + BULGE, to.y - BULGE];
  // A wider curve has to start farther out to clear the cards it passes.
  const clear = (wide: number): number => Math.min(40, Math.max(0, (wide - 80) / 5));
  const a = { x, y: from.y - 24 + clear(Math.abs(x - from.x)) };
  const b = { x, y: Math.min(to.y + 24 - clear(Math.abs(to.x - x)), a.y) };
  return [
    from,
    { x: from.x, y: below },
    { x, y: below },
    a,
    b,
    { x, y: above },
    { x: to.x, y: above },
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

/** Return points along a path, so close that no card fits between two of them. */
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

/** Return the path of an edge while one end is being dragged. */
export function unroutedPath(from: End, to: End): string {
  const back = to.y - from.y <= 12;
  return pathOf(back ? shapeThrough(from, to, (from.x + to.x) / 2) : straight(from, to));
}
