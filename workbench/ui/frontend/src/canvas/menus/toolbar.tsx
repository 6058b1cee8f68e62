// Toolbar of the selected nodes with the most frequent actions; the rest is in their menu.

import { memo } from "preact/compat";
import { NodeToolbar, Panel, useStore } from "@xyflow/react";
import { useCanvasStore, useCanvasState } from "../state/context";
import { branch, duplicate, frame, mute, remove } from "../state/actions";
import { chooseAlignment } from "../state/alignment";
import { isOutput } from "../layout/geometry";
import { Icon } from "../../lib/icons";
import { openMenu } from "./contextMenu";
import { freeEdge, freeSide } from "./toolbarPlacement";
import type { LayoutCache } from "../layout/layoutCache";

/** Side of a button in pixels. */
const BUTTON = 25;

type Action = [label: string, hook: string, icon: Parameters<typeof Icon>[0]["name"], run: () => void];

export const Toolbar = memo(function Toolbar({ places }: { places: LayoutCache }) {
  const store = useCanvasStore();
  const selected = useCanvasState((state) => state.selected);
  const outputs = useCanvasState((state) => [...state.picked].filter(isOutput).length);
  const busy = useCanvasState((state) => state.dragging || !!state.linking || !!state.renaming);
  const muted = useCanvasState(({ nodes }) =>
    selected.every((id) => nodes.find((node) => node.id === id)?.muted),
  );
  const view = useStore((state) => state.transform);
  const width = useStore((state) => state.width);
  const height = useStore((state) => state.height);
  const count = selected.length + outputs;
  const id = count === 1 ? selected[0] : undefined;
  // The input of a body cannot be edited, and outputs are renamed and removed by their menu.
  if (busy || !count || (count === 1 && !(id && store.node(id)?.op))) return null;
  const nodes: Action[] = [
    [muted ? "Unmute" : "Mute", "mute", "mute", () => mute(store)],
    ["Duplicate", "duplicate", "copy", () => duplicate(store)],
  ];
  const single: Action[] = [["Branch from here", "branch", "split", () => branch(store)]];
  const several: Action[] = [
    ["Align", "align", "alignLeft", () => chooseAlignment(store)],
    ["Group", "frame-selected", "frame", () => frame(store)],
  ];
  const actions: Action[] = [
    ...(count > 1 ? several : []),
    ...(selected.length ? nodes : []),
    ...(id && store.node(id)?.outputs.length ? single : []),
    ["Remove", "remove", "close", () => remove(store)],
  ];
  const what = id ?? `${count} selected`;
  const buttons = actions.map(([label, hook, icon, run]) => (
    <button
      key={hook}
      type="button"
      aria-label={`${label} ${what}`}
      data-tip={label}
      data-wb={hook}
      onClick={() => {
        // Keys have no effect if the focus stays on a button that was removed with the node.
        store.dom.focus(id ?? store.current);
        run();
      }}
    >
      <Icon name={icon} size={13} />
    </button>
  ));
  const more = selected.length > 0 && (
    <button
      type="button"
      aria-label={`More for ${what}`}
      aria-haspopup="dialog"
      data-tip="More (right-click)"
      data-wb="node-more"
      onClick={({ currentTarget }) => openMenu(currentTarget, store.dom.element(store.inspected))}
    >
      <Icon name="more" size={13} />
    </button>
  );
  const [thin, long] = [BUTTON + 2, (actions.length + 1) * BUTTON + 2];
  const canvas = { width, height };
  const side = id ? freeSide(places, id, { width: thin, height: long }, view, canvas) : null;
  const edge = id ? freeEdge(places, id, { width: long, height: thin }, view, canvas) : "bottom-center";
  return id && side ? (
    <NodeToolbar
      nodeId={id}
      isVisible
      position={side.position}
      align={side.align}
      offset={side.offset}
      className="wb-toolbar nopan"
      data-beside
    >
      {buttons}
      {more}
    </NodeToolbar>
  ) : (
    <Panel position={edge} className="wb-toolbar nopan" data-apart>
      {buttons}
      {more}
    </Panel>
  );
});
