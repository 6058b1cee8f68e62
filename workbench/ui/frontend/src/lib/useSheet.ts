// Latest contact sheet of a field, decoded.

import { useLayoutEffect, useState } from "preact/hooks";
import type { Bytes } from "../payloads";
import { Decoder, type Sheet } from "./contactSheet";

interface Source<K extends string> {
  get(name: K, fallback: Bytes): Bytes;
  on(name: K, callback: () => void): () => void;
}

interface Shown<H> {
  /** Last sheet that could be decoded; null if the field is empty. */
  sheet: Sheet<H> | null;
  /** Number of decoded sheets. */
  count: number;
  /** Reason why the latest sheet could not be decoded; empty if it could. */
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
    // Render once the bytes are decoded, not when they arrive.
    const push = (): void => decoder.push(link.get(field, new ArrayBuffer(0)));
    push();
    return link.on(field, push);
  }, [link, field]);
  return shown;
}
