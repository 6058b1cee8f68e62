// Part of the graph that is visible until the user pans or zooms.

import type { NoteEntry } from "../../payloads";
import type { Point, Size } from "./geometry";

/** Free space in screen pixels. */
export const ROOM = { above: 14, below: 46, breadcrumb: 30, side: 26, narrow: 12 };
/** Minimum space at a side in screen pixels. */
const SIDE_SPACE = 4;
/** Zoom below which a card has no room for values and shows only its name. */
export const FAR = 0.66;
/** Zoom below which a card shows one line of its name instead of the picture. */
const PICTURE_ZOOM = 0.5;
/** Zoom below which a card has no room for text. */
const TEXTLESS = 0.25;
/** Smallest zoom chosen automatically, to read names and to click buttons on cards. */
const SMALLEST_ZOOM = { names: 0.56, buttons: 0.7, small: 0.42 };
/** Size of a small canvas, as in a notebook cell, which shows all cards even without pictures. */
const SMALL = { width: 480, height: 360 };
const LEAST_OF_ALL = 0.1;
const USUAL = 0.7;
const STEP = 0.02;

/** Smallest text on the screen in pixels. */
export const LEAST_TEXT = 11;
/** Step of the zoom levels for which text sizes are computed. */
const TEXT_STEP = 0.05;

/** Level of detail: everything, short text, names, start of names, no text. */
export type Detail = "full" | "small" | "names" | "titles" | "none";

/** Return the level of detail at a zoom, and the font size that stays readable. */
export function legibility(zoom: number): { text: number; detail: Detail } {
  const step = Math.floor(Math.max(zoom, TEXTLESS) / TEXT_STEP + 1e-6) * TEXT_STEP;
  const text = Math.ceil((100 * LEAST_TEXT) / step) / 100;
  const least = { none: TEXTLESS, titles: PICTURE_ZOOM, names: FAR, small: 1 - TEXT_STEP };
  const below = (Object.keys(least) as (keyof typeof least)[]).find((each) => zoom < least[each]);
  return { text, detail: below ?? "full" };
}

/** Approximate size of a note: maximum width, letters per row, visible rows, row height. */
const NOTE = { width: 240, letters: 28, rows: 4, row: 18, edges: 8 };

/** Return the positions of notes. The position of a node's note is relative to the node. */
export function notesAt(
  notes: readonly NoteEntry[],
  settled: ReadonlyMap<string, Point>,
): readonly NoteEntry[] {
  return notes.map((note) => {
    const from = settled.get(note.node);
    return from ? { ...note, x: from.x + note.x, y: from.y + note.y } : note;
  });
}

