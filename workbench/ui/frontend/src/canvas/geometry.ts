// How large the boxes are, and where their ports sit. All in pixels at zoom 1.

import type { NodeEntry, PortEntry } from "../views";

export const CARD = { width: 148, height: 54, fault: 18, bodies: 32 };
export const PILL = { height: 20, gap: 4, shown: 2, stem: 9 };
export const DRAW = { height: 24, least: 84, most: 200, letter: 6.4 };
export const PORT = 11;
/** What an output's name adds to its pill. */
const LETTER = 6.7;

export interface Point {
  x: number;
  y: number;
}

export interface Size {
  width: number;
  height: number;
  /** What stands over the card: the pills of its folded draws. */
  over: number;
}

export type Side = "left" | "right" | "top" | "bottom";

/** A port's place in its box, and the side on which it sits. */
export interface Socket extends Point {
  side: Side;
}

/** The id of an output's box. */
export const outputId = (name: string): string => `:${name}`;
export const isOutput = (id: string): boolean => id.startsWith(":");

export function sizeOf(node: NodeEntry): Size {
  if (node.generator) return { width: drawWidth(node), height: DRAW.height, over: 0 };
  const most = Math.max(positional(node).length, node.outputs.length);
  const height = Math.max(CARD.height, most > 3 ? 2 * 13 + (most - 1) * 14 : 0);
  const pills = Math.min(node.draws.length, PILL.shown);
  return {
    width: CARD.width,
    height:
      height + (node.fault || node.note ? CARD.fault : 0) + (node.bodies.length ? CARD.bodies : 0),
    over: pills ? pills * (PILL.height + PILL.gap) - PILL.gap + PILL.stem : 0,
  };
}

export function outputSize(name: string): Size {
  return { width: Math.round(72 + Math.min(name.length, 16) * LETTER), height: 24, over: 0 };
}

/** What a generator's pill says: its distribution, and what it draws from. */
export function drawWords({ op, output }: NodeEntry): [string, string] {
  const word = op.replace(/^random\./, "");
  return [word, output.startsWith(`${word} `) ? output.slice(word.length + 1) : output];
}

function drawWidth(node: NodeEntry): number {
  const letters = drawWords(node).join(" ").length;
  return Math.round(Math.min(DRAW.most, Math.max(DRAW.least, 42 + letters * DRAW.letter)));
}

export function positional(node: NodeEntry): PortEntry[] {
  return node.inputs.filter((port) => !port.argument);
}

/** The inputs that are drawn: a generator's own only where they are fed. */
export function drawnInputs(node: NodeEntry): PortEntry[] {
  return node.generator ? node.inputs.filter((port) => port.fed) : node.inputs;
}

/** Where an input sits: positional ones on the left, arguments on top. */
export function inputSocket(node: NodeEntry, name: string): Socket {
  const port = node.inputs.find((input) => input.name === name);
  if (node.generator) return { x: 0, y: DRAW.height / 2, side: "left" };
  if (port?.argument) {
    const at = node.inputs.filter((input) => input.argument).indexOf(port);
    return { x: 24 + 18 * at, y: 0, side: "top" };
  }
  const ports = positional(node);
  const at = Math.max(
    0,
    ports.findIndex((input) => input.name === name),
  );
  return { x: 0, y: rung(at, ports.length), side: "left" };
}

/** Where an output sits: on the right, and under a generator that feeds arguments. */
export function outputSocket(node: NodeEntry, name: string): Socket {
  if (node.generator) return { x: 20, y: DRAW.height, side: "bottom" };
  const at = Math.max(
    0,
    node.outputs.findIndex((output) => output.name === name),
  );
  return { x: CARD.width, y: rung(at, node.outputs.length), side: "right" };
}

/** The first of one or two ports sits in the middle, so that a chain runs straight. */
function rung(at: number, count: number): number {
  return count <= 2 ? 27 + 16 * at : 13 + 14 * at;
}

/** Where an edge begins or ends: at the outer rim of the port. */
export function rim(box: Point, socket: Socket): Point {
  const out = PORT / 2;
  const dx = { left: -out, right: out, top: 0, bottom: 0 }[socket.side];
  const dy = { left: 0, right: 0, top: -out, bottom: out }[socket.side];
  return { x: box.x + socket.x + dx, y: box.y + socket.y + dy };
}
