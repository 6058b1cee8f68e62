// The tiles of a batch: each draws its part of the sheet and says what was drawn for it.

import { iconButton } from "../lib/button";
import { attr, h, Keyed } from "../lib/dom";
import { dice, icon } from "../lib/icons";
import { paintPart, type Sheet } from "../lib/contactSheet";
import type { PreviewFields, SheetHeader, TileEntry } from "../views";

type Mode = PreviewFields["mode"];

interface Acts {
  look(tile: TileEntry): void;
  steps(tile: TileEntry): void;
  repeat(tile: TileEntry): void;
}

export class Tiles {
  readonly el = h("div", {
    class: "wb-tiles",
    role: "list",
    "aria-label": "Samples",
    "data-wb": "tiles",
  });
  private keyed: Keyed<TileEntry>;
  private sheet: Sheet<SheetHeader> | null = null;
  private mode: Mode = "both";
  private showingOriginal = false;
  private at = 0;

  constructor(private acts: Acts) {
    // Keyed by place, not by sample, so that the next batch reuses these canvases.
    this.keyed = new Keyed<TileEntry>(
      this.el,
      (_, index) => String(index),
      () => this.make(),
      (el, tile, index) => this.update(el, tile, index),
    );
    this.el.addEventListener("keydown", (event) => this.key(event));
    this.el.addEventListener("focusin", (event) => {
      const index = [...this.el.children].indexOf((event.target as Element).closest(".wb-tile")!);
      if (index >= 0) this.reach(index);
    });
  }

  draw(sheet: Sheet<SheetHeader>, mode: Mode, showingOriginal: boolean): void {
    this.sheet = sheet;
    this.mode = mode;
    this.showingOriginal = showingOriginal;
    const { tiles, tile } = sheet.header;
    this.at = Math.min(this.at, Math.max(0, tiles.length - 1));
    this.el.style.setProperty("--cells", String(this.cells()));
    this.el.style.setProperty("--tile", `${tile}px`);
    attr(this.el, "data-shows-original", this.showsOriginal() ? "true" : null);
    this.keyed.draw(tiles);
  }

  /** Whether originals stand in place of what the mode shows. */
  showsOriginal(): boolean {
    const good = this.sheet?.header.tiles.find((tile) => !tile.error);
    return this.mode !== "original" && good !== undefined && showsOriginal(good, this.showingOriginal);
  }

  focus(index: number): void {
    (this.frame(index) ?? this.frame(this.at))?.focus();
  }

  private make(): HTMLElement {
    const frame = h("button", { class: "wb-tile-frame", type: "button" });
    const acts = h("div", { class: "wb-tile-acts" });
    const el = h("div", { class: "wb-tile", role: "listitem", "data-wb": "tile" }, frame, acts);
    const tile = (): TileEntry => this.sheet!.header.tiles[[...this.el.children].indexOf(el)]!;
    frame.addEventListener("click", () => this.acts.look(tile()));
    acts.append(
      iconButton("All steps of this sample (s)", "tile-steps", icon("steps", 14), () =>
        this.acts.steps(tile()),
      ),
      iconButton("Many draws of this photo (r)", "tile-repeat", dice(14), () =>
        this.acts.repeat(tile()),
      ),
    );
    for (const button of acts.children) attr(button, "tabindex", -1);
    el.append(h("p"));
    return el;
  }

