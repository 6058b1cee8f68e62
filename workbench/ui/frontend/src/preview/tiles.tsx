// Tiles of a batch: each shows its part of the sheet, and its random values on hover.

import type { RefObject, TargetedKeyboardEvent } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { IconButton } from "../lib/button";
import { RandomIcon, Icon } from "../lib/icons";
import type { Sheet } from "../lib/contactSheet";
import { Picture } from "../lib/picture";
import type { Branch, MarkEntry, PreviewFields, SheetHeader, TileEntry } from "../payloads";
import { branchTexts } from "./branches";
import { FiredCaption } from "./firedCaption";
import { Overlays, overlaysAt, overlayText } from "./overlays";
import { counterparts, SplitHandles, SplitPicture, type Split } from "./split";

type Mode = PreviewFields["mode"];

const NO_PARTS: (number[] | undefined)[] = [];

interface TileActions {
  look(tile: TileEntry): void;
  choose(tile: TileEntry): void;
  /** Mark or unmark a tile. Notebook cells can read the marked samples. */
  mark(tile: TileEntry): void;
  repeat(tile: TileEntry): void;
}

interface Props {
  sheet: Sheet<SheetHeader> | null;
  /** Sheet of the graph to compare with; null without a comparison. */
  other: Sheet<SheetHeader> | null;
  split: Split;
  /** Difference of the two graphs by tile. */
  distances: string[];
  /** Tiles that are shown. */
  tiles: TileEntry[];
  mode: Mode;
  /** True if originals replace all other pictures. */
  showingOriginal: boolean;
  sized: boolean;
  /** True if the sheet shows another graph, so that its random values are not shown. */
  stale: boolean;
  hidden: boolean;
  /** Whether annotations are drawn. */
  marked: boolean;
  /** Indices of the marked samples. */
  picked: number[];
  acts: TileActions;
  list: RefObject<HTMLDivElement | null>;
}

export function Tiles({ sheet, tiles, other, split, distances, mode, ...rest }: Props) {
  const { showingOriginal, sized, stale, hidden, marked, picked, acts, list } = rest;
  const [reached, reach] = useState(0);
  const at = Math.min(reached, Math.max(0, tiles.length - 1));
  const parts = (tile: TileEntry): number[][] =>
    partsOf(tile, mode, showingOriginal, sheet?.header.outputs ?? []);
  /** Number of pictures per tile. */
  const cells = Math.max(1, ...tiles.filter(({ error }) => !error).map((tile) => parts(tile).length));
  const originals = sheet !== null && isShowingOriginals(sheet.header, mode, showingOriginal);
  const key = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const el = event.currentTarget;
    const columns = getComputedStyle(el).gridTemplateColumns.split(" ").length;
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (by) {
      const next = frameAt(el, at + by);
      if (!next) return;
      event.preventDefault();
      next.focus();
      return;
    }
    const act = { s: acts.choose, r: acts.repeat, x: acts.mark }[event.key];
    const tile = tiles[at];
    if (!act || !tile || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(tile);
  };
  return (
    <div
      ref={list}
      class="wb-tiles"
      role="list"
      aria-label="Samples"
      data-wb="tiles"
      data-sized={sized || undefined}
      data-shows-original={originals || undefined}
      style={
        sheet
          ? {
              "--cells": String(cells),
              "--tile": `${sheet.header.tile}px`,
              "--split": `${split.at}%`,
            }
          : {}
      }
      hidden={hidden}
      onKeyDown={key}
    >
      {tiles.map((tile, index) => (
        // Keyed by index, so that the next batch reuses these canvases.
        <Tile
          key={index}
          tile={tile}
          pixels={sheet!.pixels}
          parts={parts(tile)}
          other={originals ? null : other}
          otherParts={
            other && !originals ? counterparts(other, tile.index, sheet!.header.outputs) : NO_PARTS
          }
          distance={other ? (distances[sheet!.header.tiles.indexOf(tile)] ?? "") : ""}
          split={split}
          // Shape and random values belong to the augmented picture.
          changed={mode !== "original"}
          stale={stale}
          known={sheet!.header.branches}
          marked={marked}
          picked={picked.includes(tile.index)}
          acts={acts}
          reached={index === at}
          reach={() => reach(index)}
        />
      ))}
    </div>
  );
}

/** Return the number of columns of a tile list; recomputed with its width and `drawn`. */
export function useColumns(list: RefObject<HTMLElement | null>, drawn: unknown[]): number {
  const [columns, set] = useState(1);
  useLayoutEffect(() => {
    const el = list.current!;
    const count = (): void => {
      if (el.clientWidth) set(getComputedStyle(el).gridTemplateColumns.split(" ").length);
    };
    count();
    const resized = new ResizeObserver(count);
    resized.observe(el);
    return () => resized.disconnect();
  }, drawn);
  return columns;
}

/** Focus a tile. */
export function focusTile(list: HTMLElement, index: number): void {
  (frameAt(list, index) ?? list.querySelector<HTMLElement>(".wb-tile-frame[tabindex='0']"))?.focus();
}

function frameAt(list: HTMLElement, index: number): HTMLElement | null {
  return (list.children[index]?.firstElementChild as HTMLElement | null | undefined) ?? null;
}

/** Return whether originals are shown although the mode shows other pictures. */
export function isShowingOriginals(header: SheetHeader, mode: Mode, showingOriginal: boolean): boolean {
  const good = header.tiles.find((tile) => !tile.error);
  return mode !== "original" && good !== undefined && showsOriginal(good, showingOriginal);
}

/** Return whether a tile shows only the original, also until other pictures arrive. */
function showsOriginal(tile: TileEntry, showingOriginal: boolean): boolean {
  return tile.original.length === 4 && (showingOriginal || !tile.augmented.length);
}

