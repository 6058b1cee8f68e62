// How much of the canvas is seen.

import { useReactFlow } from "@xyflow/react";
import { useCallback, useLayoutEffect, useRef, useState } from "react";
import type { CanvasStore } from "./canvasStore";
import { MARGIN } from "./layout";
import { framed, type LayoutCache } from "./layoutCache";

const GLIDE = 180;
export const LEAST_HEIGHT = 336;

/** Milliseconds of a movement, for those who like to see them. */
export const gliding = (duration: number): number =>
  matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : duration;

/** The size of the canvas on the page. */
export function useSize(store: CanvasStore): { width: number; height: number } {
  // By a function, so that only the first drawing makes the browser lay out the page to tell.
  const [size, setSize] = useState(() => ({
    width: store.root.clientWidth || 900,
    height: LEAST_HEIGHT,
  }));
  useLayoutEffect(() => {
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = store.root;
      if (width)
        setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(store.root);
    return () => observer.disconnect();
  }, [store]);
  return size;
}

/** The view: shows all until someone pans or zooms, and then only what would be out of sight. */
export function useView(places: LayoutCache, size: { width: number; height: number }, glides: boolean) {
  const flow = useReactFlow();
  const follows = useRef(true);
  const latest = useRef({ places, size });
  latest.current = { places, size };
  const fit = useCallback(
    (duration = GLIDE) => {
      const { places: now, size: box } = latest.current;
      follows.current = true;
      void flow.setViewport(framed(now.bounds, box, MARGIN, !!now.scope), { duration: gliding(duration) });
    },
    [flow],
  );
  const reveal = useCallback(
    (id: string) => {
      const { places: now, size: box } = latest.current;
      const at = now.settled.get(id);
      const own = now.boxes.find((other) => other.id === id);
      if (!at || !own || follows.current) return;
      const { x, y, zoom } = flow.getViewport();
      const pushed = (low: number, high: number, most: number): number =>
        low < 16 ? 16 - low : high > most ? Math.max(16 - low, most - high) : 0;
      const left = at.x * zoom + x;
      const top = (at.y - own.over) * zoom + y;
      const dx = pushed(left, left + own.width * zoom, box.width - 16);
      const dy = pushed(top, (at.y + own.height) * zoom + y, box.height - 40);
      if (dx || dy)
        void flow.setViewport({ x: x + dx, y: y + dy, zoom }, { duration: gliding(GLIDE) });
    },
    [flow],
  );
  const known = useRef<ReadonlySet<string>>(new Set());
  useLayoutEffect(() => {
    const ids = new Set(places.boxes.map(({ id }) => `${places.scope} ${id}`));
    const first = known.current.size === 0;
    const another = ![...ids].some((id) => known.current.has(id));
    known.current = ids;
    if (another || follows.current) fit(first || another || !glides ? 0 : GLIDE);
  }, [places.bounds, places.boxes, size, fit, glides]);
  return { fit, reveal, follows };
}
