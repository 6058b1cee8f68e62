// Line between CPU and GPU.

import { ViewportPortal } from "@xyflow/react";
import { memo } from "preact/compat";
import type { NodeEntry } from "../../payloads";
import type { Point } from "./geometry";
import { GAP } from "./layout";

/** Return the height above which all nodes run on the CPU; null if none runs on a GPU. */
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

/** Return whether a CPU node is below the line. Generators always run on the CPU. */
export function isBelowGpuLine(node: NodeEntry, at: Point, line: number | null): boolean {
  return line !== null && !node.generator && !!node.op && node.device === "cpu" && at.y > line;
}

/** `left` is the left edge of the graph. */
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
