// Sizes of boxes and positions of ports, in pixels at zoom 1.

import type { EdgeEntry, NodeEntry, PortEntry } from "../../payloads";
import type { DrawnEntry } from "./groups";
import { labelNextTo, randomValueText } from "./nodeLabels";

export const CARD = { width: 228, most: 340, height: 62, line: 114, fault: 18, bodies: 42 };
export const DRAW = { height: 24, least: 84, most: 200, letter: 6.7 };
export const PORT = { size: 11, gap: 24 };
/** Frame of a block: padding around its bodies, and height of its title. */
export const FRAME = { pad: 9, head: 32, button: 34 };
/**
 * Body in a frame: a bar for its inputs at the top, pills for its outputs. `gap` is the minimum
 * space below the bar.
 */
export const BODY = {
  pad: 9,
  rows: 30,
  gap: 12,
  line: 48,
  bar: { width: 128, height: 26 },
  output: { width: 86, height: 24 },
};
/** Width of picture, role and margins next to a card's name. */
const NAME_EXTRA = 80;
const NAME = '600 13px system-ui, "Segoe UI", Roboto, sans-serif';
const SMALL = '11px ui-monospace, Consolas, "DejaVu Sans Mono", monospace';
const TITLE = '600 11.5px system-ui, "Segoe UI", Roboto, sans-serif';
const FRAME_MOST = 320;
/** Width of a letter in an output's pill. */
const LETTER = 6.7;

export interface Point {
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
}

export type Side = "top" | "bottom";

/** Position of a port in its box, and its side. */
export interface Socket extends Point {
  side: Side;
}

/** Size of a block or of a part of a block, which depends on its contents. */
export interface BlockSize extends Size {
  /** Horizontal position of the first port. */
  line: number;
  /** Bodies of a frame. */
  rects?: readonly (Point & Size & { scope: string })[];
}

/** Node with its size. */
export type DrawnNode = DrawnEntry & { place?: BlockSize };

/** Id of an output's box, which is also the id of its edge: `:images`, `branch.then:images`. */
export const outputId = (name: string): string => `:${name}`;
/** Return whether an id belongs to an output. Node ids contain no dot. */
export const isOutput = (id: string): boolean => /^([^:]*\.[^:]*)?:/.test(id);
/** Return the body and the name of an output. */
export function outputOf(id: string): { scope: string; name: string } {
  const at = id.indexOf(":");
  return { scope: id.slice(0, at), name: id.slice(at + 1) };
}

export function sizeOf(node: DrawnNode): Size {
  if (node.place) return node.place;
  if (node.generator) return { width: drawWidth(node), height: DRAW.height };
  const below =
    (node.fault || node.note ? CARD.fault : 0) + (node.bodies.length ? CARD.bodies : 0);
  return { width: cardWidth(node), height: CARD.height + below };
}

/** Return the width of a card: the width of its name, which is never truncated. */
function cardWidth(node: NodeEntry): number {
  const id = labelNextTo(node);
  const name = textWidth(node.title, NAME) + (id ? textWidth(id, SMALL) + 6 : 0);
  return Math.ceil(Math.min(CARD.most, Math.max(CARD.width, name + NAME_EXTRA)));
}

/** Return the size of the pill at the end of an edge. */
export function outputSize(edge: EdgeEntry): Size {
  if (outputOf(edge.id).scope) return BODY.output;
  const name = edge.input;
  return { width: Math.round(72 + Math.min(name.length, 16) * LETTER), height: 24 };
}

/** Return the width of a frame's title, including the branch that ran. */
export function titleWidth({ title, id, bodies }: NodeEntry): number {
  const longest = bodies.reduce((long, { name }) => (name.length > long.length ? name : long), "");
  return Math.min(FRAME_MOST, textWidth(`${title} · ${longest} ran`, TITLE) + textWidth(id, SMALL) + 12);
}

function drawWidth(node: NodeEntry): number {
  const letters = randomValueText(node).join(" ").length;
  return Math.round(Math.min(DRAW.most, Math.max(DRAW.least, 42 + letters * DRAW.letter)));
}

/** Return the x position of a box's first port, through which chains run straight. */
export function lineOf(node: DrawnNode | null, width: number): number {
  if (node?.place) return node.place.line;
  return node && !node.generator ? CARD.line : width / 2;
}

/** Return the visible inputs of a node; a generator shows only connected ones. */
export function drawnInputs(node: NodeEntry): PortEntry[] {
  return node.generator ? node.inputs.filter((port) => port.fed) : node.inputs;
}

/** Return the position of an input: at the upper edge, arguments after positional inputs. */
export function inputSocket(node: DrawnNode, name: string): Socket {
  const ports = drawnInputs(node).map((port) => port.name);
  return { x: portOffset(node, ports, name), y: 0, side: "top" };
}

/** Return the position of an output: at the lower edge. */
export function outputSocket(node: DrawnNode, name: string): Socket {
  const ports = node.outputs.map((port) => port.name);
  return { x: portOffset(node, ports, name), y: sizeOf(node).height, side: "bottom" };
}

/** Return the position of the input of an output's pill. */
export function pillSocket(edge: EdgeEntry): Socket {
  return { x: outputSize(edge).width / 2, y: 0, side: "top" };
}

function portOffset(node: DrawnNode, names: readonly string[], name: string): number {
  const at = Math.max(0, names.indexOf(name));
  const { width } = sizeOf(node);
  if (node.generator) return width / 2 + at * PORT.gap;
  const first = node.place?.line ?? CARD.line;
  if (first + (names.length - 1) * PORT.gap <= width - 18) return first + at * PORT.gap;
  return 18 + at * Math.min(PORT.gap, (width - 36) / (names.length - 1));
}

/** Return the end point of an edge: the outer edge of the port. */
export function edgePoint(box: Point, socket: Socket): Point {
  const out = PORT.size / 2;
  return { x: box.x + socket.x, y: box.y + socket.y + (socket.side === "top" ? -out : out) };
}

/** Cache of text widths by font and text. */
const widths = new Map<string, number>();
let context: CanvasRenderingContext2D | null = null;

/** Return the width of a text in pixels; `font` is a CSS value. */
function textWidth(text: string, font: string): number {
  const key = `${font} ${text}`;
  const found = widths.get(key);
  if (found !== undefined) return found;
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return text.length * 8;
  context.font = font;
  const { width } = context.measureText(text);
  widths.set(key, width);
  return width;
}
