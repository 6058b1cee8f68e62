// Two pictures in one place: the other graph on the left of a slider, the current one on the right.

import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import type { Sheet } from "../lib/contactSheet";
import { Picture } from "../lib/picture";
import type { SheetHeader } from "../payloads";

/** Position of the slider: a percentage of a picture's width, the same in all tiles. */
export interface Split {
  at: number;
  move(at: number): void;
}

const STEP = 2;
const LEAP = 10;

/**
 * Return the rectangles in the other sheet to compare a sample's outputs with: those of the same
 * name or, if no names match, those at the same index.
 */
export function counterparts(sheet: Sheet<SheetHeader>, index: number, outputs: string[]): (number[] | undefined)[] {
  const tile = sheet.header.tiles.find((each) => each.index === index);
  if (!tile || tile.error) return [];
  const others = sheet.header.outputs;
  const named = outputs.some((name) => others.includes(name));
  return outputs.map((name, at) => tile.augmented[named ? others.indexOf(name) : at]);
}

interface PicturesProps {
  now: ImageBitmap;
  rect: number[];
  other: ImageBitmap;
  otherRect: number[];
}

export function SplitPicture({ now, rect, other, otherRect }: PicturesProps) {
  return (
    <span class="wb-split">
      <Picture pixels={other} rect={otherRect} />
      <Picture pixels={now} rect={rect} />
    </span>
  );
}

interface HandlesProps {
  split: Split;
  /** Whether each picture of the tile has a slider. */
  has: boolean[];
  file: string;
  reached: boolean;
}

interface HandleProps {
  split: Split;
  label: string;
  reached: boolean;
}

/** The slider, as wide as its parent. */
export function SplitHandle({ split, label, reached }: HandleProps) {
  return (
    <div
      class="wb-split-handle"
      data-wb="split"
      role="slider"
      tabIndex={reached ? 0 : -1}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={split.at}
      aria-valuetext={splitText(split.at)}
      onPointerDown={startDrag}
      onPointerMove={(event) => followPointer(event, split)}
      onKeyDown={(event) => moveByKey(event, split)}
    />
  );
}

/** Sliders of a tile: only one can be focused, because all are at the same position. */
export function SplitHandles({ split, has, file, reached }: HandlesProps) {
  const first = has.indexOf(true);
  return (
    <div class="wb-split-handles">
      {has.map((there, index) => (
        <div key={index}>
          {there && index === first && (
            <SplitHandle {...{ split, reached }} label={`Other graph and current graph, ${file}`} />
          )}
          {there && index !== first && (
            <div
              class="wb-split-handle"
              data-wb="split"
              aria-hidden="true"
              onPointerDown={startDrag}
              onPointerMove={(event) => followPointer(event, split)}
            />
          )}
        </div>
      ))}
    </div>
  );
}

function splitText(at: number): string {
  return at === 0
    ? "only the current graph"
    : at === 100
      ? "only the other graph"
      : `${at} % other graph, then the current one`;
}

function startDrag(event: TargetedPointerEvent<HTMLElement>): void {
  if (event.button) return;
  event.preventDefault(); // no text selection or picture drag
  event.stopPropagation(); // and no panning in the close-up
  event.currentTarget.focus();
  event.currentTarget.setPointerCapture(event.pointerId);
}

function followPointer(event: TargetedPointerEvent<HTMLElement>, split: Split): void {
  event.stopPropagation();
  if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
  const { left, width } = event.currentTarget.parentElement!.getBoundingClientRect();
  split.move(clamped(Math.round(((event.clientX - left) / width) * 100)));
}

function moveByKey(event: TargetedKeyboardEvent<HTMLElement>, split: Split): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = event.shiftKey ? LEAP : STEP;
  const at = {
    ArrowLeft: split.at - step,
    ArrowDown: split.at - step,
    ArrowRight: split.at + step,
    ArrowUp: split.at + step,
    PageDown: split.at - LEAP,
    PageUp: split.at + LEAP,
    Home: 0,
    End: 100,
  }[event.key];
  if (at === undefined) return;
  event.preventDefault();
  event.stopPropagation(); // elsewhere arrow keys move between tiles
  split.move(clamped(at));
}

function clamped(at: number): number {
  return Math.min(100, Math.max(0, at));
}
