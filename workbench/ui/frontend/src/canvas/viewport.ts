// How much of the canvas is seen.

import { useReactFlow } from "@xyflow/react";
import { useCallback, useLayoutEffect, useRef, useState } from "preact/compat";
import { onFill } from "../lib/fillWindow";
import { closestAround } from "../lib/siblings";
import type { CanvasStore } from "./state/canvasStore";
import {
  firstView,
  notesAt,
  ROOM,
  ROOM_OF_TOOLBAR,
  usualWidth,
  withNotes,
  type Seen,
  type View,
} from "./layout/firstView";
import type { LayoutCache } from "./layout/layoutCache";

const GLIDE = 180;
const LEAST_HEIGHT = 336;

/** Milliseconds of a movement, for those who like to see them. */
export const animationDuration = (duration: number): number =>
  matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : duration;

/** The size of the canvas on the page. */
export function useSize(store: CanvasStore): { width: number; height: number } {
  // By a function, so that only the first drawing makes the browser lay out the page to tell.
  const [size, setSize] = useState(() => ({
    width: store.dom.root.clientWidth || 900,
    height: LEAST_HEIGHT,
  }));
  useLayoutEffect(() => {
    const measure = (): void => {
      const { clientWidth: width, clientHeight: height } = store.dom.box;
      if (width)
        setSize((old) => (old.width === width && old.height === height ? old : { width, height }));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(store.dom.box);
    return () => observer.disconnect();
  }, [store]);
  return size;
}

function seenOf({ boxes, settled, bounds: cards, scope }: LayoutCache, store: CanvasStore): Seen {
  const frames = new Set(boxes.filter(({ node }) => node?.place?.rects).map(({ id }) => id));
  const rectangles = boxes.flatMap(({ id, width, height }) => {
    const at = settled.get(id);
    return at && !frames.has(id) ? [{ id, width, height, ...at }] : [];
  });
  const head = rectangles[0]?.id ?? "";
  const buttons = boxes.some(({ node }) => node?.bodies.length);
  const bounds = withNotes(cards, notesAt(store.link.get("notes", []), settled));
  const { current } = store;
  return { bounds, cards, boxes: rectangles, head, current, buttons, breadcrumb: scope !== "" };
}

/** Tells the screen around the canvas, if there is one, how much width a graph needs. */
function adaptPane(store: CanvasStore, { boxes, bounds }: LayoutCache): void {
  const panes = closestAround(store.dom.root, ".wb-screen-panes");
  const width = usualWidth(bounds, store.dom.box.clientHeight);
  panes?.style.setProperty("--wb-canvas-content", boxes.length ? `${Math.round(width)}px` : "");
}

/** The view: shows all until someone pans or zooms, and then only what would be out of sight. */
export function useView(
  store: CanvasStore,
  graph: number,
  places: LayoutCache,
  size: { width: number; height: number },
  glides: boolean,
) {
  const flow = useReactFlow();
  const follows = useRef(true);
  /** Whether everything was asked for, however small: what comes later is then to be seen too. */
  const whole = useRef(false);
  const latest = useRef({ places, size });
  latest.current = { places, size };
  /** Where a movement that was begun here ends. */
  const aim = useRef<View | null>(null);
  const go = useCallback(
    (view: View, duration: number) => {
      aim.current = view;
      // What has no size, because it is hidden, cannot glide: on the way its zoom would be no number.
      const glide = store.dom.box.clientWidth ? animationDuration(duration) : 0;
      void flow.setViewport(view, { duration: glide });
    },
    [flow, store],
  );
  const fit = useCallback(
    (all = true, duration = GLIDE) => {
      const { places: now, size: box } = latest.current;
      follows.current = true;
      whole.current = all;
      go(firstView(seenOf(now, store), box, all), duration);
    },
    [go, store],
  );
  const reveal = useCallback(
    (id: string) => {
      const { places: now, size: box } = latest.current;
      const at = now.settled.get(id);
      const own = now.boxes.find((other) => other.id === id);
      if (!at || !own) return;
      const { x, y, zoom } = (follows.current && aim.current) || flow.getViewport();
      const pushed = (low: number, high: number, most: number): number =>
        low < 16 ? 16 - low : high > most ? Math.max(16 - low, most - high) : 0;
      const left = at.x * zoom + x;
      const top = at.y * zoom + y;
      const dx = pushed(left, left + own.width * zoom, box.width - 16);
      const most = box.height - ROOM.below - ROOM_OF_TOOLBAR;
      const dy = pushed(top, (at.y + own.height) * zoom + y, most);
      if (dx || dy) go({ x: x + dx, y: y + dy, zoom }, GLIDE);
    },
    [flow, go],
  );
  /** Keeps the view where it is: it is somebody's own from now on. */
  const stay = useCallback(() => {
    follows.current = false;
  }, []);
  useLayoutEffect(
    () =>
      onFill(store.dom.root, "canvas", () => {
        follows.current = true; // the size that follows fits the graph
        whole.current = false;
      }),
    [store],
  );
  const zoom = useCallback(
    (by: number) => {
      stay();
      void flow.zoomTo(flow.getZoom() * by, { duration: animationDuration(120) });
    },
    [flow, stay],
  );
  const known = useRef({ graph: -1, ids: new Set<string>() });
  /** The boxes of the graph as it was opened. */
  const opened = useRef<LayoutCache["boxes"]>([]);
  /** The graph that was last seen without a node: its first ones are edits. */
  const blank = useRef(-1);
  useLayoutEffect(() => {
    const { current } = known;
    const ids = new Set(places.boxes.map(({ id }) => `${places.scope} ${id}`));
    const another = graph !== current.graph || ![...ids].some((id) => current.ids.has(id));
    known.current = { graph, ids };
    if (!store.link.get("nodes", []).length) blank.current = graph;
    if (another && blank.current !== graph) opened.current = places.boxes;
    // Only until the first edit: a pane is not to change under the pointer.
    if (opened.current === places.boxes) adaptPane(store, places);
    if (another || follows.current) fit(!another && whole.current, another || !glides ? 0 : GLIDE);
  }, [graph, places.bounds, places.boxes, size, fit, glides]);
  return { fit, reveal, follows, stay, zoom };
}
