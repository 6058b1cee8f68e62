// Copy, cut and paste as text, by the browser's own events: so it works from one notebook to
// another, and asks for no permission.

import { isTyping } from "../lib/keyboard";
import { focused } from "../lib/dom";
import type { CanvasStore } from "./canvasStore";
import type { Point } from "./geometry";

/** `spot` is where new nodes have room. Returns what ends the listening. */
export function clipboard(store: CanvasStore, spot: () => Point): () => void {
  // The event goes to where the text cursor is, which need not be the canvas: so the document
  // listens, and the focus decides.
  const mine = (): boolean => {
    const el = focused(store.root);
    return !!el && store.root.contains(el) && !isTyping(el) && !store.get().popup;
  };
  const copy = (event: ClipboardEvent): void => {
    const { selected } = store.get();
    const text = store.link.get("fragment", "");
    if (!mine() || !selected.length || !text) return;
    event.preventDefault();
    event.stopPropagation();
    // Python writes the text, a moment after the selection: half of it must not be cut.
    if (!selected.every((id) => text.includes(JSON.stringify(id)))) {
      store.say("Not copied yet: the selection is on its way. Press the keys again.");
      return;
    }
    event.clipboardData?.setData("text/plain", text);
    const many = selected.length === 1 ? selected[0] : `${selected.length} nodes`;
    if (event.type === "cut") store.link.ask("remove", { nodes: [...selected], edges: [] });
    store.say(`${many} ${event.type === "cut" ? "cut" : "copied"}`);
  };
  const paste = (event: ClipboardEvent): void => {
    const text = event.clipboardData?.getData("text/plain");
    if (!mine() || !text) return;
    event.preventDefault();
    event.stopPropagation();
    const { x, y } = spot();
    store.link.ask("paste", { text, x: Math.round(x), y: Math.round(y) });
  };
  document.addEventListener("copy", copy, true);
  document.addEventListener("cut", copy, true);
  document.addEventListener("paste", paste, true);
  return () => {
    document.removeEventListener("copy", copy, true);
    document.removeEventListener("cut", copy, true);
    document.removeEventListener("paste", paste, true);
  };
}
