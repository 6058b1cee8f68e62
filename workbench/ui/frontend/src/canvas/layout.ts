// Where the cards stand and how the lines run: left to right, row under row.

import type { NodeEntry } from "../views";

export const CARD = { width: 148, height: 52, fault: 18, middle: 26 };
export const PILL = { height: 19, gap: 4, shown: 4 };
const GAP = { most: 44, least: 30 };
const MARGIN = { side: 20, bulge: 30, top: 14, bottom: 8 };
const CHANNEL = 17;

export interface Spot {
  x: number;
  y: number;
}

export interface Join {
  path: string;
  /** Where its `+` stands. */
  plus: Spot;
}

export interface Layout {
  cards: Spot[];
  /** The line that leaves each card; the last one leads to the output. */
  joins: Join[];
  /** Null where the last row has no room for it. */
  output: Spot | null;
  tall: number;
  /** From one card's left edge to the next one's. */
  pitch: number;
}

/** What the pills over a card say: all of its draws, or some and how many more there are. */
export function pills(node: NodeEntry): string[] {
  // Uniform is what "from … to" means; the other distributions keep their names.
  const draws = node.draws.map((draw) => draw.replace("~ uniform ", "~ ").replace(/-(?=\d)/g, "−"));
  if (draws.length <= PILL.shown) return draws;
  const kept = draws.slice(0, PILL.shown - 1);
  return [...kept, `${draws.length - kept.length} more`];
}

export function layout(nodes: readonly NodeEntry[], wide: number): Layout {
  const roomy = CARD.width + GAP.most;
  const oneRow = nodes.length < Math.floor((wide - 2 * MARGIN.side + GAP.most) / roomy);
  const side = oneRow ? MARGIN.side : MARGIN.bulge;
  const room = wide - 2 * side;
  const fits = Math.max(1, Math.floor((room + GAP.least) / (CARD.width + GAP.least)));
  const columns = oneRow ? nodes.length + 1 : fits;
  const pitch = Math.min(roomy, columns > 1 ? (room - CARD.width) / (columns - 1) : roomy);

  const cards: Spot[] = [];
  const floors: number[] = [];
  let top = MARGIN.top;
  for (let first = 0; first < nodes.length; first += columns) {
    const row = nodes.slice(first, first + columns);
    const over = Math.max(0, ...row.map((node) => pills(node).length));
    if (over) top += over * (PILL.height + PILL.gap) + 10;
    row.forEach((_, column) => cards.push({ x: side + column * pitch, y: top }));
    const fault = row.some((node) => node.fault) ? CARD.fault : 0;
    floors.push(top + CARD.height + fault);
    top += CARD.height + fault + 2 * CHANNEL;
  }

  // The output takes the place of one more card.
  const last = cards.at(-1);
  const output =
    last && nodes.length % columns ? { x: last.x + pitch, y: last.y + CARD.middle } : null;

  const joins = cards.map((card, index): Join => {
    const next = cards[index + 1];
    const from = { x: card.x + CARD.width, y: card.y + CARD.middle };
    const to = next ? { x: next.x, y: next.y + CARD.middle } : output;
    if (!to) return stub(from);
    const floor = (floors[Math.floor(index / columns)] ?? 0) + CHANNEL;
    return to.x > from.x ? straight(from, to) : around(from, to, floor);
  });
  const tall = (floors.at(-1) ?? 0) + MARGIN.bottom;
  return { cards, joins, output, tall, pitch };
}

/** To where only a `+` has room. */
function stub(from: Spot): Join {
  return { path: `M${from.x} ${from.y}h14`, plus: { x: from.x + 20, y: from.y } };
}

function straight(from: Spot, to: Spot): Join {
  const half = (to.x - from.x) / 2;
  return {
    path: `M${from.x} ${from.y}C${from.x + half} ${from.y},${to.x - half} ${to.y},${to.x} ${to.y}`,
    plus: { x: from.x + half, y: (from.y + to.y) / 2 },
  };
}

/** Out to the right, back through the channel under the row, and in from the left. */
function around(from: Spot, to: Spot, floor: number): Join {
  const right = from.x + 34;
  const left = to.x - 38;
  return {
    path:
      `M${from.x} ${from.y}C${right} ${from.y},${right} ${floor},${from.x - 30} ${floor}` +
      `L${to.x + 6} ${floor}C${left} ${floor},${left} ${to.y},${to.x} ${to.y}`,
    plus: { x: (from.x + to.x) / 2, y: floor },
  };
}
