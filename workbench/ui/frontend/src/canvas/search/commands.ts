// The commands that the search knows, and what each does: asks Python, or presses the control of
// another component of the same workbench, so that no command is written twice.

import { controlOf } from "../../lib/siblings";
import { align, ALIGNMENTS } from "../state/alignment";
import { showPalette } from "../state/paletteVisibility";
import {
  addElif,
  arrange,
  branch,
  chooseChain,
  chooseOneOf,
  chooseSomeOf,
  copyCode,
  duplicate,
  remove,
  repeat,
  saveSnippet,
  showTargets,
  unwrap,
  wrap,
} from "../state/actions";
import type { CanvasStore } from "../state/canvasStore";
import type { Command } from "./searchItems";

interface Run extends Command {
  run: (store: CanvasStore) => void;
  /** The control that it presses: it is offered only where that is on the page. */
  control?: readonly [component: string, selector: string];
  /** How many selected nodes it takes. */
  selected?: number;
}

function press(
  id: string,
  name: string,
  control: readonly [string, string],
  note: string,
  synonyms: readonly string[],
  keys?: string,
): Run {
  const run = (store: CanvasStore): void => controlOf(store.dom.root, ...control)?.click();
  return { id, name, note, synonyms, control, run, ...(keys ? { keys } : {}) };
}

function measure(what: string, name: string, note: string, synonyms: readonly string[]): Run {
  const run = (store: CanvasStore): void => {
    controlOf(store.dom.root, "tabs", "[data-tab=speed]")?.click();
    store.link.ask("measure", { what });
  };
  return { id: `measure-${what}`, name, note, synonyms, run };
}

function tab(name: string, note: string, synonyms: readonly string[]): Run {
  return press(`show-${name}`, `Show ${name}`, ["tabs", `[data-tab=${name}]`], note, synonyms);
}

const MASKS = ["mask", "masks", "segmentation", "pixelwise_masks", "follow_masks"];

