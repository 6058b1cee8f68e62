// The card of keys that `?` shows.

import type { Ref } from "react";

const KEYS: [string, string][] = [
  ["/", "add an operator after the selected one"],
  ["← → ↑ ↓", "go to the next one; with Shift select more"],
  ["Alt ← →", "move it along the chain"],
  ["Ctrl ← → ↑ ↓", "put it elsewhere on the canvas"],
  ["c", "connect its output"],
  ["e", "its edges: add on one, cut one"],
  ["u", "show or fold a random draw"],
  ["i", "put the selected ones into an if; with Shift take them out"],
  ["Enter", "open a region; Esc leads out"],
  ["F2", "rename it"],
  ["Delete", "remove it"],
  ["Ctrl D", "duplicate"],
  ["Ctrl C X V", "copy, cut, paste: also in another notebook"],
  ["Ctrl A", "select all"],
  ["Ctrl Z", "undo; with Shift redo"],
  ["l", "lay everything out anew"],
  ["f", "show everything"],
  ["+ −", "zoom; also Ctrl and the wheel"],
  ["Ctrl S", "save the graph"],
];

const MOUSE =
  "Shift-drag selects a box of nodes. Drag from a port to connect. Alt-drag drops a node into an edge.";

export function ShortcutHelp({ ref, id }: { ref: Ref<HTMLDivElement>; id: string }) {
  return (
    <div
      ref={ref}
      id={id}
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
