// Part of a contact sheet.

import { useLayoutEffect, useRef } from "preact/hooks";
import { paintPart } from "./contactSheet";

/** Part of a sheet. `rect` is x, y, width and height in pixels of the sheet. */
export function Picture({ pixels, rect }: { pixels: ImageBitmap; rect: number[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => paintPart(canvas.current!, pixels, rect), [pixels, rect.join()]);
  return <canvas aria-hidden="true" ref={canvas} />;
}
