// Labels of nodes.

import type { NodeEntry } from "../../payloads";

/** Return the part of an id that is not the operator's name: `2` in `flip_2`, or `left_view`. */
function idSuffix({ id, op, title, twin }: NodeEntry): string {
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

/** Letters in a card's first line. A longer id is only shown if another node has the same name. */
const ROOM = 26;

/** Return the text next to the operator's name. */
export function labelNextTo(node: NodeEntry): string {
  const id = idSuffix(node);
  if (node.bodies.length) return id;
  return node.twin || node.title.length + id.length <= ROOM ? id : "";
}

/** Return the text of a generator's pill: distribution and parameters. */
export function randomValueText({ op, output }: NodeEntry): [string, string] {
  const word = op.replace(/^random\./, "");
  return [word, output.startsWith(`${word} `) ? output.slice(word.length + 1) : output];
}

const SHORT = { cpu: "CPU", mixed: "CPU and GPU", gpu: "GPU" } as const;

/** Return the screen reader text: the visible text in its order, then the tooltip. */
export function described(node: NodeEntry, lines: readonly string[]): string {
  const seen = node.generator
    ? randomValueText(node)
    : [node.title, labelNextTo(node), ...lines, !node.known && "?", node.fault || node.note];
  const more = [
    node.generator && node.op,
    node.id,
    ...node.draws.map((draw) => draw.text),
    !node.op && node.label,
    SHORT[node.device],
    !node.known && (node.label ? "code" : "not an operator of the installed DALI"),
    node.fault && "faulty",
  ];
  return [seen.filter(Boolean).join(" "), ...more.filter(Boolean)].join(", ");
}

/** Return the tooltip; undefined if the card shows all text. */
export function tipOf(node: NodeEntry): string | undefined {
  const hidden = idSuffix(node) !== labelNextTo(node) || node.values || node.draws.length > 1;
  if (!hidden && node.known && !node.fault && !node.generator) return undefined;
  const aside = node.label && node.label !== node.op ? `${node.id} · ${node.label}` : node.id;
  const lacking = node.label
    ? "This node represents code that a graph cannot express. It cannot be edited."
    : "The installed DALI does not have this operator. The node cannot be edited.";
  const opaque = node.known ? "" : lacking;
  const draws = node.draws.map((draw) => draw.text);
  return [`${node.title}\n\n${aside}`, node.output, node.values, ...draws, opaque, node.fault]
    .filter(Boolean)
    .join("\n");
}