/** Return the rectangles of a tile's pictures in the sheet, in order. */
function partsOf(tile: TileEntry, mode: Mode, held: boolean, outputs: string[]): number[][] {
  const original = tile.original.length === 4 ? [tile.original] : [];
  if (mode === "original" && original.length) return original;
  const changed = showsOriginal(tile, held) ? outputs.map(() => tile.original) : tile.augmented;
  return mode === "both" ? [...original, ...changed] : changed;
}

interface TileProps {
  tile: TileEntry;
  pixels: ImageBitmap;
  parts: number[][];
  other: Sheet<SheetHeader> | null;
  otherParts: (number[] | undefined)[];
  distance: string;
  split: Split;
  changed: boolean;
  stale: boolean;
  /** All bodies of the graph's blocks. */
  known: Branch[];
  marked: boolean;
  picked: boolean;
  acts: TileActions;
  reached: boolean;
  reach: () => void;
}

function Tile({ tile, pixels, parts, other, otherParts, distance, split, ...rest }: TileProps) {
  const { changed, stale, known, marked, picked, acts, reached, reach } = rest;
  const bad = tile.error !== "";
  const has = parts.map((_, index) => other !== null && otherParts[index] !== undefined);
  const ran = changed ? branchTexts(tile, known) : [];
  const fired = changed ? [...tile.applied, ...ran] : [];
  const said = lines(tile, changed && !stale ? [tile.shape, ...ran, ...tile.draws] : []);
  const { label, class_name } = tile;
  const named = class_name === label ? `label ${label}` : `${class_name}, label ${label}`;
  const targets = marked ? tile.targets : [];
  const words = marked ? overlayText(tile.marks.at(-1) ?? []) : "";
  said.unshift(...targets, ...(words ? [words] : []));
  if (label) said.unshift(named);
  return (
    <div
      class={bad ? "wb-tile wb-tile-bad" : "wb-tile"}
      role="listitem"
      data-wb="tile"
      data-index={tile.index}
      data-file={tile.file}
      data-error={bad || undefined}
      data-warning={tile.warning ? "true" : undefined}
      onFocusIn={reach}
    >
      <button
        class="wb-tile-frame"
        type="button"
        data-tip={`${tile.file}\n\n${said.join("\n")}`}
        aria-label={[tile.file, ...said].join(", ")}
        aria-pressed={picked || undefined}
        tabIndex={reached ? 0 : -1}
        onClick={(event) => (event.ctrlKey || event.metaKey ? acts.mark : acts.look)(tile)}
      >
        {bad ? (
          <>
            <Icon name="warn" size={16} />
            <span>{tile.file}</span>
            <span>{tile.error}</span>
          </>
        ) : (
          parts.map((rect, index) => {
            const otherRect = otherParts[index];
            return other && otherRect ? (
              <SplitPicture
                key={index}
                now={pixels}
                rect={rect}
                other={other.pixels}
                otherRect={otherRect}
              />
            ) : (
              <MarkedPicture
                key={index}
                pixels={pixels}
                rect={rect}
                marks={marked ? overlaysAt(tile, rect) : []}
              />
            );
          })
        )}
      </button>
      {!bad && has.includes(true) && <SplitHandles {...{ split, has, reached }} file={tile.file} />}
      <div class="wb-tile-acts">
        <IconButton
          label="Show this sample on the canvas (s)"
          name="tile-choose"
          tabIndex={-1}
          onClick={() => acts.choose(tile)}
        >
          <Icon name="steps" size={14} />
        </IconButton>
        <IconButton
          label="Many random variants of this photo (r)"
          name="tile-repeat"
          tabIndex={-1}
          onClick={() => acts.repeat(tile)}
        >
          <RandomIcon />
        </IconButton>
      </div>
      <Caption {...{ tile, distance, fired, targets }} />
    </div>
  );
}

interface MarkedProps {
  pixels: ImageBitmap;
  rect: number[];
  marks: MarkEntry[];
}

/** Picture with its annotations. */
function MarkedPicture({ pixels, rect, marks }: MarkedProps) {
  if (!marks.length) return <Picture pixels={pixels} rect={rect} />;
  return (
    <span class="wb-marked">
      <Picture pixels={pixels} rect={rect} />
      <Overlays marks={marks} ratio={rect[2]! / rect[3]!} />
    </span>
  );
}

interface CaptionProps {
  tile: TileEntry;
  distance: string;
  /** Augmentations that were applied, and bodies of blocks that ran. */
  fired: string[];
  /** Annotations that cannot be drawn on the picture. */
  targets: string[];
}

function Caption({ tile, distance, fired, targets }: CaptionProps) {
  return (
    <p>
      <b>
        <span>{tile.file.split("/").pop() ?? tile.file}</span>
        {tile.class_name && <i data-wb="label">{tile.class_name}</i>}
      </b>
      {tile.error ? (
        <span>skipped</span>
      ) : (
        <>
          {tile.warning && <span class="wb-warning">⚠ {tile.warning}</span>}
          {fired.length > 0 && <FiredCaption texts={fired} />}
          {targets.map((text) => (
            <span key={text} data-wb="target-text">
              {text}
            </span>
          ))}
          {distance && (
            <span class="wb-distance" data-wb="distance">
              {distance}
            </span>
          )}
        </>
      )}
    </p>
  );
}

function lines(tile: TileEntry, known: string[]): string[] {
  const said = tile.error
    ? [tile.error, "Skipped; the other samples are shown."]
    : [tile.warning, ...known, ...tile.notes];
  return said.filter(Boolean);
}
