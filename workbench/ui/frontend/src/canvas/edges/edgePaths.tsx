// Path of an edge.

import type { EdgeProps } from "@xyflow/react";
import { memo } from "preact/compat";
import { useCanvasState } from "../state/context";
import { useRan } from "../state/branches";
import type { LineFlow } from "../state/flowElements";
import { unroutedPath, type End } from "../layout/edgeRouting";

const near = (a: End, x: number, y: number): boolean =>
  Math.abs(a.x - x) < 1 && Math.abs(a.y - y) < 1;

export const EdgeLine = memo(function EdgeLine(props: EdgeProps<LineFlow>) {
  const { id, sourceX, sourceY, targetX, targetY, data } = props;
  const highlighted = useCanvasState((state) => state.hovered === id || state.picked.has(id));
  const ran = useRan(data?.scope ?? "");
  if (!data) return null;
  const { entry, route } = data;
  const settled = near(route.from, sourceX, sourceY) && near(route.to, targetX, targetY);
  const path = settled
    ? route.path
    : unroutedPath(
        { x: sourceX, y: sourceY, side: "bottom" },
        { x: targetX, y: targetY, side: "top" },
      );
  return (
    <>
      <path
        className={`react-flow__edge-path${entry.argument ? " wb-line-argument" : ""}`}
        data-on={highlighted || undefined}
        data-ran={ran || undefined}
        d={path}
      />
      <path
        className="react-flow__edge-interaction"
        d={path}
        fill="none"
        strokeOpacity={0}
        strokeWidth={16}
      />
    </>
  );
});
