// Buttons at the lower edge of the canvas, and the minimap above them.

import { MiniMap, useStore, type ReactFlowState } from "@xyflow/react";
import { canFill, fillWindow } from "../lib/fillWindow";
import { Icon } from "../lib/icons";
import { openMenu } from "./menus/contextMenu";
import { SampleChooser } from "./sampleChooser";
import { search } from "./state/actions";
import { useCanvasState, useCanvasStore } from "./state/context";
import type { BoxFlow } from "./state/flowElements";

interface Props {
  fit: () => void;
  /** Called before the minimap moves the view. */
  stay: () => void;
}

const MINIMAP_SIZE = { width: 132, height: 84 };
/** Minimum canvas width in pixels for the minimap to appear automatically. */
const MINIMAP_FROM_WIDTH = 640;

/** Return whether some boxes are out of view. */
function hasHiddenBoxes({ transform: [x, y, zoom], width, height, nodes }: ReactFlowState): boolean {
  return nodes.some(({ position, width: w = 0, height: h = 0 }) => {
    const left = position.x * zoom + x;
    const top = position.y * zoom + y;
    return left < -4 || top < -4 || left + w * zoom > width + 4 || top + h * zoom > height + 4;
  });
}

function colour({ type, data }: BoxFlow): string {
  return type === "out"
    ? "var(--ink3)"
    : `var(--role-${(data as { entry: { role: string } }).entry.role})`;
}

export function Footer({ fit, stay }: Props) {
  const store = useCanvasStore();
  const empty = useCanvasState((state) => !state.nodes.length);
  const asked = useCanvasState((state) => state.map);
  const unasked = useStore((state) => state.width >= MINIMAP_FROM_WIDTH && hasHiddenBoxes(state));
  return (
    <>
      {!empty && (asked ?? unasked) && (
        <MiniMap<BoxFlow>
          className="wb-map"
          data-wb="minimap"
          onPointerDownCapture={stay}
          style={MINIMAP_SIZE}
          ariaLabel="Minimap"
          nodeColor={colour}
          nodeBorderRadius={12}
          pannable
          zoomable={false}
        />
      )}
      <div className="wb-canvas-hint">
        <button type="button" data-wb="add" aria-label="Add an operator" onClick={() => search(store)}>
          <Icon name="plus" size={12} /> <span className="wb-word">Add</span> <kbd>/</kbd>
        </button>
        <SampleChooser />
        <span className="wb-controls" role="group" aria-label="View">
          {!empty && (
            <button type="button" aria-label="Zoom to fit" data-tip="Zoom to fit (0)" data-wb="fit" onClick={fit}>
              <Icon name="fit" />
            </button>
          )}
          {canFill(store.dom.root) && (
            <button
              type="button"
              aria-label="Toggle full window"
              data-tip="Toggle full window (f)"
              data-wb="fill"
              onClick={() => fillWindow(store.dom.root, "canvas")}
            >
              <Icon name="fill" />
            </button>
          )}
          <button
            type="button"
            aria-label="More canvas actions"
            aria-haspopup="dialog"
            data-tip="More: palette, keys, notes, layout, zoom (right-click)"
            data-wb="more"
            onClick={({ currentTarget }) => openMenu(currentTarget, store.dom.box)}
          >
            <Icon name="more" />
          </button>
        </span>
      </div>
    </>
  );
}