/** Return the rectangle extended to include the notes. */
export function withNotes(
  bounds: Rectangle,
  notes: readonly (Point & { text: string })[],
): Rectangle {
  let [left, top] = [bounds.x, bounds.y];
  let [right, bottom] = [left + bounds.width, top + bounds.height];
  for (const { x, y, text } of notes) {
    const rows = text.split("\n").map((line) => Math.max(1, Math.ceil(line.length / NOTE.letters)));
    const seen = Math.min(NOTE.rows, rows.reduce((sum, count) => sum + count, 0));
    const height = NOTE.edges + NOTE.row * seen;
    [left, top] = [Math.min(left, x), Math.min(top, y)];
    [right, bottom] = [Math.max(right, x + NOTE.width), Math.max(bottom, y + height)];
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** Space for a card's buttons above it, if there is no space next to it. */
export const ROOM_OF_TOOLBAR = 34;

export interface View extends Point {
  zoom: number;
}

type Rectangle = Point & Size;

export interface ContentBounds {
  bounds: Rectangle;
  /** Bounds without notes. */
  cards: Rectangle;
  /** Cards and pills, without the frames around them. */
  boxes: readonly (Rectangle & { id: string })[];
  /** The first node and the selection; both must be visible. */
  head: string;
  current: string;
  /** True if cards show buttons. */
  buttons: boolean;
  /** True if a breadcrumb is shown at the top. */
  breadcrumb: boolean;
}

/**
 * Return the first view of a graph. The zoom is 1 if everything fits. Otherwise it is smaller: with
 * `all` as small as necessary, else as long as text is readable. Notes are included while
 * everything stays readable. A larger graph is shown in part: the selection and the first node, with as few cards cut off as possible.
 */
export function firstView(seen: ContentBounds, size: Size, all: boolean): View {
  const least = seen.buttons ? SMALLEST_ZOOM.buttons : SMALLEST_ZOOM.names;
  for (const bounds of [seen.bounds, seen.cards]) {
    const pane = paneOf({ ...seen, bounds }, size);
    const full = Math.min(pane.wide, pane.tall);
    const small = size.width < SMALL.width && size.height < SMALL.height;
    const readable = all
      ? full >= PICTURE_ZOOM
      : (small && full >= SMALLEST_ZOOM.small) || (pane.wide >= least && pane.tall >= Math.max(least, FAR));
    if (!readable && !(all && bounds === seen.cards)) continue;
    const zoom = full > 0.98 ? 1 : Math.max(LEAST_OF_ALL, full); // letters are sharp at 1
    return { x: centred(bounds, pane, zoom), y: pane.above - bounds.y * zoom, zoom };
  }
  const cards = { ...seen, bounds: seen.cards };
  return partialView(cards, paneOf(cards, size), least);
}

/** Return whether a graph is too wide for a canvas to show it with readable names. */
export function isTooWide(bounds: Size, { width }: Size): boolean {
  return width < SMALL.width && (width - 2 * ROOM.narrow) / bounds.width < FAR;
}

/** Return the screen width of a graph if its height determines the zoom. */
export function widthAtHeight(bounds: Size, height: number): number {
  const tall = (height - ROOM.above - ROOM.below) / bounds.height;
  return bounds.width * Math.min(1, Math.max(USUAL, tall)) + 2 * ROOM.side;
}

interface Pane extends Size {
  above: number;
  below: number;
  side: number;
  /** Zoom at which the whole graph fits horizontally and vertically. */
  wide: number;
  tall: number;
}

function paneOf({ bounds, breadcrumb }: ContentBounds, size: Size): Pane {
  const { width, height } = size;
  const above = ROOM.above + (breadcrumb ? ROOM.breadcrumb : 0);
  const { below } = ROOM;
  const fits = (room: number): number => (width - 2 * room) / bounds.width;
  const side = fits(ROOM.side) < USUAL ? ROOM.narrow : ROOM.side;
  const tall = (height - above - below) / bounds.height;
  return { width, height, above, below, side, wide: fits(side), tall };
}

function centred(bounds: Rectangle, { width, side }: Pane, zoom: number): number {
  const spare = Math.max(0, width - 2 * side - bounds.width * zoom);
  return side + spare / 2 - bounds.x * zoom;
}

function partialView(seen: ContentBounds, pane: Pane, least: number): View {
  const { bounds, boxes } = seen;
  const { width, height, above, below, side, wide } = pane;
  const head = boxes.find(({ id }) => id === seen.head);
  const current = boxes.find(({ id }) => id === seen.current);
  const usual = Math.max(least, Math.min(wide, USUAL));
  const lowest = wide < FAR ? least : Math.max(least, FAR);
  const highest = wide < lowest ? 1 : Math.min(1, wide);
  const lefts = (zoom: number): number[] => {
    if (zoom <= wide) return [centred(bounds, pane, zoom)];
    const ends = [head, current].flatMap((box) =>
      box ? [side - box.x * zoom, width - side - (box.x + box.width) * zoom] : [],
    );
    return [side, SIDE_SPACE].map((room) => room - bounds.x * zoom).concat(ends);
  };
  const tops = (zoom: number): number[] => {
    const top = above - bounds.y * zoom; // avoid empty space above the graph
    return current ? [top, Math.min(top, height - below - (current.y + current.height) * zoom)] : [top];
  };
  const open = { left: side / 2, top: above / 2, right: width - side / 2, bottom: height - below + 1 };
  /** Return the penalty of a view, compared number by number; lower is better. */
  const penalty = (view: View): number[] => {
    const hidden = (box?: Rectangle): number => (box && !isWhole(onScreen(box, view), open) ? 1 : 0);
    const canvas = { left: 0, top: 0, right: width, bottom: height };
    let [cut, whole] = [0, 0];
    for (const box of boxes) {
      const at = onScreen(box, view);
      if (isWhole(at, canvas)) whole += 1;
      else if (at.left < width && at.top < height && at.right > 0 && at.bottom > 0) cut += 1;
    }
    const begins = bounds.x * view.zoom + view.x >= 0 ? 0 : 1; // the titles of frames should be visible
    return [2 * hidden(current) + hidden(head), cut, begins, -whole, Math.abs(view.zoom - usual)];
  };
  let best: View = { x: centred(bounds, pane, usual), y: above - bounds.y * usual, zoom: usual };
  let lowestPenalty = penalty(best);
  for (let zoom = lowest; zoom <= highest; zoom += STEP) {
    for (const x of lefts(zoom)) {
      for (const y of tops(zoom)) {
        const view = { x, y, zoom };
        const found = penalty(view);
        if (isLess(found, lowestPenalty)) [best, lowestPenalty] = [view, found];
      }
    }
  }
  return best;
}

/**
 * Move the view as little as possible to show all boxes; zoom out only while names are readable.
 * If they do not fit, the last box is shown.
 */
export function revealed(view: View, boxes: readonly Rectangle[], size: Size): View {
  if (!boxes.length) return view;
  const rim = ROOM.narrow;
  const [right, bottom] = [size.width - rim, size.height - ROOM.below - ROOM_OF_TOOLBAR];
  const [left, top] = [Math.min(...boxes.map(({ x }) => x)), Math.min(...boxes.map(({ y }) => y))];
  const width = Math.max(...boxes.map((box) => box.x + box.width)) - left;
  const height = Math.max(...boxes.map((box) => box.y + box.height)) - top;
  const fits = Math.min((right - rim) / width, (bottom - rim) / height);
  const zoom = Math.min(view.zoom, Math.max(PICTURE_ZOOM, fits));
  const scaled = (offset: number, middle: number): number => middle - ((middle - offset) * zoom) / view.zoom;
  let [x, y] = [scaled(view.x, size.width / 2), scaled(view.y, size.height / 2)];
  for (const box of [{ x: left, y: top, width, height }, boxes.at(-1)!]) {
    const at = onScreen(box, { x, y, zoom });
    x += shiftInto(at.left, at.right, rim, right);
    y += shiftInto(at.top, at.bottom, rim, bottom);
  }
  return { x, y, zoom };
}

/** Return whether boxes are completely visible above the buttons at the lower edge. */
export function isInSight(boxes: readonly Rectangle[], view: View, { width, height }: Size): boolean {
  const open = { left: 0, top: 0, right: width, bottom: height - ROOM.below + 1 };
  return boxes.every((box) => isWhole(onScreen(box, view), open));
}

/** Return the shift that moves an interval into another; a longer one is aligned at its start. */
function shiftInto(low: number, high: number, least: number, most: number): number {
  return low < least ? least - low : high > most ? Math.max(least - low, most - high) : 0;
}

interface Edges {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

function onScreen({ x, y, width, height }: Rectangle, view: View): Edges {
  const [left, top] = [x * view.zoom + view.x, y * view.zoom + view.y];
  return { left, top, right: left + width * view.zoom, bottom: top + height * view.zoom };
}

function isWhole(box: Edges, area: Edges): boolean {
  return (
    box.left >= area.left &&
    box.top >= area.top &&
    box.right <= area.right &&
    box.bottom <= area.bottom
  );
}

function isLess(a: readonly number[], b: readonly number[]): boolean {
  const at = a.findIndex((value, index) => Math.abs(value - b[index]!) > 1e-9);
  return at >= 0 && a[at]! < b[at]!;
}
