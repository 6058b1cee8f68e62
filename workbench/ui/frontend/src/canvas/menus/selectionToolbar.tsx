// What can be done with several selected nodes, by the mouse.

import { Panel } from "@xyflow/react";
import { memo } from "preact/compat";
import { copyCode, duplicate, frame, mute, remove } from "../state/actions";
import { align, ALIGNMENTS } from "../state/alignment";
import { useCanvasState, useCanvasStore } from "../state/context";
import { isOutput } from "../layout/geometry";
import { Icon } from "../../lib/icons";

export const SelectionToolbar = memo(function SelectionToolbar({ arrange }: { arrange: () => void }) {
  const store = useCanvasStore();
  const nodes = useCanvasState((state) => state.selected.length);
  const outputs = useCanvasState((state) => [...state.picked].filter(isOutput).length);
  const busy = useCanvasState((state) => state.dragging || !!state.linking || !!state.renaming);
  const byHand = useCanvasState((state) => Object.keys(state.positions).length > 0);
  const count = nodes + outputs;
  if (count < 2 || busy) return null;
  const action = (label: string, hook: string, icon: Parameters<typeof Icon>[0]["name"], run: () => void) => (
    <button
      key={hook}
      type="button"
      aria-label={`${label}: ${count} selected`}
      data-tip={label}
      data-wb={hook}
      onClick={(event) => {
        // Where the focus stays on a button that goes away with the nodes, keys lead nowhere.
        event.currentTarget.blur();
        run();
        store.dom.focus(store.current);
      }}
    >
      <Icon name={icon} size={13} />
    </button>
  );
  return (
    <Panel position="bottom-center" className="wb-toolbar nopan" data-apart>
      {ALIGNMENTS.filter(({ least }) => count >= least).map(({ how, label, icon }) =>
        action(label, `align-${how}`, icon, () => align(store, how)),
      )}
      {byHand && action("Back to automatic layout", "automatic", "arrange", arrange)}
      {nodes > 0 && (
        <>
          {action("Frame", "frame-selected", "fit", () => frame(store))}
          {action("Mute or unmute", "mute-selected", "mute", () => mute(store))}
          {action("Copy as code", "copy-code", "code", () => copyCode(store))}
          {action("Duplicate", "duplicate-selected", "copy", () => duplicate(store))}
        </>
      )}
      {action("Remove", "remove-selected", "close", () => remove(store))}
    </Panel>
  );
});
