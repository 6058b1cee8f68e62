// The contact sheet: one picture with all tiles, and a header that says what they are.

import type { Bytes, SheetHeader } from "../views";

export interface Sheet {
  header: SheetHeader;
  pixels: ImageBitmap;
}

/** u32 little-endian header length, a JSON header, the image; null where there is none yet. */
export function readSheet(
  bytes: Bytes | null,
): { header: SheetHeader; image: Uint8Array<ArrayBuffer> } | null {
  if (!bytes || bytes.byteLength < 4) return null;
  const all = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  const length = new DataView(all.buffer, all.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))) as SheetHeader;
  return { header, image: all.subarray(4 + length) };
}

async function decode(bytes: Bytes): Promise<Sheet | null> {
  const read = readSheet(bytes);
  if (!read) return null;
  const { header, image } = read;
  const [wide = 0, tall = 0] = header.sheet;
  if (header.mime === "image/x-rgba") {
    const raw = new Uint8ClampedArray(image.buffer, image.byteOffset, wide * tall * 4);
    return { header, pixels: await createImageBitmap(new ImageData(raw, wide, tall)) };
  }
  if (!wide || !tall || !image.byteLength) {
    return { header, pixels: await createImageBitmap(new ImageData(1, 1)) };
  }
  return { header, pixels: await createImageBitmap(new Blob([image], { type: header.mime })) };
}

/** Decodes one sheet at a time, off the event's path; of those that wait, only the latest. */
export class Decoder {
  private busy = false;
  private waiting: Bytes | null = null;

  constructor(
    private paint: (sheet: Sheet) => void,
    private failed: (reason: string) => void,
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
          const sheet = await decode(bytes);
          if (!sheet) continue;
          this.paint(sheet);
          sheet.pixels.close();
        } catch (error) {
          this.failed(error instanceof Error ? error.message : String(error));
        }
      }
    } finally {
      this.busy = false;
    }
  }
}
