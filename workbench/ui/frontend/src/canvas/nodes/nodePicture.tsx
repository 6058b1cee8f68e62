// Picture and random values of the selected sample on a card.

import { useLayoutEffect, useRef } from "preact/compat";
import { paintPart } from "../../lib/contactSheet";
import type { NodeEntry } from "../../payloads";
import { useCanvasState, useCanvasStore } from "../state/context";

export interface Line {
  what: "values" | "draws" | "shape";
  text: string;
}

/**
 * Lines below a card's name: two at most, the shape only if there is room. `faint` if the sample
 * did not reach the node.
 */
/** `faint` where the chosen sample did not come there. */
export function useLines(node: NodeEntry, faint = false): Line[] {
  const drawn = useCanvasState(({ cards }) => cards.get(node.id)?.draws);
  const known = node.draws.map(({ text }) => text.replace("~ uniform ", "~ "));
  const draws = drawn?.length ? drawn.map((draw) => draw.replace(/ -(?=[\d.])/, " −")) : known;
  if (faint) return [{ what: "shape", text: "not run" }];
  const lines: Line[] = [
    { what: "values", text: node.values },
    { what: "draws", text: draws.join(", ") },
    { what: "shape", text: node.output },
  ];
  return lines.filter(({ text }) => text).slice(0, 2);
}

/** Output type if there is no picture. */
const WORDS: Record<string, string> = { encoded: "JPEG", number: "number" };

/** A click opens the output of the node. */
export function NodePicture({ node, faint = false }: { node: NodeEntry; faint?: boolean }) {
  const store = useCanvasStore();
  const canvas = useRef<HTMLCanvasElement>(null);
  const card = useCanvasState(({ cards }) => cards.get(node.id));
  const sheet = useCanvasState((state) => state.sheet);
  const stale = useCanvasState(({ stale, unchanged }) => stale !== "" && !unchanged.includes(node.id));
  const open = useCanvasState((state) => state.detail_of === node.id);
  const pictured = card?.box.length === 4;
  useLayoutEffect(() => {
    if (canvas.current && card && sheet) paintPart(canvas.current, sheet.pixels, card.box);
  }, [sheet, card, pictured]);
  const kind = node.outputs[0]?.kind ?? "";
  const words = faint ? "–" : card?.text || (WORDS[kind] ?? (kind === "image" ? "" : kind));
  return (
    <button
      type="button"
      className="wb-card-picture"
      tabIndex={-1}
      data-wb="look"
      data-stale={stale || undefined}
      aria-label={pictured || !words ? `Output of ${node.id}` : `${words}, output of ${node.id}`}
      aria-pressed={open}
      onClick={() => store.look(node.id)}
    >
      {pictured ? <canvas ref={canvas} aria-hidden="true" /> : words}
    </button>
  );
}
