// Close-up in compare mode: the other graph's picture on the left of the slider, the current one on
// the right.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { parsePayload } from "../lib/binaryPayload";
import { useField } from "../lib/hooks";
import type { Link } from "../lib/link";
import type { CloseupHeader } from "../payloads";
import { SplitHandle, type Split } from "./split";
import type { Zoom } from "./zoom";

const NONE = new ArrayBuffer(0);

export interface ComparedCloseup {
  header: CloseupHeader;
  /** Decoded picture; null if there is none, or not yet. */
  pixels: ImageBitmap | null;
}

/** Return the picture of the same sample and output in the other graph; null without one. */
export function useComparedCloseup(
  link: Link<"preview">,
  { index, of }: CloseupHeader,
): ComparedCloseup | null {
  const bytes = useField(link, "compared_closeup", NONE);
  const found = useMemo(() => parsePayload<CloseupHeader>(bytes), [bytes]);
  const [decoded, show] = useState<{ of: unknown; pixels: ImageBitmap } | null>(null);
  useLayoutEffect(() => {
    if (!found || found.header.error) return;
    let current = true;
    void createImageBitmap(new Blob([found.payload], { type: "image/png" })).then((pixels) => {
      if (current) show({ of: found, pixels });
      else pixels.close();
    });
    return () => {
      current = false;
    };
  }, [found]);
  if (!found || found.header.index !== index || found.header.of !== of) return null;
  return { header: found.header, pixels: decoded?.of === found ? decoded.pixels : null };
}

interface Props {
  pixels: ImageBitmap;
  zoom: { current: Zoom | null };
  split: Split;
  file: string;
}

/**
 * The other picture has the size of the current one; with other proportions it is centred. The slider spans
 * the visible part of the picture.
 */
export function CloseupSplit({ pixels, zoom, split, file }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const el = canvas.current!;
    el.width = pixels.width;
    el.height = pixels.height;
    el.getContext("2d")?.drawImage(pixels, 0, 0);
    return zoom.current!.overlay(el);
  }, [pixels]);
  return (
    <>
      <div class="wb-closeup-other" aria-hidden="true">
        <canvas ref={canvas} />
      </div>
      <div class="wb-closeup-slide">
        <SplitHandle {...{ split }} reached label={`Other graph and current graph, ${file}`} />
      </div>
    </>
  );
}

interface SidesProps {
  compared: ComparedCloseup;
  against: string;
}

/** Text that names the graph on each side, or the reason why the other picture is missing. */
export function Sides({ compared: { header, pixels }, against }: SidesProps) {
  const [wide = 0, tall = 0] = header.full;
  const facts = [`${wide}×${tall} px`, header.note].filter(Boolean).join(" · ");
  return (
    <p class="wb-closeup-sides" data-wb="closeup-sides" role={header.error ? "alert" : undefined}>
      {header.error ? (
        `Only the current graph is shown. ${header.error}`
      ) : (
        <>
          <span>
            left: <b>{against}</b>
            {pixels ? `, ${facts}` : ", computing …"}
          </span>
          <span>right: current graph (pixel values)</span>
        </>
      )}
    </p>
  );
}
