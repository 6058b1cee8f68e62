// Items of the search. Pure functions, tested without a browser.

import type { Searchable } from "../../lib/ranking";
import type {
  ArgumentSearchEntry,
  CompatibleOps,
  NodeEntry,
  OperatorEntry,
  RecipeLine,
  TemplateEntry,
} from "../../payloads";

export interface Item extends Searchable {
  id: string;
  /** Labels at the right: kinds, devices. */
  chips: readonly string[];
  note: string;
  group: string;
  /** True if the item replaces the whole graph, which must be confirmed. */
  replaces?: boolean | undefined;
}

export const PREFIXES = {
  /** Wraps the selected nodes in a block. */
  block: ":",
  template: "template:",
  argument: "argument:",
  recipe: "recipe:",
  command: "command:",
  node: "node:",
  folder: "folder:",
  /** Adds an operator together with a fix. */
  fix: "fix:",
} as const;

const DEVICES: Record<string, string> = { cpu: "CPU", gpu: "GPU", mixed: "MIX" };
const FITS = "Fits here";
const SOURCES = "Sources";
const REPAIRED = "Fits after adding a node";
const MISFIT = "Does not fit here";
const UNUSABLE = "Not supported";
const SELECT_TWO = "select two nodes first, the second with Shift-click";
const WEIGHTS = { operator: 3, command: 2, argument: 2, recipe: 1, node: 1, folder: 0 };
/** Weight of operators made for the kind of data at this place. */
const MADE_FOR = 0.5;
/** Usual first nodes, listed first among sources and decoders. */
const USUAL = ["readers.file", "decoders.image"];

/** Return the items of operators. `asked` is the place to which the reasons must refer. */
export function operatorItems(
  operators: readonly OperatorEntry[],
  compatibleOps: Partial<CompatibleOps>,
  asked: string,
): Item[] {
  const reasons = compatibleOps.place === asked ? (compatibleOps.reasons ?? {}) : {};
  const made = (op: OperatorEntry): boolean => op.inputs[0] === compatibleOps.kind;
  const source = (op: OperatorEntry): boolean => op.category === "source";
  return operators.flatMap((op) => {
    const misfit = reasons[op.name] ?? "";
    const item = {
      id: op.name,
      name: op.name,
      label: op.label,
      synonyms: op.synonyms,
      prose: `${op.category} ${op.summary} ${op.words}`,
      weight:
        WEIGHTS.operator +
        MADE_FOR * Number(made(op) || (!compatibleOps.kind && source(op))) +
        MADE_FOR * 0.01 * Number(USUAL.includes(op.name)),
      chips: [...kinds(op), ...op.devices.map((device) => DEVICES[device] ?? device)],
      note: op.summary || op.label,
      group: op.unusable ? UNUSABLE : misfit ? MISFIT : source(op) ? SOURCES : FITS,
      reason: op.unusable || misfit,
    };
    return repairedItems(item, misfit ? compatibleOps.fixes?.[op.name] : undefined);
  });
}

/** Return an item per fix, in place of the item with the reason. */
function repairedItems(item: Item, fixes: readonly string[] = []): Item[] {
  if (!fixes.length) return [item];
  const made = (fix: string): Item => ({ ...item, id: fixId(item.id, fix), fix, reason: "", group: REPAIRED });
  return fixes.map(made);
}

const fixId = (id: string, fix: string): string => `${PREFIXES.fix}${fix}:${id}`;

/** Return the operator that an item adds, and the fix. */
export function fixOf({ id, fix = "" }: Item): { id: string; fix: string } {
  return { id: fix ? id.slice(PREFIXES.fix.length + fix.length + 1) : id, fix };
}

function kinds({ inputs, outputs }: OperatorEntry): string[] {
  const from = [...new Set(inputs)].join(" + ");
  const to = [...new Set(outputs)].join(" + ");
  return from || to ? [`${from}→${to}`.replace(/^→/, "→ ").replace("→", from ? " → " : "→ ")] : [];
}

