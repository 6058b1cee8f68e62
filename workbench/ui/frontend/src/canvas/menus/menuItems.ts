// Ports, edges and draws as items of a list.

import type { EdgeEntry, NodeEntry, ConnectTargets } from "../../payloads";
import { ALIGNMENTS } from "../state/alignment";
import { outputId } from "../layout/geometry";
import type { Item } from "../search/searchItems";

/** What is chosen to have everything laid out anew. */
const AUTOMATIC = "automatic";
/** What is chosen to give a port out under a free name. */
export const NEW_OUTPUT = ":";

function item(id: string, name: string, group: string, rest: Partial<Item> = {}): Item {
  return {
    id,
    name,
    group,
    chips: [],
    note: "",
    reason: "",
    ...rest,
  };
}

/** The outputs of a node, of which one is to be connected. */
export function outputItems(node: NodeEntry): Item[] {
  return node.outputs.map(({ name, kind, flows }) =>
    item(name, `${node.id}.${name}`, "Which output?", { chips: [kind], note: flows }),
  );
}

/** Every place that an output may feed, then those that it may not, with the reason. */
export function offerItems(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
  connectTargets: Partial<ConnectTargets>,
  only = "",
): Item[] {
  const found = Object.entries(connectTargets.reasons ?? {}).flatMap(([id, reason]) => {
    const at = id.indexOf(":");
    const [target, input] = [id.slice(0, at), id.slice(at + 1)];
    if (only ? target !== only : target === connectTargets.source?.replace(/\.[^.]*$/, "")) return [];
    const node = nodes.find((entry) => entry.id === target);
    if (!node) return []; // folded into another
    const port = node.inputs.find((entry) => entry.name === input);
    const group = reason ? "Cannot feed" : "Can feed";
    const chips = port ? [port.kind] : ["argument"];
    return [
      item(id, `${target}.${input}`, group, {
        chips,
        note: node.op === target ? "" : node.op,
        reason,
      }),
    ];
  });
  // Ports before arguments, of which some operators have many.
  const order = ({ reason, chips }: Item): number =>
    2 * Number(!!reason) + Number(chips[0] === "argument");
  found.sort((a, b) => order(a) - order(b));
  if (only) return found;
  const names = edges.filter((edge) => !edge.target).map((edge) => edge.input);
  return [
    item(NEW_OUTPUT, "a new output of the graph", "Can feed", { chips: ["output"] }),
    ...found.filter(({ reason, chips }) => !reason && chips[0] !== "argument"),
    ...names.map((name) =>
      item(outputId(name), `output ${name}`, "Can feed", { note: "in place of what feeds it now" }),
    ),
    ...found.filter(({ reason, chips }) => reason || chips[0] === "argument"),
  ];
}

/** The outputs of a node, to feed an input from behind. */
export function edgeItems(id: string, edges: readonly EdgeEntry[]): Item[] {
  const into = edges.filter((edge) => edge.target === id);
  const out = edges.filter((edge) => edge.source === id);
  const made = (edge: EdgeEntry, group: string): Item =>
    item(
      edge.id,
      `${edge.source}.${edge.output} → ${edge.target ? `${edge.target}.${edge.input}` : `output ${edge.input}`}`,
      group,
      { chips: [edge.kind], note: edge.crosses },
    );
  return [
    ...into.map((edge) => made(edge, "Into it")),
    ...out.map((edge) => made(edge, "Out of it")),
  ];
}

/** How so many boxes may be aligned, and the way back. */
export function alignmentItems(count: number): Item[] {
  return [
    ...ALIGNMENTS.map(({ how, label, least }) =>
      item(how, label, "Selected", { reason: count < least ? `select ${least} or more` : "" }),
    ),
    item(AUTOMATIC, "Back to automatic layout", "Everything"),
  ];
}

export function drawItems(node: NodeEntry): Item[] {
  return node.draws.map(({ arg, text }) =>
    item(arg, arg, "Show which generator as a node?", { note: text }),
  );
}
