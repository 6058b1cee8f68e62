// Zoom, fit, layout and map, in the canvas's corner.

import type { ComponentChildren } from "preact";
import { MiniMap, useStore, type ReactFlowState } from "@xyflow/react";
import { useState } from "preact/compat";
import type { BoxFlow } from "./state/flowElements";
import { Icon } from "../lib/icons";

interface Props {
  fit: () => void;
  arrange: () => void;
  zoom: (by: number) => void;
  /** Told when the map is about to move the view. */
  stay: () => void;
  width: number;
}

const MAP = { width: 132, height: 84, least: 640 };
const BUTTON_ZOOM = 1.2;

/** Whether some of the boxes are out of sight. */
function hides({ transform: [x, y, zoom], width, height, nodes }: ReactFlowState): boolean {
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

export function Controls({ fit, arrange, zoom, stay, width }: Props) {
  const hiding = useStore(hides);
  // Unasked it shows itself where something is out of sight and there is room for it.
  const [asked, setAsked] = useState<boolean | null>(null);
  const map = asked ?? (hiding && width >= MAP.least);
  const button = (
    label: string,
    hook: string,
    shape: ComponentChildren,
    run: () => void,
    on?: boolean,
  ) => (
    <button
      type="button"
      aria-label={label}
      aria-pressed={on}
      data-tip={label}
      data-wb={hook}
      onClick={run}
    >
      {shape}
    </button>
  );
  return (
    <>
      {map && (
        <MiniMap<BoxFlow>
          className="wb-map"
          data-wb="minimap"
          onPointerDownCapture={stay}
          style={{ width: MAP.width, height: MAP.height }}
          ariaLabel="Map of the whole graph"
          nodeColor={colour}
          nodeBorderRadius={12}
          pannable
          zoomable={false}
        />
      )}
      <div className="wb-controls" role="group" aria-label="View">
        {button(
          "Zoom out",
          "zoom-out",
          <Icon name="minus" />,
          () => zoom(1 / BUTTON_ZOOM),
        )}
        {button(
          "Zoom in",
          "zoom-in",
          <Icon name="plus" />,
          () => zoom(BUTTON_ZOOM),
        )}
        {button("Show everything (0)", "fit", <Icon name="fit" />, fit)}
        {button("Lay out anew (l)", "arrange", <Icon name="arrange" />, arrange)}
        {button("Map", "map", <Icon name="map" />, () => setAsked(!map), map)}
      </div>
    </>
  );
}
