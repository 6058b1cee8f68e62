// Track the visible rows of a list, because Python renders pictures only for these.

import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { jsonEqual } from "../lib/jsonEquality";
import type { Link } from "../lib/link";

/** Milliseconds without scrolling after which visible rows are reported. */
const REST_MS = 100;
/** Maximum number of pictures that Python renders at once. */
const MOST_PICTURES = 16;

/** Report visible rows, children of `list` with `data-row`, to Python when they change. */
export function useRowsInView(
  list: RefObject<HTMLElement | null>,
  link: Link<"inspector">,
  count: number,
): void {
  useLayoutEffect(() => {
    const seen = new Set<number>();
    let timer = 0;
    const tell = (): void => {
      const rows = [...seen].sort((one, other) => one - other).slice(0, MOST_PICTURES);
      if (!jsonEqual(rows, link.get("policy_rows", []))) link.set("policy_rows", rows);
    };
    const observer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        const row = Number((target as HTMLElement).dataset["row"]);
        if (isIntersecting) seen.add(row);
        else seen.delete(row);
      }
      clearTimeout(timer);
      timer = window.setTimeout(tell, REST_MS);
    });
    for (const row of list.current?.children ?? []) observer.observe(row);
    return () => {
      clearTimeout(timer);
      observer.disconnect();
    };
  }, [list, link, count]);
}
