// Contact sheet with its header, decoded asynchronously.

import type { Bytes } from "../payloads";
import { parsePayload } from "./binaryPayload";

interface Header {
  mime: string;
  /** [width, height] in pixels. */
  sheet: number[];
}

/** Raw pixels: RGBA, 8 bits each. */
const RAW = "image/x-rgba";

export interface Sheet<H> {
  header: H;
  pixels: ImageBitmap;
}

async function decode<H extends Header>(bytes: Bytes): Promise<Sheet<H> | null> {
  const read = parsePayload<H>(bytes);
  if (!read) return null;
  const { header, payload } = read;
  const [wide = 0, tall = 0] = header.sheet;
  if (!wide || !tall || !payload.byteLength) {
    return { header, pixels: await createImageBitmap(new ImageData(1, 1)) };
  }
  if (header.mime === RAW) {
    const { buffer, byteOffset, byteLength } = payload;
    const values = new Uint8ClampedArray(buffer as ArrayBuffer, byteOffset, byteLength);
    return { header, pixels: await createImageBitmap(new ImageData(values, wide, tall)) };
  }
  return { header, pixels: await createImageBitmap(new Blob([payload], { type: header.mime })) };
}

/**
 * Decodes one sheet at a time, always the latest. The pixels are valid for the painter until the
 * next sheet.
 */
export class Decoder<H extends Header> {
  private busy = false;
  private waiting: Bytes | null = null;
  private last: Sheet<H> | null = null;

  constructor(
    private paint: (sheet: Sheet<H>) => void,
    private failed: (reason: string) => void,
    /** Called when the sheet is removed because the bytes are empty. */
    private emptied: () => void = () => {},
  ) {}

  push(bytes: Bytes): void {
    this.waiting = bytes;
    if (!this.busy) void this.run();
  }

  private async run(): Promise<void> {
    this.busy = true;
    try {
      while (this.waiting) {
        const bytes = this.waiting;
        this.waiting = null;
        try {
          const sheet = await decode<H>(bytes);
          const before = this.last;
          this.last = sheet;
          if (sheet) this.paint(sheet);
          else this.emptied();
          before?.pixels.close();
        } catch (error) {
          this.failed(error instanceof Error ? error.message : String(error));
        }
      }
    } finally {
      this.busy = false;
    }
  }
}

/** Paint a part of a sheet into a canvas of the same size. */
export function paintPart(canvas: HTMLCanvasElement, pixels: ImageBitmap, rect: number[]): void {
  const [x = 0, y = 0, wide = 1, tall = 1] = rect;
  if (canvas.width !== wide) canvas.width = wide;
  if (canvas.height !== tall) canvas.height = tall;
  const context = canvas.getContext("2d");
  if (!context) return;
  context.clearRect(0, 0, wide, tall);
  context.drawImage(pixels, x, y, wide, tall, 0, 0, wide, tall);
}
