// Keyboard help, opened with `?`.

import type { Ref } from "preact/compat";

const KEYS: [string, string][] = [
  ["/", "add an operator after the selected node"],
  ["Ctrl K", "search everything: operators, arguments, commands, recipes, nodes, folders"],
  ["p", "palette of operators: press Enter to insert at the selection, or drag"],
  ["← → ↑ ↓", "go to the next node; Shift extends the selection"],
  ["Home End", "first node, last node"],
  ["Alt ↑ ↓", "move the node along the chain"],
  ["d", "show the node's output: picture, values, histogram, time"],
  ["Page ↑ ↓", "previous sample, next sample"],
  ["Ctrl ← → ↑ ↓", "move the node on the canvas"],
  ["y", "add an operator on a new branch after the selected node"],
  ["c", "connect the node's output"],
  ["e", "list the node's edges (to insert an operator, or remove an edge)"],
  ["u", "show or hide the node of a random value"],
  ["m", "mute the selected nodes (excluded from the code), or unmute them"],
  ["g", "group the selected nodes"],
  ["n", "add a note"],
  ["t", "hide or show boxes, points and masks on the cards"],
  ["i", "apply the selected nodes with probability; Shift: unwrap the block"],
  ["b", "run one of the selected nodes for each sample"],
  ["Shift B", "run some of the selected nodes for each sample"],
  ["Shift G", "run all selected nodes or none of them"],
  ["r", "repeat the selected nodes"],
  ["Enter", "open a block; Esc leaves it, and clears a multiple selection"],
  ["F2", "rename"],
  ["Delete", "remove; also Backspace"],
  ["Ctrl D", "duplicate"],
  ["Ctrl C X V", "copy, cut, paste (also into another notebook)"],
  ["s", "save the selected nodes as a snippet for other graphs"],
  ["Shift C", "copy the selected nodes, or all, as Python code"],
  ["Ctrl A", "select all"],
  ["Ctrl Z", "undo; Shift: redo"],
  ["a", "align or distribute the selected nodes"],
  ["l", "automatic layout"],
  ["0", "zoom to fit"],
  ["f", "toggle full window for the canvas or the open panel"],
  ["+ −", "zoom; also the mouse wheel (Ctrl and wheel in a notebook)"],
  ["Ctrl S", "save the graph; in JupyterLab the notebook"],
];

const MOUSE =
  "Shift-drag to select several nodes. Drag from a port to connect, or to an empty area to search for a matching operator. Drop an unconnected node on an edge to insert it; hold Alt for any node. Double-click to add an operator. Right-click for a menu.";

export function ShortcutHelp({ ref }: { ref: Ref<HTMLDivElement> }) {
  return (
    <div
      ref={ref}
      className="wb-pop wb-keys-card nowheel"
      popover="auto"
      role="dialog"
      aria-label="Keyboard shortcuts"
    >
      <dl className="wb-keys">
        {KEYS.flatMap(([keys, what]) => [
          <dt key={`${keys} k`}>
            {keys.split(" ").map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dt>,
          <dd key={`${keys} d`}>{what}</dd>,
        ])}
      </dl>
      <p>{MOUSE}</p>
    </div>
  );
}
