// The operators as items of a list: what fits the place first, then what does not, and why.

import type { CompatibleOps, OperatorEntry } from "../views";
import type { CanvasStore, Place } from "./canvasStore";
import type { Item } from "./searchableList";

const DEVICES: Record<string, string> = { cpu: "CPU", gpu: "GPU", mixed: "MIX" };

/** Asks Python what fits a place. Returns how its answer will name that place. */
export function askCompatibleOps(store: CanvasStore, place: Place): string {
  if (place.do === "add_on") {
    store.link.ask("compatible_ops", { node: "", output: "", edge: place.edge });
    return place.edge;
  }
  const node = place.do === "add" ? place.after : place.node;
  const output = place.do === "add" ? imageOf(store, place.after) : place.output;
  store.link.ask("compatible_ops", { node, output, edge: "" });
  return node ? `${node}.${output}` : "";
}

/** The output behind which an operator is added: the picture's, where there is one. */
function imageOf(store: CanvasStore, id: string): string {
  const outputs = store.node(id)?.outputs ?? [];
  return (outputs.find(({ kind }) => kind === "image") ?? outputs[0])?.name ?? "";
}

export function addTo(store: CanvasStore, place: Place, op: string): void {
  const { link } = store;
  if (place.do === "add") link.ask("add", { op, after: place.after });
  else if (place.do === "add_on") link.ask("add_on", { op, edge: place.edge });
  else link.ask("branch", { op, node: place.node, output: place.output });
}

export function wherePlaced(store: CanvasStore, place: Place): string {
  if (!store.get().nodes.length) return "into an empty graph";
  if (place.do === "add") return place.after ? `after ${place.after}` : "at the end";
  if (place.do === "branch") return place.node ? `on ${place.node}.${place.output}` : "on its own";
  const edge = store.edge(place.edge);
  return edge ? `between ${edge.source} and ${edge.target || `output ${edge.input}`}` : "";
}

/** `asked` is the place that the reasons must be about. */
export function operatorItems(
  operators: readonly OperatorEntry[],
  compatibleOps: Partial<CompatibleOps>,
  asked: string,
): Item[] {
  const reasons = compatibleOps.place === asked ? (compatibleOps.reasons ?? {}) : {};
  const items = operators.map((op): Item => {
    const misfit = reasons[op.name] ?? "";
    const group = op.unusable ? "Not usable here" : misfit ? "Does not fit this place" : "Fits";
    return {
      id: op.name,
      name: op.name,
      chips: [...kinds(op), ...op.devices.map((device) => DEVICES[device] ?? device)],
      note: op.summary || op.label,
      group,
      reason: op.unusable || misfit,
      places: [
        { text: op.name, weight: 10 },
        { text: op.label, weight: 8 },
        { text: op.category, weight: 4 },
        { text: op.summary, weight: 2, prose: true },
        { text: op.words, weight: 1, prose: true },
      ],
    };
  });
  const order = ["Fits", "Does not fit this place", "Not usable here"];
  // What is made for just this kind, before what takes anything.
  const made = new Set(operators.filter((op) => op.inputs[0] === compatibleOps.kind).map((op) => op.name));
  const rank = (item: Item): number => 2 * order.indexOf(item.group) + Number(!made.has(item.id));
  return items.sort((a, b) => rank(a) - rank(b));
}

function kinds({ inputs, outputs }: OperatorEntry): string[] {
  const from = [...new Set(inputs)].join(" + ");
  const to = [...new Set(outputs)].join(" + ");
  return from || to ? [`${from}→${to}`.replace(/^→/, "→ ").replace("→", from ? " → " : "→ ")] : [];
}

/** What is chosen to put the selected nodes into an `if`. */
export const WRAP = ":if";

/** What can be made of the selected nodes. */
export function regionItems(selected: readonly string[]): Item[] {
  if (!selected.length) return [];
  return [
    {
      id: WRAP,
      name: "Put into an if",
      group: "Region",
      chips: [],
      note: `${selected.join(", ")} for some samples only`,
      reason: "",
      places: [
        { text: "if", weight: 12 },
        { text: "put into an if", weight: 8 },
        { text: "region condition chance probability branch", weight: 3 },
      ],
    },
  ];
}