const COMMANDS: readonly Run[] = [
  {
    id: "undo",
    name: "Undo",
    keys: "Ctrl Z",
    note: "Take the last edit back",
    synonyms: ["back", "revert", "take back"],
    run: (store) => void store.link.ask("undo", {}),
  },
  {
    id: "redo",
    name: "Redo",
    keys: "Ctrl Shift Z",
    note: "Make the edit again that was taken back",
    synonyms: ["again", "forward"],
    run: (store) => void store.link.ask("redo", {}),
  },
  {
    id: "verify",
    name: "Verify",
    note: "Compare the preview with the exported script, bit for bit",
    synonyms: ["check export", "compare with script", "bit for bit", "prove"],
    run: (store) => void store.link.ask("verify", {}),
  },
  measure("compare", "Benchmark", "Measure CPU against mixed", [
    ...["bench", "speed", "measure", "throughput", "images per second", "CPU against GPU", "how fast"],
  ]),
  measure("stages", "Measure each operator", "Where the time goes", ["profile", "bottleneck", "stages", "slowest"]),
  measure("threads", "Measure threads", "Speed by the number of threads", ["scaling", "num_threads"]),
  measure("peers", "Measure other libraries", "The same pipeline in torchvision and Albumentations", ["peers", "compare libraries"]),
  press("export", "Export the script", ["bar", "[data-wb=export]"], "Write the Python script", [
    ...["export", "python", "save script", "generate code", "write code"],
  ]),
  press("save", "Save the graph", ["bar", "[data-wb=save]"], "Write the graph's JSON", ["save", "store", "json"], "Ctrl S"),
  press("open", "Open a graph", ["bar", "[data-wb=open]"], "A file, a text or recent work", ["open", "load", "import", "recent"]),
  press("share", "Share", ["bar", "[data-wb=share]"], "A picture that carries the graph, or a link", ["link", "picture", "send"]),
  press("faults", "Show faults", ["bar", "[data-wb=status]"], "What is wrong, and what can be done", ["errors", "problems", "status", "fix"]),
  {
    id: "new",
    name: "New graph",
    note: "Start with an empty graph; undo returns to this one",
    synonyms: ["empty graph", "clear", "reset", "start over"],
    replaces: true,
    run: (store) => void store.link.ask("new", {}),
  },
  tab("preview", "The pictures", ["pictures", "images", "see"]),
  tab("speed", "What was measured", ["records", "tune", "tuner", "measurements"]),
  tab("code", "The graph as code for a target", ["targets", "pytorch", "lightning", "triton", "source"]),
  tab("data", "What is read", ["dataset", "folder", "classes", "files", "open folder"]),
  {
    id: "arrange",
    name: "Arrange",
    keys: "L",
    note: "Lay the graph out anew",
    synonyms: ["auto layout", "automatic layout", "tidy", "layout"],
    run: arrange,
  },
  ...ALIGNMENTS.map(({ how, label, least }) => ({
    id: `align-${how}`,
    name: label,
    note: `The selected nodes: ${least} or more`,
    synonyms: how === "across" || how === "down" ? ["spacing", "space evenly"] : ["line up"],
    selected: least,
    run: (store: CanvasStore) => align(store, how),
  })),
  {
    id: "copy-code",
    name: "Copy as code",
    keys: "Shift C",
    note: "The selected nodes, or all, as lines of Python on the clipboard",
    synonyms: ["copy python", "python lines", "snippet", "clipboard"],
    run: copyCode,
  },
  {
    id: "save-snippet",
    name: "Save as a snippet",
    keys: "S",
    note: "The selected nodes under a name, to be put into any graph; Delete in the list removes one",
    synonyms: ["reuse", "my snippets", "block", "macro", "group", "preset", "remove snippet"],
    selected: 1,
    run: saveSnippet,
  },
  {
    id: "palette",
    name: "Palette of operators",
    keys: "P",
    note: "All operators by category, to drag from",
    synonyms: ["operators", "categories", "browse", "catalogue", "toolbox"],
    run: (store) => showPalette(store),
  },
  {
    id: "branch",
    name: "Branch from here",
    keys: "Y",
    note: "Add an operator that the selected node feeds too",
    synonyms: ["fork", "split", "parallel", "second view", "tee"],
    firstFor: ["branch", "fork"],
    selected: 1,
    run: branch,
  },
  {
    id: "duplicate",
    name: "Duplicate",
    keys: "Ctrl D",
    note: "Copies of the selected nodes",
    synonyms: ["copy node"],
    selected: 1,
    run: duplicate,
  },
  {
    id: "remove",
    name: "Remove",
    keys: "Delete",
    note: "The selected nodes and edges",
    synonyms: ["delete", "cut"],
    selected: 1,
    run: remove,
  },
  {
    id: "wrap",
    name: "Apply with probability",
    keys: "I",
    note: "Put the selected nodes into an if: they run for some samples only",
    synonyms: ["wrap", "put into an if", "sometimes", "apply with p", "RandomApply"],
    selected: 1,
    run: (store) => wrap(store),
  },
  ...(
    [
      ["label", "Apply by class", "Where the label is one of some classes", ["label is", "class", "per class"]],
      ["size", "Apply by size", "Where the image is large or small, wide or tall", ["size is", "height", "width", "aspect"]],
      ["comparison", "Apply by comparison", "Where a number of the graph is more or less", ["condition", "less than", "threshold"]],
    ] as const
  ).map(([kind, name, note, synonyms]) => ({
    id: `wrap-${kind}`,
    name,
    note: `${note}, the selected nodes run`,
    synonyms: [...synonyms, "if"],
    selected: 1,
    run: (store: CanvasStore) => wrap(store, "if", false, kind),
  })),
  {
    id: "add-elif",
    name: "Add an elif",
    note: "A second condition, asked where that of the selected if does not hold",
    synonyms: ["else if", "another condition", "case"],
    selected: 1,
    run: addElif,
  },
  {
    id: "one-of",
    name: "One of the selected",
    keys: "B",
    note: "One of the selected nodes runs for each sample, with weights",
    synonyms: ["one of", "OneOf", "RandomChoice", "choose one", "weights"],
    selected: 1,
    run: chooseOneOf,
  },
  {
    id: "one-option",
    name: "One option of the selected",
    keys: "Shift G",
    note: "All selected nodes are one option, beside one that changes nothing",
    synonyms: ["group", "option", "chain", "one of", "Compose"],
    selected: 1,
    run: chooseChain,
  },
  {
    id: "some-of",
    name: "Some of the selected",
    keys: "Shift B",
    note: "So many of the selected nodes run for each sample, in order or shuffled",
    synonyms: ["some of", "SomeOf", "RandomOrder", "k of n", "shuffle"],
    selected: 1,
    run: chooseSomeOf,
  },
  {
    id: "repeat",
    name: "Repeat",
    keys: "R",
    note: "The selected nodes run again and again",
    synonyms: ["loop", "for", "n times", "again"],
    selected: 1,
    run: repeat,
  },
  {
    id: "masks",
    name: "Give out masks",
    note: "The masks of the annotations are an output, and follow the image",
    synonyms: [...MASKS, "masks follow the image", "outlines", "instances"],
    run: (store) => void store.link.ask("give_masks", {}),
  },
  {
    id: "targets",
    name: "Hide or show targets",
    keys: "T",
    note: "Boxes, points and masks over the pictures and on the cards",
    synonyms: ["annotations", "boxes", "masks", "key points", "overlay", "marks"],
    run: showTargets,
  },
  {
    id: "unwrap",
    name: "Take out of the block",
    keys: "Shift I",
    note: "In place of the block, what stands in it",
    synonyms: ["unwrap", "dissolve"],
    selected: 1,
    run: unwrap,
  },
];

/** Those that can be carried out now. */
export function commandsNow(store: CanvasStore): readonly Command[] {
  const { selected, unread_masks } = store.get();
  const offered = COMMANDS.filter(
    ({ selected: least = 0, control }) =>
      selected.length >= least && (!control || controlOf(store.dom.root, ...control)),
  );
  return offered.map((each) => (each.id === "masks" && unread_masks ? { ...each, firstFor: MASKS } : each));
}

export function runCommand(store: CanvasStore, id: string): void {
  COMMANDS.find((command) => command.id === id)?.run(store);
}
