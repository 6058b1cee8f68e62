// List items for ports, edges and random values.

import type { EdgeEntry, NodeEntry, ConnectTargets } from "../../payloads";
import { ALIGNMENTS } from "../state/alignment";
import { outputId } from "../layout/geometry";
import type { Item } from "../search/searchItems";

/** Id of the item for automatic layout. */
const AUTOMATIC = "automatic";
/** Id of the item for a new output with a free name. */
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

/** Return the outputs of a node that can be connected. */
export function outputItems(node: NodeEntry): Item[] {
  return node.outputs.map(({ name, kind, flows }) =>
    item(name, `${node.id}.${name}`, "Which output?", { chips: [kind], note: flows }),
  );
}

/** Return the inputs that an output can be connected to, then all others with the reason. */
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
    if (!node) return []; // the node has no card
    const port = node.inputs.find((entry) => entry.name === input);
    const group = reason ? "Cannot connect" : "Can connect";
    const chips = port ? [port.kind] : ["argument"];
    return [
      item(id, `${target}.${input}`, group, {
        chips,
        note: node.op === target ? "" : node.op,
        reason,
      }),
    ];
  });
  // Ports before arguments, which may be numerous.
  const order = ({ reason, chips }: Item): number =>
    2 * Number(!!reason) + Number(chips[0] === "argument");
  found.sort((a, b) => order(a) - order(b));
  if (only) return found;
  const names = edges.filter((edge) => !edge.target).map((edge) => edge.input);
  return [
    item(NEW_OUTPUT, "new output of the graph", "Can connect", { chips: ["output"] }),
    ...found.filter(({ reason, chips }) => !reason && chips[0] !== "argument"),
    ...names.map((name) =>
      item(outputId(name), `output ${name}`, "Can connect", { note: "replaces its current connection" }),
    ),
    ...found.filter(({ reason, chips }) => reason || chips[0] === "argument"),
  ];
}

/** Return the outputs that can be connected to an input. */
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
    ...into.map((edge) => made(edge, "Inputs")),
    ...out.map((edge) => made(edge, "Outputs")),
  ];
}

/** Return the alignments for `count` boxes, and automatic layout. */
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
    item(arg, arg, "Which random value?", { note: text }),
  );
}
