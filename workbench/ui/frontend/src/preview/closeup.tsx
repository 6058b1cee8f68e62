// Close-up of one tile: zoomed with wheel and keys, with the values of the pixel under the pointer
// as in the pipeline.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { IconButton, WordButton } from "../lib/button";
import type { Payload } from "../lib/binaryPayload";
import { paintPart } from "../lib/contactSheet";
import { useField } from "../lib/hooks";
import { RandomIcon, Icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { showWithin } from "../lib/scrolling";
import { Segmented } from "../lib/segmented";
import type { Branch, CloseupHeader, MarkEntry, TileEntry } from "../payloads";
import { branchTexts } from "./branches";
import { CloseupSplit, Sides, useComparedCloseup } from "./closeupSplit";
import { Overlays } from "./overlays";
import { PixelValues, valueText } from "./pixelValues";
import type { Split } from "./split";
import { Zoom, type View } from "./zoom";

const NO_VALUES = new ArrayBuffer(0);

interface Props {
  link: Link<"preview">;
  closeup: Payload<CloseupHeader>;
  /** Available tiles in order. */
  tiles: TileEntry[];
  /** All bodies of the graph's blocks. */
  branches: Branch[];
  showingOriginal: boolean;
  split: Split;
  /** Name of the graph in the comparison. */
  against: string;
  /** Annotations to draw on a picture. */
  marksFor: (tile: TileEntry, of: string) => MarkEntry[];
  targetsFor: (tile: TileEntry) => string[];
  /** Sheet of the tiles if originals are shown next to the augmented ones. */
  originals: ImageBitmap | null;
  /** Return to all tiles; `index` is the current one. */
  leave: (index: number) => void;
}

interface Held {
  of: string;
  view: View;
}

export function Closeup({ link, closeup, tiles, branches, showingOriginal, ...rest }: Props) {
  const { split, against, marksFor, targetsFor, originals, leave } = rest;
  const { header } = closeup;
  const { index, of, choices, error, full, note, frames, frame } = header;
  const place = tiles.findIndex((each) => each.index === index);
  const tile = tiles[place];
  const asked = useRef("");
  const held = useRef<Held | null>(null);
  /** Picture to show again when the original is released. */
  const again = useRef<Held | null>(null);
  const section = useRef<HTMLElement>(null);
  const look = (to: number, picture: string): void => {
    asked.current = "";
    link.ask("open_closeup", { index: to, of: picture });
  };
  const { image, zoom, pixel, byKey, scale } = useZoom(closeup, section, again);

  const compared = useComparedCloseup(link, header);
  const marks = tile ? marksFor(tile, of) : [];
  const layer = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => zoom.current!.cover(layer.current), [marks.length > 0]);

  // Show the original while it is held, then the previous picture.
  useLayoutEffect(() => {
    const before = held.current;
    if (showingOriginal && !before && of !== "original" && choices.includes("original")) {
      held.current = { of, view: zoom.current!.view() };
      look(index, "original");
    } else if (!showingOriginal && before) {
      held.current = null;
      again.current = before;
      look(index, before.of);
    }
  }, [showingOriginal, header]);

  const first = place <= 0;
  const last = place >= tiles.length - 1;
  const go = (by: number): void => look(tiles[place + by]!.index, of);
  const choose = (to: number): void => {
    asked.current = "";
    link.ask("choose_frame", { frame: to });
  };
  const key = (event: KeyboardEvent): void => {
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    if (event.key === "Escape") leave(index);
    else if (by === 1 && !last) go(1);
    else if (by === -1 && !first) go(-1);
    else if (frames > 0 && event.key === "." && frame < frames - 1) choose(frame + 1);
    else if (frames > 0 && event.key === "," && frame >= 0) choose(frame - 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const [wide = 0, tall = 0] = full;
  const facts = [tile?.class_name, tile && shapeOf(tile, of), `${wide}×${tall} px`, note];
  const file = tile?.file ?? "";
  return (
    <section
      ref={section}
      class="wb-closeup"
      aria-label="Close-up"
      data-wb="closeup"
      data-index={index}
      data-of={of}
      onKeyDown={key}
    >
      <div class="wb-closeup-head">
        <WordButton label="All tiles" name="closeup-close" icon="left" onClick={() => leave(index)} />
        <span class="wb-control">
          <IconButton
            label="Previous sample"
            name="closeup-back"
            disabled={first}
            onClick={() => go(-1)}
          >
            <Icon name="left" size={13} />
          </IconButton>
          <IconButton label="Next sample" name="closeup-next" disabled={last} onClick={() => go(1)}>
            <Icon name="right" size={13} />
          </IconButton>
        </span>
        <p class="wb-closeup-title">
          <b>{file}</b> <span class="wb-muted">{facts.filter(Boolean).join(" · ")}</span>
        </p>
        <Segmented
          label="Which picture"
          choices={choices.map((id) => ({ id, label: id === "original" ? "Original" : id }))}
          chosen={of}
          choose={(picture) => {
            held.current = null;
            look(index, picture);
          }}
        />
        {frames > 0 && <Frames {...{ frames, frame, choose }} />}
        <span class="wb-grow" />
        <button
          class="wb-quiet"
          type="button"
          data-wb="closeup-repeat"
          data-tip="Many random variants of this photo"
          onClick={() => {
            link.set("repeat", index);
            leave(index);
          }}
        >
          <RandomIcon size={13} /> Random variants
        </button>
        <WordButton
          label="Save"
          name="closeup-keep"
          icon="bookmark"
          data-tip="Save this sample with the graph"
          onClick={() => link.ask("save_draw", { sample: index })}
        />
      </div>
      {compared && !error && <Sides {...{ compared, against }} />}
      <div class="wb-closeup-pictures">
        {originals && tile && tile.original.length > 0 && of !== "original" && !error && (
          <Original pixels={originals} box={tile.original} />
        )}
        <div
          ref={image}
          class="wb-zoomable-image"
          tabIndex={0}
          role="application"
          aria-roledescription="picture"
          aria-label={`${file}, ${of}. Arrow keys move the marked pixel, plus and minus zoom, 0 fits.`}
          data-wb="zoomable-image"
          style={{ "--split": String(split.at / 100) }}
          hidden={error !== ""}
        >
          <canvas aria-hidden="true" />
          <i class="wb-mark" hidden />
          {marks.length > 0 && <Overlays marks={marks} layer={layer} />}
          {compared?.pixels && (
            <CloseupSplit pixels={compared.pixels} {...{ zoom, split, file }} />
          )}
        </div>
      </div>
      <div class="wb-closeup-foot">
        <Reading link={link} header={header} pixel={pixel} byKey={byKey} asked={asked} />
        <span class="wb-grow" />
        <span class="wb-control">
          <IconButton label="Zoom out (-)" name="zoom-out" onClick={() => zoom.current!.zoom(0.8)}>
            <Icon name="minus" size={13} />
          </IconButton>
          <span class="wb-scale">{Math.round(scale * 100)} %</span>
          <IconButton label="Zoom in (+)" name="zoom-in" onClick={() => zoom.current!.zoom(1.25)}>
            <Icon name="plus" size={13} />
          </IconButton>
          <IconButton label="Fit (0)" name="zoom-fit" onClick={() => zoom.current!.fit()}>
            <Icon name="fit" size={13} />
          </IconButton>
        </span>
      </div>
      <p class="wb-closeup-draws">
        {tile &&
          branchTexts(tile, branches).map((text) => (
            <b key={text} data-wb="fired">
              {text}
            </b>
          ))}
        {(tile ? targetsFor(tile) : []).map((text) => (
          <b key={text} data-wb="target-text">
            {text}
          </b>
        ))}
        {tile?.draws.map((draw) => (
          <span key={draw}>{draw}</span>
        ))}
      </p>
      <p class="wb-empty" data-wb="closeup-error" hidden={!error}>
        {error}
      </p>
    </section>
  );
}

interface OriginalProps {
  pixels: ImageBitmap;
  box: number[];
}

/** Original next to the close-up, in the size of its tile. */
function Original({ pixels, box }: OriginalProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => paintPart(canvas.current!, pixels, box), [pixels, box]);
  return (
    <figure data-wb="closeup-original">
      <canvas ref={canvas} role="img" aria-label="Original" />
      <figcaption>original, as shown in the tile</figcaption>
    </figure>
  );
}

interface FramesProps {
  frames: number;
  /** Index of the frame; -1 for all frames next to each other. */
  frame: number;
  choose: (frame: number) => void;
}

/** Slider to select a frame of a sequence; its left end shows all frames. */
function Frames({ frames, frame, choose }: FramesProps) {
  const shown = frame < 0 ? "All frames" : `Frame ${frame + 1} of ${frames}`;
  return (
    <label class="wb-control" data-tip="Keys: comma and full stop for the previous and next frame">
      <input
        type="range"
        aria-label="Frame"
        aria-valuetext={shown}
        data-wb="closeup-frame"
        min={-1}
        max={frames - 1}
        step={1}
        value={frame}
        onInput={(event) => choose(Number(event.currentTarget.value))}
      />
      <span class="wb-muted">{shown}</span>
    </label>
  );
}

interface Pixel {
  x: number;
  y: number;
}

/** Return shape and type of the output. */
function shapeOf({ shape }: TileEntry, of: string): string {
  return of === "original" ? "" : shape;
}

/** Return the zoomable picture, its element, and the marked pixel. */
function useZoom(
  { header, payload }: Payload<CloseupHeader>,
  section: { current: HTMLElement | null },
  again: { current: Held | null },
) {
  const image = useRef<HTMLDivElement>(null);
  const zoom = useRef<Zoom | null>(null);
  const [scale, setScale] = useState(1);
  const [{ pixel, byKey }, mark] = useState<{ pixel: Pixel | null; byKey: boolean }>({
    pixel: null,
    byKey: false,
  });
  useLayoutEffect(() => {
    const el = image.current!;
    const [canvas, frame] = el.children as unknown as [HTMLCanvasElement, HTMLElement];
    const marked = (moved: boolean): void => mark({ pixel: zoom.current!.pixel, byKey: moved });
    zoom.current = new Zoom(el, canvas, frame, marked, setScale);
    el.focus({ preventScroll: true });
    showWithin(el.closest(".wb-panel"), el);
    return () => zoom.current!.end();
  }, []);
  useLayoutEffect(() => {
    if (header.error) return;
    let current = true;
    const paint = async (): Promise<void> => {
      const picture = await createImageBitmap(new Blob([payload], { type: "image/png" }));
      if (!current) return picture.close();
      zoom.current!.show(picture);
      if (again.current?.of === header.of) {
        zoom.current!.restore(again.current.view);
        again.current = null;
      }
      const { dataset } = section.current!;
      dataset["painted"] = String(Number(dataset["painted"] ?? 0) + 1);
    };
    void paint();
    return () => {
      current = false;
    };
  }, [header, payload]);
  return { image, zoom, pixel, byKey, scale };
}

interface ReadingProps {
  link: Link<"preview">;
  header: CloseupHeader;
  pixel: Pixel | null;
  byKey: boolean;
  /** Pixel whose values were requested. */
  asked: { current: string };
}

/** Values of the marked pixel as in the pipeline. */
function Reading({ link, header, pixel, byKey, asked }: ReadingProps) {
  const bytes = useField(link, "values", NO_VALUES);
  const values = useMemo(() => PixelValues.read(bytes), [bytes]);
  const at = inSample(pixel, header);
  const { index, of, frame } = header;
  const shown = values?.header;
  const fits = shown?.index === index && shown.of === of && shown.frame === frame;
  const found = at && values && fits ? values.at(at.x, at.y) : null;
  const failed = values?.header.error ?? "";
  useLayoutEffect(() => {
    if (failed) asked.current = "";
  }, [values]);
  useLayoutEffect(() => {
    if (!at || found) return;
    // Once per pixel: a response for another sample must not cause another request.
    const key = `${index} ${of} ${frame} ${at.x >> 6} ${at.y >> 6}`;
    if (key === asked.current) return;
    asked.current = key;
    link.ask("probe_pixel", at);
  }, [at?.x, at?.y, header]);
  return (
    <>
      <span>{at ? `x ${at.x}  y ${at.y}` : "Point at a pixel to see its values"}</span>
      <output data-wb="reading" aria-live={byKey ? "polite" : "off"}>
        {at && (found ? valuesText(found, values!.header.dtype) : failed || "…")}
      </output>
    </>
  );
}

/** Convert the marked pixel to pixels of the sample, whose picture may be smaller. */
function inSample(pixel: Pixel | null, { size, full }: CloseupHeader): Pixel | null {
  const [wide = 1, tall = 1] = size;
  const [fullWide = 1, fullTall = 1] = full;
  // The pixel may have been marked in a larger picture.
  if (!pixel || pixel.x >= wide || pixel.y >= tall) return null;
  return {
    x: Math.floor((pixel.x * fullWide) / wide),
    y: Math.floor((pixel.y * fullTall) / tall),
  };
}

function valuesText(found: number[], dtype: string): string {
  const names = found.length === 3 ? ["R", "G", "B"] : found.map((_, at) => String(at));
  const words = found.map((value, at) =>
    found.length === 1 ? valueText(value) : `${names[at]} ${valueText(value)}`,
  );
  return `${words.slice(0, 12).join("  ")}  ${dtype}`;
}
