// Binary payload with metadata in one field: u32 little-endian header length, JSON header, bytes.

import type { Bytes } from "../payloads";

export interface Payload<H> {
  header: H;
  payload: Uint8Array<ArrayBuffer>;
}

/** Return the header and the bytes of a payload; null for an empty field. */
export function parsePayload<H>(bytes: Bytes | null): Payload<H> | null {
  if (!bytes || bytes.byteLength < 4) return null;
  const all = ArrayBuffer.isView(bytes)
    ? new Uint8Array(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.byteLength)
    : new Uint8Array(bytes);
  const length = new DataView(all.buffer, all.byteOffset).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(all.subarray(4, 4 + length))) as H;
  return { header, payload: all.subarray(4 + length) };
}
