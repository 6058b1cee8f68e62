// The line between what runs on the CPU and what runs on the GPU.

import { ViewportPortal } from "@xyflow/react";
import { memo } from "preact/compat";
import type { NodeEntry } from "../../payloads";
import type { Point } from "./geometry";
import { GAP } from "./layout";

/** The level above which all runs on the CPU; null where nothing runs on a GPU. */
export function deviceLine(
  nodes: readonly NodeEntry[],
  spots: ReadonlyMap<string, Point>,
): number | null {
  const tops = nodes.flatMap(({ id, device }) =>
    device === "cpu" ? [] : [spots.get(id)?.y ?? Infinity],
  );
  const top = Math.min(...tops);
  return top === Infinity ? null : top - GAP.rows / 2;
}

/** Whether a node runs on the CPU below the line; a draw always does. */
export function isBelowGpuLine(node: NodeEntry, at: Point, line: number | null): boolean {
  return line !== null && !node.generator && !!node.op && node.device === "cpu" && at.y > line;
}

/** `left` is where the graph begins. */
export const DeviceLine = memo(function DeviceLine({ line, left }: { line: number; left: number }) {
  const at = { transform: `translate(${left - 20}px, ${line}px)` };
  return (
    <ViewportPortal>
      <div className="wb-device-line" style={at} data-wb="device-line">
        <span>CPU</span>
        <span>GPU</span>
      </div>
    </ViewportPortal>
  );
});
