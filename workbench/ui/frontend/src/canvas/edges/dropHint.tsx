// Hint at the pointer while an edge is dragged.

import { useConnection } from "@xyflow/react";
import { useCanvasStore, useCanvasState } from "../state/context";
import { portOf } from "../state/edgeDrag";
import { dropTargetAt, previewDrop } from "./edgeDrop";

const SHIFT = 14;

export function DropHint() {
  const store = useCanvasStore();
  const linking = useCanvasState((state) => state.linking);
  const connectTargets = useCanvasState((state) => state.connect_targets);
  const aim = useConnection(({ inProgress, pointer, toHandle }) =>
    inProgress
      ? {
          x: pointer?.x ?? 0,
          y: pointer?.y ?? 0,
          node: toHandle?.nodeId ?? "",
          port: portOf(toHandle?.id),
        }
      : null,
  );
  if (!linking || !aim) return null;
  const box = store.dom.box.getBoundingClientRect();
  const where = dropTargetAt(store, aim.node, aim.port, { x: aim.x + box.left, y: aim.y + box.top });
  const { text, refused } = previewDrop(store, linking, connectTargets, where);
  if (!text) return null;
  const right = aim.x > box.width - 260;
  return (
    <div
      className="wb-hint-bubble"
      data-wb={refused ? "refusal" : "linking"}
      data-refused={refused || undefined}
      style={{
        [right ? "right" : "left"]: right ? box.width - aim.x + SHIFT : aim.x + SHIFT,
        top: Math.min(aim.y + SHIFT, box.height - 44),
      }}
    >
      {text}
    </div>
  );
}
