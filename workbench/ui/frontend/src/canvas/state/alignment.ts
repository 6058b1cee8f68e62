// Align boxes, or distribute them with equal gaps.

import type { CanvasStore } from "./canvasStore";
import { placements } from "../layout/movedSpots";
import { isOutput, type Point, type Size } from "../layout/geometry";
import type { Icon } from "../../lib/icons";
import type { ComponentProps } from "preact";

export type Alignment = "left" | "centre" | "right" | "top" | "middle" | "bottom" | "across" | "down";

interface Row {
  how: Alignment;
  label: string;
  icon: ComponentProps<typeof Icon>["name"];
  /** Minimum number of boxes. */
  least: number;
}

export const ALIGNMENTS: readonly Row[] = [
  { how: "left", label: "Align left", icon: "alignLeft", least: 2 },
  { how: "centre", label: "Align centre", icon: "alignCentre", least: 2 },
  { how: "right", label: "Align right", icon: "alignRight", least: 2 },
  { how: "top", label: "Align top", icon: "alignTop", least: 2 },
  { how: "middle", label: "Align middle", icon: "alignMiddle", least: 2 },
  { how: "bottom", label: "Align bottom", icon: "alignBottom", least: 2 },
  { how: "across", label: "Distribute horizontally", icon: "distributeAcross", least: 3 },
  { how: "down", label: "Distribute vertically", icon: "distributeDown", least: 3 },
];

export interface Rectangle extends Point, Size {
  id: string;
}

/** Return the new positions of boxes. Their bounding box does not become larger. */
export function alignedBoxes(how: Alignment, boxes: readonly Rectangle[]): Map<string, Point> {
  const across = how === "left" || how === "centre" || how === "right" || how === "across";
  const start = (box: Rectangle): number => (across ? box.x : box.y);
  const length = (box: Rectangle): number => (across ? box.width : box.height);
  const moved = (box: Rectangle, to: number): [string, Point] => {
    const at = Math.round(to);
    return [box.id, across ? { x: at, y: box.y } : { x: box.x, y: at }];
  };
  const low = Math.min(...boxes.map(start));
  const high = Math.max(...boxes.map((box) => start(box) + length(box)));
  if (how === "across" || how === "down") {
    const gap = (high - low - boxes.reduce((sum, box) => sum + length(box), 0)) / (boxes.length - 1);
    let next = low;
    const ordered = [...boxes].sort((a, b) => start(a) - start(b));
    return new Map(
      ordered.map((box) => {
        const at = next;
        next += length(box) + gap;
        return moved(box, at);
      }),
    );
  }
  const share = { left: 0, top: 0, centre: 0.5, middle: 0.5, right: 1, bottom: 1 }[how];
  return new Map(boxes.map((box) => moved(box, low + share * (high - low - length(box)))));
}

/** Return the selected boxes at their current positions. */
export function selectedBoxes(store: CanvasStore): Rectangle[] {
  const { selected, picked } = store.get();
  const chosen = new Set([...selected, ...[...picked].filter(isOutput)]);
  const { boxes, settled } = store.layout;
  return boxes.flatMap(({ id, width, height }) => {
    const at = chosen.has(id) ? settled.get(id) : undefined;
    return at ? [{ id, width, height, ...at }] : [];
  });
}

/** Align the selection; all other boxes get manual positions. */
export function align(store: CanvasStore, how: Alignment): void {
  const { label, least } = ALIGNMENTS.find((row) => row.how === how)!;
  const boxes = selectedBoxes(store);
  if (boxes.length < least) return store.say(`${label}: select ${least} or more nodes`);
  const positions = placements(store.layout, alignedBoxes(how, boxes));
  store.link.ask("place", { positions, aligned: how });
  store.say(`${label}: ${boxes.map(({ id }) => (isOutput(id) ? `output ${id.slice(1)}` : id)).join(", ")}`);
}

/** Open the list of alignments. */
export function chooseAlignment(store: CanvasStore): void {
  if (selectedBoxes(store).length < 2) return store.say("Select two or more nodes to align");
  store.set({ popup: { kind: "align" } });
}
