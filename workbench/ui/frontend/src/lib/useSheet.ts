// The newest contact sheet of a field, decoded.

import { useLayoutEffect, useState } from "preact/hooks";
import type { Bytes } from "../payloads";
import { Decoder, type Sheet } from "./contactSheet";

interface Source<K extends string> {
  get(name: K, fallback: Bytes): Bytes;
  on(name: K, callback: () => void): () => void;
}

interface Shown<H> {
  /** The last that could be read; null where the field is empty. */
  sheet: Sheet<H> | null;
  /** How many were. */
  count: number;
  /** Why the newest could not be; else empty. */
  unreadable: string;
}

export function useSheet<H extends { mime: string; sheet: number[] }, K extends string>(
  link: Source<K>,
  field: K,
): Shown<H> {
  const [shown, show] = useState<Shown<H>>({ sheet: null, count: 0, unreadable: "" });
  useLayoutEffect(() => {
    const decoder = new Decoder<H>(
      (sheet) => show(({ count }) => ({ sheet, count: count + 1, unreadable: "" })),
      (unreadable) => show((last) => ({ ...last, unreadable })),
      () => show(({ count }) => ({ sheet: null, count, unreadable: "" })),
    );
    // Not drawn when the bytes come, only once they are decoded.
    const push = (): void => decoder.push(link.get(field, new ArrayBuffer(0)));
    push();
    return link.on(field, push);
  }, [link, field]);
  return shown;
}
