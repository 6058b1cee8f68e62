// Copy, cut and paste as text, with the browser's own events: works between notebooks and needs no
// permission.

import { copyText } from "../../lib/files";
import { jsonEqual } from "../../lib/jsonEquality";
import { isTyping } from "../../lib/keyboard";
import { focusedElement } from "../../lib/focus";
import type { CanvasStore } from "../state/canvasStore";
import { isOutput, type Point } from "../layout/geometry";

/**
 * Handle copy and paste of nodes. `spot` returns a free position for new nodes. Returns a function
 * that removes the listeners.
 */
export function clipboard(store: CanvasStore, spot: () => Point): () => void {
  // The event is sent to the text cursor, which may be outside the canvas, so the document listens
  // and the focus decides.
  const mine = (): boolean => {
    const el = focusedElement(store.dom.root);
    return !!el && store.dom.root.contains(el) && !isTyping(el) && !store.get().popup;
  };
  const selected = (): string[] => store.get().selected.filter((id) => !isOutput(id));
  /**
   * Fragment of the selection, which Python sends with a short delay; outdated ones are ignored.
   */
  const written = (nodes: string[]): string => {
    const text = store.link.get("fragment", "");
    return nodes.every((id) => text.includes(JSON.stringify(id))) ? text : "";
  };
  const taken = (nodes: string[], cut: boolean): void => {
    const what = nodes.length === 1 ? nodes[0] : `${nodes.length} nodes`;
    if (cut) store.link.ask("remove", { nodes, edges: [] });
    store.say(`${what} ${cut ? "cut" : "copied"}`);
  };
  let late = (): void => {};
  const takeLate = (nodes: string[], cut: boolean): void => {
    store.say("Not copied: the selection is still loading. Try again.");
    late = store.link.on("fragment", () => {
      const same = jsonEqual(selected(), nodes);
      const text = written(nodes);
      if (same && !text) return;
      late();
      if (!same) return;
      void copyText(text).then((done) => {
        if (done) taken(nodes, cut);
        else store.say("Not copied: the browser denied access to the clipboard. Press the keys again.");
      });
    });
  };
  const copy = (event: ClipboardEvent): void => {
    const nodes = selected();
    late();
    if (!mine() || !nodes.length) return;
    event.preventDefault();
    event.stopPropagation();
    const [text, cut] = [written(nodes), event.type === "cut"];
    if (!text) return takeLate(nodes, cut);
    event.clipboardData?.setData("text/plain", text);
    taken(nodes, cut);
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
    late();
    document.removeEventListener("copy", copy, true);
    document.removeEventListener("cut", copy, true);
    document.removeEventListener("paste", paste, true);
  };
}
