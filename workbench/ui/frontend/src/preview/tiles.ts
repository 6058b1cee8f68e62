// The tiles of a batch: each draws its part of the sheet and says what was drawn for it.

import type { SheetHeader, TileEntry } from "../views";
import { attr, h, Keyed } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Sheet } from "./sheet";

export type Mode = "original" | "augmented" | "both";

export class Tiles {
  readonly el = h("div", {
    class: "wb-tiles",
    role: "list",
    "aria-label": "Samples",
    "data-wb": "tiles",
  });
  private keyed: Keyed<TileEntry>;
  private sheet: Sheet | null = null;
  private mode: Mode = "both";
  private at = 0;

  constructor() {
    // Keyed by place, not by sample, so that the next batch reuses these canvases.
    this.keyed = new Keyed<TileEntry>(
      this.el,
      (_, index) => String(index),
      () => make(),
      (el, tile, index) => this.update(el, tile, index),
    );
    this.el.addEventListener("keydown", (event) => this.step(event));
    this.el.addEventListener("focusin", (event) => {
      const index = [...this.el.children].indexOf((event.target as Element).closest(".wb-tile")!);
      if (index >= 0) this.reach(index);
    });
  }

  draw(sheet: Sheet, mode: Mode): void {
    this.sheet = sheet;
    this.mode = mode;
    const { tiles } = sheet.header;
    this.at = Math.min(this.at, Math.max(0, tiles.length - 1));
    this.el.style.setProperty("--cells", String(cells(sheet.header, mode)));
    this.keyed.draw(tiles);
    // The pixels are closed once they are painted.
    this.sheet = null;
  }

  private update(el: HTMLElement, tile: TileEntry, index: number): void {
    const [frame, caption] = el.children as unknown as [HTMLElement, HTMLElement];
    const bad = tile.error !== "";
    attr(el, "class", bad ? "wb-tile wb-tile-bad" : "wb-tile");
    attr(el, "data-index", tile.index);
    attr(el, "data-file", tile.file);
    attr(el, "data-error", bad ? "true" : null);
    attr(el, "data-tip", explain(tile));
    attr(frame, "aria-label", spoken(tile));
    attr(frame, "tabindex", index === this.at ? 0 : -1);
    attr(el, "data-warning", tile.warning ? "true" : null);
    const said = bad ? ["left out"] : tile.draws;
    const of = [tile.warning, ...said].join();
    if (caption.dataset["of"] !== of) {
      caption.dataset["of"] = of;
      const warning = tile.warning && h("span", { class: "wb-warning" }, `⚠ ${tile.warning}`);
      caption.replaceChildren(...(warning ? [warning] : []), ...said.map((d) => h("span", {}, d)));
    }
    if (bad) {
      frame.replaceChildren(icon("warn", 16), h("span", {}, tile.file), h("span", {}, tile.error));
    } else {
      this.paint(frame, tile);
    }
  }

  private paint(frame: HTMLElement, tile: TileEntry): void {
    const rects = parts(tile, this.mode).filter((rect) => rect.length === 4);
    if (frame.children.length !== rects.length || frame.querySelector("canvas") === null) {
      frame.replaceChildren(...rects.map(() => h("canvas", { "aria-hidden": "true" })));
    }
    rects.forEach((rect, index) => {
      const [x = 0, y = 0, wide = 1, tall = 1] = rect;
      const canvas = frame.children[index] as HTMLCanvasElement;
      if (canvas.width !== wide) canvas.width = wide;
      if (canvas.height !== tall) canvas.height = tall;
      const context = canvas.getContext("2d");
      if (!context || !this.sheet) return;
      context.clearRect(0, 0, wide, tall);
      context.drawImage(this.sheet.pixels, x, y, wide, tall, 0, 0, wide, tall);
    });
  }

  private step(event: KeyboardEvent): void {
    const columns = getComputedStyle(this.el).gridTemplateColumns.split(" ").length;
    const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    const next = by && this.el.children[this.at + by];
    if (!next) return;
    event.preventDefault();
    (next.firstElementChild as HTMLElement).focus();
  }

  private reach(index: number): void {
    this.at = index;
    [...this.el.children].forEach((el, i) =>
      attr(el.firstElementChild!, "tabindex", i === index ? 0 : -1),
    );
  }
}

function make(): HTMLElement {
  const frame = h("div", { class: "wb-tile-frame", role: "img" });
  return h("div", { class: "wb-tile", role: "listitem", "data-wb": "tile" }, frame, h("p"));
}

function parts(tile: TileEntry, mode: Mode): number[][] {
  if (mode === "original") return [tile.original];
  return mode === "augmented" ? tile.augmented : [tile.original, ...tile.augmented];
}

/** How many pictures stand side by side in a tile. */
function cells(header: SheetHeader, mode: Mode): number {
  return Math.max(
    1,
    ...header.tiles.filter((tile) => !tile.error).map((tile) => parts(tile, mode).length),
  );
}

function explain(tile: TileEntry): string {
  const label = tile.label && `label ${tile.label}`;
  const lines = tile.error
    ? [tile.error, "Left out; the others are shown."]
    : [tile.warning, tile.shape, ...tile.draws];
  return `${tile.file}\n\n${[label, ...lines].filter(Boolean).join("\n")}`;
}

function spoken(tile: TileEntry): string {
  const label = tile.label && `label ${tile.label}`;
  const rest = tile.error ? [`left out: ${tile.error}`] : [tile.warning, tile.shape, ...tile.draws];
  return [tile.file, label, ...rest].filter(Boolean).join(", ");
}
