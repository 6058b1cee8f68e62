// What can be done with the inspected node, by the mouse.

import { NodeToolbar, Position } from "@xyflow/react";
import { useDesk, useDeskState } from "./context";
import { connect, duplicate, move, remove, unfold } from "./edits";
import { Icon } from "./icons";

export function Toolbar() {
  const desk = useDesk();
  const id = useDeskState((state) => (state.selected.length === 1 ? state.selected[0]! : ""));
  const node = useDeskState((state) => state.nodes.find((entry) => entry.id === id));
  const busy = useDeskState((state) => state.dragging || !!state.linking || !!state.renaming);
  if (!node || busy) return null;
  const movable = node.movable && !node.generator;
  const action = (label: string, hook: string, shape: React.ReactNode, run: () => void) => (
    <button
      type="button"
      aria-label={`${label} ${id}`}
      data-tip={label}
      data-wb={hook}
      onClick={(event) => {
        // Where the focus stays on a button that goes away with the node, keys lead nowhere.
        event.currentTarget.blur();
        run();
        desk.focus(id);
      }}
    >
      {shape}
    </button>
  );
  return (
    <NodeToolbar
      nodeId={id}
      isVisible
      position={node.generator ? Position.Right : Position.Bottom}
      align={node.generator ? "center" : "end"}
      offset={5}
      className="wb-toolbar nopan"
    >
      {movable &&
        action("Move left", "move-left", <Icon name="left" size={13} />, () => move(desk, -1))}
      {movable &&
        action("Move right", "move-right", <Icon name="right" size={13} />, () => move(desk, 1))}
      {node.generator && action("Fold", "fold", <Icon name="down" size={13} />, () => unfold(desk))}
      {node.outputs.length > 0 &&
        action("Connect", "connect", <Icon name="connect" size={13} />, () => connect(desk))}
      {action("Rename", "rename-button", <Icon name="pencil" size={13} />, () =>
        desk.set({ renaming: id }),
      )}
      {action("Duplicate", "duplicate", <Icon name="copy" size={13} />, () => duplicate(desk))}
      {action("Remove", "remove", <Icon name="close" size={13} />, () => remove(desk))}
    </NodeToolbar>
  );
}
