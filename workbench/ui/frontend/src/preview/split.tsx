// Two pictures in one place: the other graph's left of a slider, the current one's right of it.

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
 * Rectangles in the other sheet to compare a sample's outputs with: those of the same name, or, if
 * no names match, at the same index.
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
      aria-valuetext={words(split.at)}
      onPointerDown={start}
      onPointerMove={(event) => follow(event, split)}
      onKeyDown={(event) => press(event, split)}
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
              onPointerDown={start}
              onPointerMove={(event) => follow(event, split)}
            />
          )}
        </div>
      ))}
    </div>
  );
}

function words(at: number): string {
  return at === 0
    ? "only the current graph"
    : at === 100
      ? "only the other graph"
      : `${at} % other graph, then the current one`;
}

function start(event: TargetedPointerEvent<HTMLElement>): void {
  if (event.button) return;
  event.preventDefault(); // no text selection or picture drag
  event.stopPropagation(); // and no panning in the close-up
  event.currentTarget.focus();
  event.currentTarget.setPointerCapture(event.pointerId);
}

function follow(event: TargetedPointerEvent<HTMLElement>, split: Split): void {
  event.stopPropagation();
  if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
  const { left, width } = event.currentTarget.parentElement!.getBoundingClientRect();
  split.move(within(Math.round(((event.clientX - left) / width) * 100)));
}

function press(event: TargetedKeyboardEvent<HTMLElement>, split: Split): void {
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
  split.move(within(at));
}

function within(at: number): number {
  return Math.min(100, Math.max(0, at));
}
