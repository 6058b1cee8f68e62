// What can be done with the inspected node, by the mouse.

import type { ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { NodeToolbar, Panel, useStore } from "@xyflow/react";
import { useCanvasStore, useCanvasState } from "../state/context";
import { connect, duplicate, move, mute, remove, unfold, unwrap, wrap } from "../state/actions";
import { RandomIcon, Icon } from "../../lib/icons";
import { freeSide } from "./toolbarPlacement";
import type { LayoutCache } from "../layout/layoutCache";

/** Pixels of a button's side. */
const BUTTON = 25;

export const Toolbar = memo(function Toolbar({ places }: { places: LayoutCache }) {
  const store = useCanvasStore();
  const id = useCanvasState((state) => (state.selected.length === 1 ? state.selected[0]! : ""));
  const node = useCanvasState((state) => state.nodes.find((entry) => entry.id === id));
  const busy = useCanvasState((state) => state.dragging || !!state.linking || !!state.renaming);
  const view = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  if (!node?.op || busy) return null; // what a body takes in stays as it is
  const movable = node.movable && !node.generator;
  const inner = node.bodies.length > 0;
  const wraps = movable || inner;
  const buttons =
    4 +
    (movable ? 2 : 0) +
    (wraps ? 1 : 0) +
    (inner ? 1 : 0) +
    (node.generator ? 1 : 0) +
    (node.draws.length ? 1 : 0) +
    (node.outputs.length ? 1 : 0);
  const size = { width: BUTTON + 2, height: buttons * BUTTON + 2 };
  const side = freeSide(places, id, size, view, { width, height });
  const action = (label: string, hook: string, shape: ComponentChildren, run: () => void) => (
    <button
      type="button"
      aria-label={`${label} ${id}`}
      data-tip={label}
      data-wb={hook}
      onClick={(event) => {
        // Where the focus stays on a button that goes away with the node, keys lead nowhere.
        event.currentTarget.blur();
        run();
        store.dom.focus(id);
      }}
    >
      {shape}
    </button>
  );
  const actions = (
    <>
      {movable &&
        action("Move up", "move-up", <Icon name="up" size={13} />, () => move(store, -1))}
      {movable &&
        action("Move down", "move-down", <Icon name="down" size={13} />, () => move(store, 1))}
      {node.generator && action("Fold", "fold", <Icon name="down" size={13} />, () => unfold(store))}
      {node.draws.length > 0 &&
        action("Show the draw as a node", "unfold", <RandomIcon size={13} />, () => unfold(store))}
      {node.outputs.length > 0 &&
        action("Connect", "connect", <Icon name="connect" size={13} />, () => connect(store))}
      {wraps &&
        action("Apply with probability", "wrap", <Icon name="split" size={13} />, () => wrap(store))}
      {inner &&
        action("Take out of the block", "unwrap", <Icon name="join" size={13} />, () => unwrap(store))}
      {action(node.muted ? "Unmute" : "Mute", "mute", <Icon name="mute" size={13} />, () =>
        mute(store),
      )}
      {action("Rename", "rename-button", <Icon name="pencil" size={13} />, () =>
        store.set({ renaming: id }),
      )}
      {action("Duplicate", "duplicate", <Icon name="copy" size={13} />, () => duplicate(store))}
      {action("Remove", "remove", <Icon name="close" size={13} />, () => remove(store))}
    </>
  );
  if (!side) {
    return (
      <Panel position="bottom-center" className="wb-toolbar nopan" data-apart>
        {actions}
      </Panel>
    );
  }
  return (
    <NodeToolbar
      nodeId={id}
      isVisible
      position={side.position}
      align={side.align}
      offset={side.offset}
      className="wb-toolbar nopan"
      data-beside
    >
      {actions}
    </NodeToolbar>
  );
});
