// One tile in place of them all: zoomed with wheel and keys, with the values of the pixel under the
// pointer as they are in the pipeline.

import { iconButton, wordButton } from "../lib/button";
import { attr, h, show, text } from "../lib/dom";
import { dice, icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { parsePayload } from "../lib/binaryPayload";
import { segmented } from "../lib/segmented";
import type { CloseupHeader, SheetHeader, TileEntry } from "../views";
import { ZoomableImage, type View } from "./zoomableImage";
import { PixelValues, valueText } from "./pixelValues";

export class Closeup {
  readonly el: HTMLElement;
  private image = new ZoomableImage(
    (byKey) => this.probe(byKey),
    (scale) => text(this.scale, `${Math.round(scale * 100)} %`),
  );
  private title = h("b", {});
  private facts = h("span", { class: "wb-muted" });
  private which = segmented("Which picture", (of) => {
    this.held = null;
    this.look(this.index, of);
  });
  private scale = h("span", { class: "wb-scale" });
  private place = h("span", {});
  private reading = h("output", { "data-wb": "reading" });
  private draws = h("p", { class: "wb-closeup-draws" });
  private fault = h("p", { class: "wb-empty", "data-wb": "closeup-error" });
  private back: HTMLButtonElement;
  private next: HTMLButtonElement;
  private header: CloseupHeader | null = null;
  private values: PixelValues | null = null;
  private sheet: SheetHeader | null = null;
  private index = -1;
  private left: number | null = null;
  private asked = "";
  /** What is to be seen again once the original is held no more. */
  private held: { of: string; view: View } | null = null;
  private again: { of: string; view: View } | null = null;

  constructor(private link: Link<"preview">) {
    const leave = wordButton("All tiles", "closeup-close", icon("left", 12), () => this.leave());
    this.back = iconButton("Previous sample", "closeup-back", icon("left", 13), () => this.go(-1));
    this.next = iconButton("Next sample", "closeup-next", icon("right", 13), () => this.go(1));
    const steps = wordButton("All steps", "closeup-steps", icon("steps", 14), () =>
      link.ask("show_steps", { index: this.index }),
    );
    const repeat = wordButton("Many draws", "closeup-repeat", dice(13), () => {
      link.set("repeat", this.index);
      this.leave();
    });
    const keep = wordButton("Keep", "closeup-keep", icon("bookmark", 12), () =>
      link.ask("save_draw", { sample: this.index }),
    );
    attr(repeat, "data-tip", "Many draws of this photo");
    attr(keep, "data-tip", "Keep this draw with the graph");
    this.el = h(
      "section",
      { class: "wb-closeup", "aria-label": "Close-up", "data-wb": "closeup", hidden: true },
      h(
        "div",
        { class: "wb-closeup-head" },
        leave,
        h("span", { class: "wb-control" }, this.back, this.next),
        h("p", { class: "wb-closeup-title" }, this.title, " ", this.facts),
        this.which.el,
        h("span", { class: "wb-grow" }),
        steps,
        repeat,
        keep,
      ),
      this.image.el,
      h(
        "div",
        { class: "wb-closeup-foot" },
        this.place,
        this.reading,
        h("span", { class: "wb-grow" }),
        h(
          "span",
          { class: "wb-control" },
          iconButton("Smaller (-)", "zoom-out", icon("minus", 13), () => this.image.zoom(0.8)),
          this.scale,
          iconButton("Larger (+)", "zoom-in", icon("plus", 13), () => this.image.zoom(1.25)),
          iconButton("Fit (0)", "zoom-fit", icon("fit", 13), () => this.image.fit()),
        ),
      ),
      this.draws,
      this.fault,
    );
    this.el.addEventListener("keydown", (event) => this.key(event));
    link.watch(["values"], () => {
      this.values = PixelValues.read(link.get("values", new ArrayBuffer(0)));
      const error = this.values?.header.error;
      if (error) this.asked = "";
      if (error && this.header && this.pixel()) text(this.reading, error);
      else this.read();
    });
  }

  /** What the sheet says of the tile. */
  know(sheet: SheetHeader): void {
    this.sheet = sheet;
    this.describe();
  }

  /** Draws what Python holds; returns whether there is a close-up at all. */
  draw(): boolean {
    const read = parsePayload<CloseupHeader>(this.link.get("closeup", new ArrayBuffer(0)));
    const opened = read !== null && this.header === null;
    this.header = read?.header ?? null;
    show(this.el, read !== null);
    if (!read) {
      this.index = -1;
      this.held = this.again = null;
      this.image.pixel = null;
      return false;
    }
    const { header, payload } = read;
    this.index = header.index;
    attr(this.el, "data-index", header.index);
    attr(this.el, "data-of", header.of);
    this.which.draw(
      header.choices.map((id) => ({ id, label: id === "original" ? "Original" : id })),
      header.of,
    );
    text(this.fault, header.error);
    show(this.fault, header.error !== "");
    show(this.image.el, header.error === "");
    if (!header.error) void this.paint(payload);
    this.describe();
    if (opened) this.image.el.focus({ preventScroll: true });
    return true;
  }

  /** Shows the original while it is held, and then what was there before. */
  showOriginal(on: boolean): void {
    const { header, held } = this;
    if (on && held === null && header && header.of !== "original") {
      if (!header.choices.includes("original")) return;
      this.held = { of: header.of, view: this.image.view() };
      this.look(this.index, "original");
    } else if (!on && held !== null) {
      this.held = null;
      this.again = held;
      this.look(this.index, held.of);
    }
  }

  /** The sample that was left for the tiles since this was last asked, or null. */
  wasLeft(): number | null {
    const { left } = this;
    if (this.header === null) this.left = null;
    return left;
  }

  private async paint(png: Uint8Array<ArrayBuffer>): Promise<void> {
    const of = this.header;
    const picture = await createImageBitmap(new Blob([png], { type: "image/png" }));
    if (of !== this.header) return picture.close();
    this.image.show(picture);
    if (this.again?.of === this.header?.of) {
      if (this.again) this.image.restore(this.again.view);
      this.again = null;
    }
    this.el.dataset["painted"] = String(Number(this.el.dataset["painted"] ?? 0) + 1);
    this.read();
  }

  private tile(): TileEntry | undefined {
    return this.sheet?.tiles.find((tile) => tile.index === this.index);
  }

  private describe(): void {
    const { header } = this;
    const tile = this.tile();
    if (!header || !tile) return;
    text(this.title, tile.file);
    const [wide = 0, tall = 0] = header.full;
    const label = tile.label && `label ${tile.label}`;
    text(this.facts, [label, `${wide}×${tall} px`, header.note].filter(Boolean).join(" · "));
    this.draws.replaceChildren(...tile.draws.map((draw) => h("span", {}, draw)));
    attr(
      this.image.el,
      "aria-label",
      `${tile.file}, ${header.of}. Arrow keys move the marked pixel, plus and minus zoom, 0 fits.`,
    );
    this.back.disabled = this.index <= 0;
    this.next.disabled = this.index >= (this.sheet?.tiles.length ?? 0) - 1;
  }

  private look(index: number, of: string): void {
    this.asked = "";
    this.link.ask("open_closeup", { index, of });
  }

  private go(by: number): void {
    this.look(this.index + by, this.header?.of ?? "");
  }

  private leave(): void {
    this.left = this.index;
    this.look(-1, "");
  }

  /** The marked pixel in pixels of the sample: the picture of a very large one is smaller. */
  private pixel(): { x: number; y: number } | null {
    const { pixel } = this.image;
    if (!pixel || !this.header) return null;
    const [wide = 1, tall = 1] = this.header.size;
    const [fullWide = 1, fullTall = 1] = this.header.full;
    if (pixel.x >= wide || pixel.y >= tall) return null; // it was marked in a larger picture
    return {
      x: Math.floor((pixel.x * fullWide) / wide),
      y: Math.floor((pixel.y * fullTall) / tall),
    };
  }

  private probe(byKey: boolean): void {
    attr(this.reading, "aria-live", byKey ? "polite" : "off");
    this.read();
  }

  private read(): void {
    const at = this.pixel();
    const { header, values } = this;
    if (!at || !header) {
      text(this.place, "Point at a pixel for its values");
      text(this.reading, "");
      return;
    }
    text(this.place, `x ${at.x}  y ${at.y}`);
    const fits = values && values.header.index === header.index && values.header.of === header.of;
    const found = fits ? values.at(at.x, at.y) : null;
    if (found) {
      const names = found.length === 3 ? ["R", "G", "B"] : found.map((_, at) => String(at));
      const named = found.map((value, at) =>
        found.length === 1 ? valueText(value) : `${names[at]} ${valueText(value)}`,
      );
      text(this.reading, `${named.slice(0, 12).join("  ")}  ${values!.header.dtype}`);
      return;
    }
    text(this.reading, "…");
    // Once for each place: the answer of another sample must not be asked for again and again.
    const key = `${header.index} ${header.of} ${at.x >> 6} ${at.y >> 6}`;
    if (key === this.asked) return;
    this.asked = key;
    this.link.ask("probe_pixel", at);
  }

  private key(event: KeyboardEvent): void {
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    if (event.key === "Escape") this.leave();
    else if (by === 1 && !this.next.disabled) this.go(1);
    else if (by === -1 && !this.back.disabled) this.go(-1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
