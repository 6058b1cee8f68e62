// The graph editor: React Flow on preact/compat, in the same wrapper as all components.

import { ReactFlowProvider } from "@xyflow/react";
import { options } from "preact";
import { useMemo } from "preact/hooks";
import { CanvasStore } from "./canvas/state/canvasStore";
import { CanvasStoreContext } from "./canvas/state/context";
import { FlowCanvas } from "./canvas/flowCanvas";
import { component, type PanelProps } from "./lib/component";
import { useInView } from "./lib/hooks";
import css from "./styles/canvas.css";

// React runs effects of a key or click before the next event, Preact after the next frame: a click
// directly after Shift would not extend the selection.
options.requestAnimationFrame = queueMicrotask;

function Canvas({ root, link }: PanelProps<"canvas">) {
  const store = useMemo(() => new CanvasStore(link, root), [link, root]);
  useInView(root, link);
  return (
    <div class="wb-canvas-mount">
      <CanvasStoreContext value={store}>
        <ReactFlowProvider>
          <FlowCanvas />
        </ReactFlowProvider>
      </CanvasStoreContext>
    </div>
  );
}

export default component("canvas", css, Canvas);
