// The canvas in its element.

import { ReactFlowProvider } from "@xyflow/react";
import { createRoot } from "react-dom/client";
import { h } from "../lib/dom";
import { FlowCanvas } from "./flowCanvas";
import { CanvasStoreContext } from "./context";
import type { CanvasStore } from "./canvasStore";

/** Returns what takes it away again. */
export function mount(store: CanvasStore): () => void {
  // React wants an element of its own: the root also holds what every component has.
  const place = h("div", { class: "wb-canvas-mount" });
  store.root.append(place);
  const tree = createRoot(place);
  tree.render(
    <CanvasStoreContext value={store}>
      <ReactFlowProvider>
        <FlowCanvas />
      </ReactFlowProvider>
    </CanvasStoreContext>,
  );
  return () => tree.unmount();
}
