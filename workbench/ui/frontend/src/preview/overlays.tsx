// Boxes, points and masks drawn on a picture, with class names. They are not part of its pixels.

import type { Ref } from "preact";
import type { MarkEntry, SheetHeader, TileEntry } from "../payloads";

const HUES = 12;

/** Return the annotations on one picture of a tile, given its rectangle in the sheet. */
export function overlaysAt({ original, augmented, marks }: TileEntry, rect: number[]): MarkEntry[] {
  const pictures = original.length === 4 ? [original, ...augmented] : augmented;
  return marks[pictures.findIndex((each) => each.join() === rect.join())] ?? [];
}

/** Return the annotations on an output, or on the original. */
export function overlaysOf(tile: TileEntry, of: string, { outputs }: SheetHeader): MarkEntry[] {
  const has = tile.original.length === 4;
  if (of === "original") return has ? (tile.marks[0] ?? []) : [];
  return tile.marks[outputs.indexOf(of) + (has ? 1 : 0)] ?? [];
}

/** Return whether there are annotations to draw. */
export function hasOverlays(header: SheetHeader | undefined): boolean {
  const has = ({ marks, targets }: TileEntry): boolean =>
    targets.length > 0 || marks.some((each) => each.length > 0);
  return header?.tiles.some(has) ?? false;
}

/** Return a description of annotations for screen readers. */
export function overlayText(marks: MarkEntry[]): string {
  const counts = new Map<string, number>();
  const masked = marks.filter(({ mask }) => mask).map(({ text }) => `mask: ${text}`);
  for (const { text, mask, left } of marks) {
    const said = left ? `${text || "point"} outside` : text;
    if (!mask) counts.set(said, (counts.get(said) ?? 0) + 1);
  }
  const counted = [...counts].map(([text, count]) => `${count} × ${text || "marked"}`);
  return [...counted, ...masked].join(", ");
}

interface Props {
  marks: MarkEntry[];
  layer?: Ref<HTMLDivElement>;
  /** Aspect ratio of the picture, if the layer determines its own size. */
  ratio?: number;
}

export function Overlays({ marks, layer, ratio }: Props) {
  return (
    <div
      ref={layer ?? null}
      class="wb-marks"
      aria-hidden="true"
      data-wb="marks"
      style={ratio ? { "--ratio": String(ratio) } : {}}
    >
      {marks.map((mark, index) => (
        <Overlay key={index} {...mark} />
      ))}
    </div>
  );
}

function Overlay({ corners, text, colour, mask, names, outline, left: gone }: MarkEntry) {
  const [left = 0, top = 0, right = 0, bottom = 0] = corners;
  const point = right === left && bottom === top;
  if (mask) {
    return (
      <>
        <img class="wb-mask" data-wb="mask" src={mask} alt="" draggable={false} />
        {names.map(({ x, y, ...name }) => (
          <i
            key={name.text}
            class="wb-named"
            style={{ left: `${x * 100}%`, top: `${y * 100}%`, "--hue": hue(name.colour) }}
          >
            <b>{name.text}</b>
          </i>
        ))}
      </>
    );
  }
  const shape = outline.length ? "wb-outline" : point ? "wb-point" : "wb-box";
  return (
    <i
      class={gone ? `${shape} wb-left` : shape}
      style={{
        left: `${left * 100}%`,
        top: `${top * 100}%`,
        width: `${(right - left) * 100}%`,
        height: `${(bottom - top) * 100}%`,
        "--hue": hue(colour),
      }}
    >
      {outline.length > 0 && <Outline corners={corners} outline={outline} />}
      {text && <b>{text}</b>}
    </i>
  );
}

function hue(colour: number): string {
  return String(((colour * 5) % HUES) * (360 / HUES));
}

/** Polygon drawn relative to its bounding box. */
function Outline({ corners, outline }: Pick<MarkEntry, "corners" | "outline">) {
  const [left = 0, top = 0, right = 0, bottom = 0] = corners;
  const points = outline.map((value, index) =>
    index % 2 ? (value - top) / (bottom - top || 1) : (value - left) / (right - left || 1),
  );
  return (
    <svg viewBox="0 0 1 1" preserveAspectRatio="none" data-wb="outline">
      <polygon points={points.join(" ")} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
