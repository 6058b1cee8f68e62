// Commands of the search. Each sends a request to Python, or presses a control of another component
// of the workbench, so that no command is implemented twice.

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
  /** Control that the command presses; the command is only available if it is on the page. */
  control?: readonly [component: string, selector: string];
  /** Number of selected nodes that the command requires. */
  selected?: number;
}

function buttonCommand(
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

function tabCommand(name: string, note: string, synonyms: readonly string[]): Run {
  return buttonCommand(`show-${name}`, `Show ${name}`, ["tabs", `[data-tab=${name}]`], note, synonyms);
}

const MASKS = ["mask", "masks", "segmentation", "pixelwise_masks", "follow_masks"];

const COMMANDS: readonly Run[] = [
  {
    id: "undo",
    name: "Undo",
    keys: "Ctrl Z",
    note: "Undo the last edit",
    synonyms: ["back", "revert", "take back"],
    run: (store) => void store.link.ask("undo", {}),
  },
  {
    id: "redo",
    name: "Redo",
    keys: "Ctrl Shift Z",
    note: "Redo the edit that was undone",
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
  measure("compare", "Benchmark", "Compare CPU and mixed decoding", [
    ...["bench", "speed", "measure", "throughput", "images per second", "CPU against GPU", "how fast"],
  ]),
  measure("stages", "Measure each operator", "Time per operator", ["profile", "bottleneck", "stages", "slowest"]),
  measure("threads", "Measure thread scaling", "Speed by number of threads", ["scaling", "num_threads"]),
  measure("peers", "Measure other libraries", "The same pipeline in torchvision and Albumentations", ["peers", "compare libraries"]),
  buttonCommand("export", "Export the script", ["bar", "[data-wb=export]"], "Write the Python script", [
    ...["export", "python", "save script", "generate code", "write code"],
  ]),
  buttonCommand("save", "Save the graph", ["bar", "[data-wb=save]"], "Write the graph's JSON", ["save", "store", "json"], "Ctrl S"),
  buttonCommand("open", "Open a graph", ["bar", "[data-wb=open]"], "From a file, text or recent work", ["open", "load", "import", "recent"]),
  buttonCommand("share", "Share", ["bar", "[data-wb=share]"], "A picture that contains the graph, or a link", ["link", "picture", "send"]),
  buttonCommand("faults", "Show faults", ["bar", "[data-wb=status]"], "List faults and their fixes", ["errors", "problems", "status", "fix"]),
  {
    id: "new",
    name: "New graph",
    note: "Start with an empty graph; undo returns to this one",
    synonyms: ["empty graph", "clear", "reset", "start over"],
    replaces: true,
    run: (store) => void store.link.ask("new", {}),
  },
  tabCommand("preview", "Original and augmented images", ["pictures", "images", "see"]),
  tabCommand("speed", "Measurements and records", ["records", "tune", "tuner", "measurements"]),
  tabCommand("code", "The graph as code for a target", ["targets", "pytorch", "lightning", "triton", "source"]),
  tabCommand("data", "The data: folders, classes, files", ["dataset", "folder", "classes", "files", "open folder"]),
  {
    id: "arrange",
    name: "Arrange",
    keys: "L",
    note: "Automatic layout of the graph",
    synonyms: ["auto layout", "automatic layout", "tidy", "layout"],
    run: arrange,
  },
  ...ALIGNMENTS.map(({ how, label, least }) => ({
    id: `align-${how}`,
    name: label,
    note: `Align selected nodes (${least} or more)`,
    synonyms: how === "across" || how === "down" ? ["spacing", "space evenly"] : ["line up"],
    selected: least,
    run: (store: CanvasStore) => align(store, how),
  })),
  {
    id: "copy-code",
    name: "Copy as code",
    keys: "Shift C",
    note: "Copy the selected nodes, or all, as Python code",
    synonyms: ["copy python", "python lines", "snippet", "clipboard"],
    run: copyCode,
  },
  {
    id: "save-snippet",
    name: "Save as a snippet",
    keys: "S",
    note: "Save the selected nodes as a snippet for other graphs; Delete removes a snippet from the list",
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
    note: "Add an operator on a new branch after the selected node",
    synonyms: ["fork", "split", "parallel", "second view", "tee"],
    firstFor: ["branch", "fork"],
    selected: 1,
    run: branch,
  },
  {
    id: "duplicate",
    name: "Duplicate",
    keys: "Ctrl D",
    note: "Duplicate the selected nodes",
    synonyms: ["copy node"],
    selected: 1,
    run: duplicate,
  },
  {
    id: "remove",
    name: "Remove",
    keys: "Delete",
    note: "Remove the selected nodes and edges",
    synonyms: ["delete", "cut"],
    selected: 1,
    run: remove,
  },
  {
    id: "wrap",
    name: "Apply with probability",
    keys: "I",
    note: "Wrap the selected nodes in an if: they run only for some samples",
    synonyms: ["wrap", "put into an if", "sometimes", "apply with p", "RandomApply"],
    selected: 1,
    run: (store) => wrap(store),
  },
  ...(
    [
      ["label", "Apply by class", "If the label is one of several classes", ["label is", "class", "per class"]],
      ["size", "Apply by size", "If the image is large or small, wide or tall", ["size is", "height", "width", "aspect"]],
      ["comparison", "Apply by comparison", "If a number in the graph is above or below a threshold", ["condition", "less than", "threshold"]],
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
    note: "Add a second condition to the selected if, checked if the first is false",
    synonyms: ["else if", "another condition", "case"],
    selected: 1,
    run: addElif,
  },
  {
    id: "one-of",
    name: "One of the selected nodes",
    keys: "B",
    note: "One of the selected nodes runs for each sample, with weights",
    synonyms: ["one of", "OneOf", "RandomChoice", "choose one", "weights"],
    selected: 1,
    run: chooseOneOf,
  },
  {
    id: "one-option",
    name: "All selected as one option",
    keys: "Shift G",
    note: "Run all selected nodes together, or none of them",
    synonyms: ["group", "option", "chain", "one of", "Compose"],
    selected: 1,
    run: chooseChain,
  },
  {
    id: "some-of",
    name: "Some of the selected nodes",
    keys: "Shift B",
    note: "A fixed number of the selected nodes run for each sample, in order or shuffled",
    synonyms: ["some of", "SomeOf", "RandomOrder", "k of n", "shuffle"],
    selected: 1,
    run: chooseSomeOf,
  },
  {
    id: "repeat",
    name: "Repeat",
    keys: "R",
    note: "The selected nodes run several times",
    synonyms: ["loop", "for", "n times", "again"],
    selected: 1,
    run: repeat,
  },
  {
    id: "masks",
    name: "Output masks",
    note: "Output the masks of the annotations, transformed like the image",
    synonyms: [...MASKS, "masks follow the image", "outlines", "instances"],
    run: (store) => void store.link.ask("give_masks", {}),
  },
  {
    id: "targets",
    name: "Hide or show annotations",
    keys: "T",
    note: "Boxes, points and masks on images and cards",
    synonyms: ["annotations", "boxes", "masks", "key points", "overlay", "marks"],
    run: showTargets,
  },
  {
    id: "unwrap",
    name: "Unwrap the block",
    keys: "Shift I",
    note: "Replace the block with its nodes",
    synonyms: ["unwrap", "dissolve"],
    selected: 1,
    run: unwrap,
  },
];

/** Return the commands that are currently available. */
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