  private update(el: HTMLElement, tile: TileEntry, index: number): void {
    const [frame, , caption] = el.children as unknown as HTMLElement[];
    if (!frame || !caption) return;
    const bad = tile.error !== "";
    attr(el, "class", bad ? "wb-tile wb-tile-bad" : "wb-tile");
    attr(el, "data-index", tile.index);
    attr(el, "data-file", tile.file);
    attr(el, "data-error", bad ? "true" : null);
    attr(el, "data-warning", tile.warning ? "true" : null);
    // Shape and draws are the augmented picture's.
    const changed = this.mode !== "original";
    const known = changed ? [tile.shape, ...tile.draws] : [];
    attr(frame, "data-tip", `${tile.file}\n\n${lines(tile, known).join("\n")}`);
    attr(frame, "aria-label", [tile.file, ...lines(tile, known)].join(", "));
    attr(frame, "tabindex", index === this.at ? 0 : -1);
    const of = JSON.stringify([tile.file, tile.label, tile.warning, known, bad]);
    if (caption.dataset["of"] !== of) {
      caption.dataset["of"] = of;
      caption.replaceChildren(...captions(tile, changed));
    }
    if (bad) {
      frame.replaceChildren(icon("warn", 16), h("span", {}, tile.file), h("span", {}, tile.error));
    } else {
      this.paint(frame, tile);
    }
  }

  private paint(frame: HTMLElement, tile: TileEntry): void {
    const rects = this.parts(tile);
    if (frame.children.length !== rects.length || frame.querySelector("canvas") === null) {
      frame.replaceChildren(...rects.map(() => h("canvas", { "aria-hidden": "true" })));
    }
    const { pixels } = this.sheet!;
    rects.forEach((rect, index) =>
      paintPart(frame.children[index] as HTMLCanvasElement, pixels, rect),
    );
  }

  /** The places in the sheet of what a tile shows, side by side. */
  private parts(tile: TileEntry): number[][] {
    const { outputs } = this.sheet!.header;
    const original = tile.original.length === 4 ? [tile.original] : [];
    if (this.mode === "original" && original.length) return original;
    const changed = showsOriginal(tile, this.showingOriginal) ? outputs.map(() => tile.original) : tile.augmented;
    return this.mode === "both" ? [...original, ...changed] : changed;
  }

  /** How many pictures stand side by side in a tile. */
  private cells(): number {
    const good = this.sheet!.header.tiles.filter((tile) => !tile.error);
    return Math.max(1, ...good.map((tile) => this.parts(tile).length));
  }

  private key(event: KeyboardEvent): void {
    const columns = getComputedStyle(this.el).gridTemplateColumns.split(" ").length;
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    if (by) {
      const next = this.frame(this.at + by);
      if (!next) return;
      event.preventDefault();
      next.focus();
      return;
    }
    const act = { s: this.acts.steps, r: this.acts.repeat }[event.key];
    const tile = this.sheet?.header.tiles[this.at];
    if (!act || !tile || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(tile);
  }

  private frame(index: number): HTMLElement | null {
    return (this.el.children[index]?.firstElementChild as HTMLElement | null | undefined) ?? null;
  }

  private reach(index: number): void {
    this.at = index;
    for (let i = 0; i < this.el.children.length; i++) {
      attr(this.frame(i)!, "tabindex", i === index ? 0 : -1);
    }
  }
}

/** Whether the original stands in for the rest: also until a sheet comes that has the rest. */
function showsOriginal(tile: TileEntry, showingOriginal: boolean): boolean {
  return tile.original.length === 4 && (showingOriginal || !tile.augmented.length);
}

function captions(tile: TileEntry, changed: boolean): HTMLElement[] {
  const name = tile.file.split("/").pop() ?? tile.file;
  const head = h(
    "b",
    {},
    h("span", {}, name),
    tile.label && h("i", { "data-wb": "label" }, tile.label),
  );
  if (tile.error) return [head, h("span", {}, "left out")];
  return [
    head,
    ...(tile.warning ? [h("span", { class: "wb-warning" }, `⚠ ${tile.warning}`)] : []),
    ...(changed ? tile.draws.map((draw) => h("span", { class: "wb-drawn" }, draw)) : []),
    changed && h("span", { class: "wb-drawn wb-shape" }, tile.shape),
  ].filter((el) => el !== false);
}

function lines(tile: TileEntry, known: string[]): string[] {
  const label = tile.label && `label ${tile.label}`;
  const rest = tile.error
    ? [tile.error, "Left out; the others are shown."]
    : [tile.warning, ...known, ...tile.notes];
  return [label, ...rest].filter(Boolean);
}
