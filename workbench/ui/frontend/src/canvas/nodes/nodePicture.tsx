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
 * Return the lines below a card's name: two at most, the shape only if there is room. `faint` if
 * the sample did not reach the node.
 */
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

/** Text in place of a picture, by kind of output. */
const WORDS: Record<string, string> = { encoded: "file", number: "number" };

/** Picture of the node's output; a click opens the output in detail. */
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
