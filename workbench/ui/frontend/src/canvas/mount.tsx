// The canvas in its element.

import { ReactFlowProvider } from "@xyflow/react";
import { createRoot } from "react-dom/client";
import { h } from "../lib/dom";
import { Board } from "./board";
import { DeskContext } from "./context";
import type { Desk } from "./desk";

/** Returns what takes it away again. */
export function mount(desk: Desk): () => void {
  // React wants an element of its own: the root also holds what every component has.
  const place = h("div", { class: "wb-canvas-mount" });
  desk.root.append(place);
  const tree = createRoot(place);
  tree.render(
    <DeskContext value={desk}>
      <ReactFlowProvider>
        <Board />
      </ReactFlowProvider>
    </DeskContext>,
  );
  return () => tree.unmount();
}