export function templateItems(
  templates: readonly TemplateEntry[],
  compatibleOps: Partial<CompatibleOps>,
  asked: string,
  /** True if there is a second image to mix. */
  second = false,
): Item[] {
  const reasons = compatibleOps.place === asked ? (compatibleOps.reasons ?? {}) : {};
  return templates.flatMap((template) => {
    const { nodes } = template;
    const alone = template.mixes && !second ? SELECT_TWO : "";
    const misfit = alone || (reasons[template.name] ?? "");
    const item = {
      id: PREFIXES.template + template.name,
      name: template.name,
      label: template.label,
      synonyms: template.synonyms,
      firstFor: template.first_for,
      prose: `${template.summary} ${nodes.join(" ")}`,
      weight: WEIGHTS.operator + MADE_FOR * Number(compatibleOps.kind === "image"),
      chips: [nodes.length > 1 ? `${nodes.length} nodes` : nodes[0]!],
      note: template.summary,
      group: misfit ? MISFIT : FITS,
      reason: misfit,
    };
    return repairedItems(item, misfit && !alone ? compatibleOps.fixes?.[template.name] : undefined);
  });
}

/** Return the items of snippets saved by the user. */
export function snippetItems(snippets: readonly TemplateEntry[]): Item[] {
  return templateItems(snippets, {}, "").map((item) => ({
    ...item,
    name: item.label ?? item.name,
    label: "",
    chips: ["snippet", ...item.chips],
  }));
}

/** Return the items of blocks in which the selected nodes can be wrapped. */
export function blockItems(blocks: readonly OperatorEntry[], selected: readonly string[]): Item[] {
  return blocks.map((block) => ({
    id: PREFIXES.block + block.name,
    name: block.name,
    label: block.label,
    synonyms: block.synonyms,
    prose: block.summary,
    weight: WEIGHTS.operator,
    chips: ["block"],
    note: `Put ${selected.join(", ")} into ${block.name}. ${block.summary}`,
    group: selected.length ? "Block" : MISFIT,
    reason: selected.length ? "" : "select the nodes that should run only for some samples",
  }));
}

/** Return the items of recipes. If the graph is `empty`, they are listed after the sources. */
export function recipeItems(recipes: readonly RecipeLine[], empty = false): Item[] {
  return recipes.map(({ name, line }) => ({
    id: PREFIXES.recipe + name,
    name,
    label: name.replaceAll("-", " "),
    prose: line,
    weight: empty ? WEIGHTS.operator + MADE_FOR / 2 : WEIGHTS.recipe,
    chips: ["recipe"],
    note: line,
    group: empty ? "Recipes" : "Recipes: replace the graph",
    reason: "",
    replaces: !empty,
  }));
}

export function argumentItems(node: string, args: readonly ArgumentSearchEntry[]): Item[] {
  return args.map(({ name, label, summary }) => ({
    id: PREFIXES.argument + name,
    name,
    label,
    prose: summary,
    weight: WEIGHTS.argument,
    chips: [node],
    note: summary || label,
    group: "Arguments",
    reason: "",
  }));
}

export function nodeItems(nodes: readonly NodeEntry[]): Item[] {
  return nodes.map(({ id, op, label }) => ({
    id: PREFIXES.node + id,
    name: id,
    label: op === id ? "" : op,
    prose: label,
    weight: WEIGHTS.node,
    chips: ["node"],
    note: op === id ? "Go to node" : `Go to node: ${op}`,
    group: "Nodes",
    reason: "",
  }));
}

export function folderItems(folders: readonly string[]): Item[] {
  return folders.map((path) => ({
    id: PREFIXES.folder + path,
    name: path.split("/").filter(Boolean).at(-1) ?? path,
    label: path,
    weight: WEIGHTS.folder,
    chips: ["folder"],
    note: path,
    group: "Recent folders",
    reason: "",
  }));
}

/** Command: name, keyboard shortcut, and synonyms. */
export interface Command {
  id: string;
  name: string;
  keys?: string;
  note: string;
  synonyms: readonly string[];
  /** Queries for which the command is the first result. */
  firstFor?: readonly string[];
  /** True if the command replaces the whole graph. */
  replaces?: boolean | undefined;
}

export function commandItems(commands: readonly Command[]): Item[] {
  return commands.map(({ id, name, keys, note, synonyms, firstFor = [], replaces }) => ({
    id: PREFIXES.command + id,
    name,
    synonyms,
    firstFor,
    weight: WEIGHTS.command,
    chips: keys ? [keys] : ["command"],
    note,
    group: "Commands",
    reason: "",
    replaces,
  }));
}
