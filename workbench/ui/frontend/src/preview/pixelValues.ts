// Values of a region of one sample, as in the pipeline.

import { parsePayload } from "../lib/binaryPayload";
import type { Bytes, ValuesHeader } from "../payloads";

const READERS: Record<ValuesHeader["store"], [number, (view: DataView, at: number) => number]> = {
  u1: [1, (view, at) => view.getUint8(at)],
  i1: [1, (view, at) => view.getInt8(at)],
  u2: [2, (view, at) => view.getUint16(at, true)],
  i2: [2, (view, at) => view.getInt16(at, true)],
  u4: [4, (view, at) => view.getUint32(at, true)],
  i4: [4, (view, at) => view.getInt32(at, true)],
  f4: [4, (view, at) => view.getFloat32(at, true)],
  f8: [8, (view, at) => view.getFloat64(at, true)],
};

export class PixelValues {
  private constructor(
    readonly header: ValuesHeader,
    private view: DataView,
  ) {}

  static read(bytes: Bytes): PixelValues | null {
    const read = parsePayload<ValuesHeader>(bytes);
    if (!read) return null;
    const { buffer, byteOffset, byteLength } = read.payload;
    return new PixelValues(read.header, new DataView(buffer, byteOffset, byteLength));
  }

  /** Return the channel values of a pixel; null outside the region. */
  at(x: number, y: number): number[] | null {
    const { header } = this;
    const [wide = 0, tall = 0] = header.region;
    const column = x - header.x;
    const line = y - header.y;
    if (column < 0 || line < 0 || column >= wide || line >= tall) return null;
    const [size, read] = READERS[header.store];
    const from = (line * wide + column) * header.channels;
    return Array.from({ length: header.channels }, (_, at) => read(this.view, (from + at) * size));
  }
}

/** Format a pixel value: integers in full, other numbers with four digits. */
export function valueText(value: number): string {
  const words = Number.isInteger(value) ? String(value) : value.toPrecision(4);
  return words.replace("-", "−");
}
