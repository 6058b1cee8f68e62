// Preview panel: a batch, original and augmented, as tiles or a close-up, with statistics.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { parsePayload } from "./lib/binaryPayload";
import { WordButton } from "./lib/button";
import { component, type PanelProps } from "./lib/component";
import { useField, useRootData } from "./lib/hooks";
import { heldKey, undoKey } from "./lib/keyboard";
import { Notice, Notices } from "./lib/notice";
import { useSheet } from "./lib/useSheet";
import { AugmentationFilter, withAugmentations } from "./preview/augmentations";
import { BranchFilter, ofBranches } from "./preview/branches";
import { ClassFilter, ofClasses } from "./preview/classFilter";
import { Closeup } from "./preview/closeup";
import { Comparison } from "./preview/comparison";
import { Controls } from "./preview/controls";
import { DisplayOptions } from "./preview/displayOptions";
import { FindBatch, NoneInBatch } from "./preview/findBatch";
import { hasOverlays, overlaysOf } from "./preview/overlays";
import { SheetRemarks } from "./preview/sheetRemarks";
import { Statistics } from "./preview/statistics";
import { StatusLine } from "./preview/statusLine";
import { focusTile, isShowingOriginals, Tiles, useColumns } from "./preview/tiles";
import { Verification } from "./preview/verification";
import css from "./styles/preview.css";
import type { CloseupHeader, SheetHeader, TileEntry } from "./payloads";

const NOT_NEAR = new ArrayBuffer(0);

