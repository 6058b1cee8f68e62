// The card of keys that `?` shows.

import type { Ref } from "preact/compat";

const KEYS: [string, string][] = [
  ["/", "add an operator after the selected one"],
  ["Ctrl K", "find anything: operators, arguments, commands, recipes, nodes, folders"],
  ["p", "the palette of operators: Enter adds at the selected place, or drag from it"],
  ["← → ↑ ↓", "go to the next one; with Shift select more"],
  ["Home End", "the first one, the last one"],
  ["Alt ↑ ↓", "move it along the chain"],
  ["d", "what it gives: picture, values, histogram, time"],
  ["Page ↑ ↓", "the sample before, the next one"],
  ["Ctrl ← → ↑ ↓", "put it elsewhere on the canvas"],
  ["y", "branch: add an operator that it feeds too"],
  ["c", "connect its output"],
  ["e", "its edges: add on one, cut one"],
  ["u", "show or fold a random draw"],
  ["m", "mute the selected ones: the code leaves them out; again lets them run"],
  ["g", "a frame around the selected ones"],
  ["n", "a note"],
  ["t", "hide and show boxes, points and masks on the cards"],
  ["i", "apply the selected ones with probability; with Shift take them out of the block"],
  ["b", "one of the selected ones for each sample"],
  ["Shift B", "some of the selected ones for each sample"],
  ["Shift G", "all selected ones as one option, beside none"],
  ["r", "repeat the selected ones"],
  ["Enter", "open a block; Esc leads out, and ends a selection of several"],
  ["F2", "rename it"],
  ["Delete", "remove it; also Backspace"],
  ["Ctrl D", "duplicate"],
  ["Ctrl C X V", "copy, cut, paste: also in another notebook"],
  ["s", "save the selected ones as a snippet, for any graph"],
  ["Shift C", "copy the selected ones, or all, as Python code"],
  ["Ctrl A", "select all"],
  ["Ctrl Z", "undo; with Shift redo"],
  ["a", "align or distribute the selected ones"],
  ["l", "lay everything out anew"],
  ["0", "show everything"],
  ["f", "the whole screen for the canvas, or for the open panel, and back"],
  ["+ −", "zoom; also the wheel, in a notebook with Ctrl"],
  ["Ctrl S", "save the graph; in JupyterLab the notebook"],
];

const MOUSE =
  "Shift-drag selects a box of nodes. Drag from a port to connect, or into the empty to find what fits. Drop a node that stands apart on an edge, with Alt any node. A double click finds an operator. The other button shows what can be done.";

export function ShortcutHelp({ ref }: { ref: Ref<HTMLDivElement> }) {
  return (
    <div
      ref={ref}
      className="wb-pop wb-keys-card nowheel"
      popover="auto"
      role="dialog"
      aria-label="Keys"
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
