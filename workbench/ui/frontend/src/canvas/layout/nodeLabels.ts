// What a node says of itself in words.

import type { NodeEntry } from "../../payloads";

/** What the id says beyond the operator's name: `2` of `flip_2`, all of `left_view`. */
function besides({ id, op, title, twin }: NodeEntry): string {
  if (!op) return "";
  const last = op.split(".").at(-1) ?? op;
  const usual = [last, op.replaceAll(".", "_"), title];
  if (usual.includes(id) || (op.startsWith("readers.") && id === "reader")) return "";
  if (op.startsWith("decoders.") && id === "decode") return "";
  if (op.includes(id) && !twin) return "";
  const number = /^(.*)_(\d+)$/.exec(id);
  const word = number?.[1] ?? "";
  return word && ([...usual, "reader", "decode"].includes(word) || op.includes(word)) ? number![2]! : id;
}

/** Letters of a card's first line: a longer id stands beside the name only where names are equal. */
const ROOM = 26;

/** What stands beside the operator's name. */
export function beside(node: NodeEntry): string {
  const id = besides(node);
  if (node.bodies.length) return id;
  return node.twin || node.title.length + id.length <= ROOM ? id : "";
}

/** What a generator's pill says: its distribution, and what it draws from. */
export function drawWords({ op, output }: NodeEntry): [string, string] {
  const word = op.replace(/^random\./, "");
  return [word, output.startsWith(`${word} `) ? output.slice(word.length + 1) : output];
}

const SHORT = { cpu: "CPU", mixed: "CPU and GPU", gpu: "GPU" } as const;

/** What a screen reader says: first what one sees, in its order, then what is only in the tip. */
export function described(node: NodeEntry, lines: readonly string[]): string {
  const seen = node.generator
    ? drawWords(node)
    : [node.title, beside(node), ...lines, !node.known && "?", node.fault || node.note];
  const more = [
    node.generator && node.op,
    node.id,
    ...node.draws.map((draw) => draw.text),
    !node.op && node.label,
    SHORT[node.device],
    !node.known && (node.label ? "code" : "not an operator of this DALI"),
    node.fault && "faulty",
  ];
  return [seen.filter(Boolean).join(" "), ...more.filter(Boolean)].join(", ");
}

/** Nothing where the card itself says it all. */
export function tipOf(node: NodeEntry): string | undefined {
  const hidden = besides(node) !== beside(node) || node.values || node.draws.length > 1;
  if (!hidden && node.known && !node.fault && !node.generator) return undefined;
  const aside = node.label && node.label !== node.op ? `${node.id} · ${node.label}` : node.id;
  const lacking = node.label
    ? "It stands for code that the graph cannot hold, and is kept as it is."
    : "This DALI does not have it. It is kept as it is.";
  const opaque = node.known ? "" : lacking;
  const draws = node.draws.map((draw) => draw.text);
  return [`${node.title}\n\n${aside}`, node.output, node.values, ...draws, opaque, node.fault]
    .filter(Boolean)
    .join("\n");
}