function Preview({ link, root }: PanelProps<"preview">) {
  const { sheet, count, unreadable } = useSheet<SheetHeader, "picture">(link, "picture");
  const header = sheet?.header;
  const mode = useField(link, "mode", "both");
  const reason = useField(link, "stale", "");
  const rendering = useField(link, "rendering", false) && !reason;
  const retryable = useField(link, "retryable", false);
  const { node = "", arg = "", fixes = [] } = useField(link, "fault", {});
  const sized = useField(link, "tile_size", 0) !== 0;
  const bytes = useField(link, "closeup", NOT_NEAR);
  const closeup = useMemo(() => parsePayload<CloseupHeader>(bytes), [bytes]);
  const near = closeup !== null;
  const [showingOriginal, hold] = useShowingOriginal({ link, root }, header, near);

  const list = useRef<HTMLDivElement>(null);
  const left = useRef<number | null>(null);
  useLayoutEffect(() => {
    if (!near && left.current !== null) focusTile(list.current!, left.current);
    left.current = null;
  }, [near]);

  const due = unreadable !== "" || reason !== "";
  const still = sheet ? `Showing the last valid preview: ${reason}` : reason;
  useRootData(root, "stale", due ? "true" : undefined);
  useRootData(root, "rendering", rendering ? "true" : undefined);
  useRootData(root, "closeup", near ? "true" : undefined);
  useRootData(root, "failed", unreadable || undefined);
  useRootData(root, "batch", header && String(header.batch));
  useRootData(root, "mode", header && mode);
  useRootData(root, "mime", header?.mime);
  useRootData(root, "sheet", sheet ? String(count) : undefined);
  useLayoutEffect(() => {
    root.addEventListener("keydown", (event) => undoKey(event, (action) => link.ask(action, {})));
  }, [root, link]);

  const marked = useField(link, "show_targets", true);
  useLayoutEffect(() => {
    const toggle = (event: KeyboardEvent): void => {
      const typed = (event.target as HTMLElement).closest("input, textarea, select");
      if (event.key !== "b" || event.ctrlKey || event.metaKey || event.altKey || typed) return;
      event.preventDefault();
      link.set("show_targets", !link.get("show_targets", true));
    };
    root.addEventListener("keydown", toggle);
    return () => root.removeEventListener("keydown", toggle);
  }, [root, link]);
  const compares = mode === "compare";
  const beside = useSheet<SheetHeader, "compared">(link, "compared");
  const there = useField(link, "compared", NOT_NEAR).byteLength > 0;
  const other =
    compares && there && beside.sheet?.header.batch === header?.batch ? beside.sheet : null;
  const { distances = [], name: against = "" } = useField(link, "comparison", {});
  const [at, move] = useState(50);
  const split = { at, move };
  useRootData(root, "compared", other ? String(beside.count) : undefined);

  const columns = useColumns(list, [header, mode, showingOriginal]);
  const classes = useField(link, "shown_classes", []);
  const branches = useField(link, "shown_branches", []);
  const augmentations = useField(link, "shown_augmentations", []);
  const filtered = classes.length > 0 || branches.length > 0 || augmentations.length > 0;
  const ofThese = useMemo(() => ofClasses(header?.tiles ?? [], classes), [header, classes]);
  const tiles = useMemo(
    () => {
      if (!header) return [];
      if (filtered) return withAugmentations(ofBranches(ofThese, branches), augmentations);
      return wholeRows(header, columns);
    },
    [header, ofThese, branches, augmentations, filtered, columns],
  );
  const originals = header !== undefined && isShowingOriginals(header, mode, showingOriginal);
  const picked = useField(link, "marked", []);
  const acts = {
    look: ({ index }: { index: number }) =>
      link.ask("open_closeup", { index, of: mode === "original" ? "original" : "" }),
    choose: ({ index }: { index: number }) => link.ask("choose_sample", { index }),
    mark: ({ index }: { index: number }) => {
      const others = picked.filter((place) => place !== index);
      link.set("marked", picked.includes(index) ? others : [...others, index]);
    },
    repeat: ({ index }: { index: number }) =>
      link.set("repeat", link.get("repeat", -1) < 0 ? index : -1),
  };
  return (
    <>
      <Controls {...{ link, near, showingOriginal, hold }} />
      {compares && <Comparison link={link} />}
      <SheetRemarks
        header={header}
        mode={mode}
        originals={originals}
        manyPhotos={() => link.set("repeat", -1)}
      >
        {header && <Verification link={link} />} {/* grows to its left: the others stay */}
        <ClassFilter {...{ link, header }} tiles={ofThese} />
        <BranchFilter {...{ link, header, tiles }} />
        <AugmentationFilter {...{ link, header, tiles }} />
        {filtered && <FindBatch {...{ link, header }} />}
        {hasOverlays(header) && (
          <WordButton
            label={marked ? "Hide annotations" : "Show annotations"}
            name="marks-toggle"
            data-tip="Boxes, points, masks and labels, here and on the cards (b)"
            aria-pressed={marked}
            onClick={() => link.set("show_targets", !marked)}
          />
        )}
        {header && <DisplayOptions {...{ link, header, tiles }} filtered={filtered} />}
      </SheetRemarks>
      <Tiles
        {...{ sheet, tiles, other, split, distances, mode, showingOriginal, sized, marked, acts, list }}
        picked={picked}
        stale={due}
        hidden={near}
      />
      {filtered && !tiles.length && !near && <NoneInBatch {...{ link, header }} />}
      {closeup && (
        <Closeup
          marksFor={(tile, of) => (marked && header ? overlaysOf(tile, of, header) : [])}
          targetsFor={({ targets }) => (marked ? targets : [])}
          {...{ link, closeup, showingOriginal, split, against }}
          tiles={tiles}
          branches={header?.branches ?? []}
          originals={sheet && mode === "both" ? sheet.pixels : null}
          leave={(index) => {
            left.current = index;
            link.ask("open_closeup", { index: -1, of: "" });
          }}
        />
      )}
      <p class="wb-empty" hidden={sheet !== null || due}>
        Loading the first batch.
      </p>
      <p class="wb-rendering" role="status" hidden={!rendering}>
        rendering
      </p>
      {header && <StatusLine link={link} header={header} />}
      <Statistics link={link} />
      <Notices>
        <Notice
          name="stale"
          words={unreadable ? `The picture could not be read: ${unreadable}` : reason && still}
        >
          {!unreadable &&
            fixes.map((fix, at) => (
              <button
                key={fix}
                class={at ? "wb-quiet" : "wb-btn"}
                type="button"
                data-wb="fix"
                onClick={() => link.ask("fix", { node, arg, fix })}
              >
                {fix}
              </button>
            ))}
          {(unreadable || (retryable && !fixes.length)) && (
            <button
              class="wb-link"
              type="button"
              data-wb="retry"
              onClick={() => link.ask("retry", {})}
            >
              Try again
            </button>
          )}
        </Notice>
      </Notices>
    </>
  );
}

/** Return the tiles that fill whole rows, or all tiles if the batch has no more. */
function wholeRows({ tiles, of }: SheetHeader, columns: number): TileEntry[] {
  const whole = tiles.length - (tiles.length % columns);
  return tiles.length < of && whole ? tiles.slice(0, whole) : tiles;
}

/** Return whether originals are shown (while a button or key is held), and a setter. */
function useShowingOriginal(
  { link, root }: PanelProps<"preview">,
  header: SheetHeader | undefined,
  near: boolean,
): [boolean, (on: boolean) => void] {
  const [on, set] = useState(false);
  const hold = (wanted: boolean): void => {
    if (wanted === on) return;
    set(wanted);
    const has = header?.tiles.some((tile) => tile.original.length === 4) ?? false;
    // Python sends the originals if they are not in the sheet, and removes them again.
    if (wanted ? !has && !near : link.get("show_original", false)) link.set("show_original", wanted);
  };
  const latest = useRef(hold);
  latest.current = hold;
  useLayoutEffect(() => heldKey(root, "o", (wanted) => latest.current(wanted)), [root]);
  useRootData(root, "showOriginal", on ? "true" : undefined);
  return [on, hold];
}

export default component("preview", css, Preview, "wb-panel");
