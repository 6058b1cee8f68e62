// Visible part of the canvas.

import { useReactFlow } from "@xyflow/react";
import { useCallback, useLayoutEffect, useRef, useState } from "preact/compat";
import { onFill } from "../lib/fillWindow";
import { jsonEqual } from "../lib/jsonEquality";
import { closestAround } from "../lib/siblings";
import type { CanvasStore } from "./state/canvasStore";
import {
  firstView,
  isInSight,
  isTooWide,
  notesAt,
  revealed,
  widthAtHeight,
  withNotes,
  type ContentBounds,
  type View,
} from "./layout/firstView";
import type { Point, Size } from "./layout/geometry";
import type { LayoutCache } from "./layout/layoutCache";

const GLIDE = 180;
const LEAST_HEIGHT = 336;

/** Return the duration of an animation; 0 if the user prefers reduced motion. */
export const animationDuration = (duration: number): number =>
  matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : duration;

/** Return the size of the canvas on the page. */
export function useSize(store: CanvasStore): { width: number; height: number } {
  // A function, so that only the first rendering forces a layout of the page.
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

function contentBounds({ boxes, settled, bounds: cards, scope }: LayoutCache, store: CanvasStore): ContentBounds {
  const frames = new Set(boxes.filter(({ node }) => node?.place?.rects).map(({ id }) => id));
  const rectangles = boxes.flatMap(({ id, width, height }) => {
    const at = settled.get(id);
    return at && !frames.has(id) ? [{ id, width, height, ...at }] : [];
  });
  const head = rectangles[0]?.id ?? "";
  const buttons = boxes.some(({ id, node }) => node?.bodies.length && !frames.has(id));
  const bounds = withNotes(cards, notesAt(store.link.get("notes", []), settled));
  const { current } = store;
  return { bounds, cards, boxes: rectangles, head, current, buttons, breadcrumb: scope !== "" };
}

/** Return position and size of the boxes `ids`. */
function boxesOf({ boxes, settled }: LayoutCache, ids: readonly string[]): (Point & Size)[] {
  const found = ids.map((id) => boxes.find((box) => box.id === id));
  return found.flatMap((box) => {
    const at = box && settled.get(box.id);
    return at ? [{ ...at, width: box.width, height: box.height }] : [];
  });
}

/** Return whether any box is at least partly in view. */
const isVisible = ({ boxes, settled }: LayoutCache, { x, y, zoom }: View, { width, height }: Size): boolean =>
  boxes.some((box) => {
    const at = settled.get(box.id);
    if (!at) return false;
    const [left, top] = [at.x * zoom + x, at.y * zoom + y];
    return left < width && top < height && left + box.width * zoom > 0 && top + box.height * zoom > 0;
  });

/** Report the width that the graph needs (or room for two columns) to the surrounding screen. */
function adaptPane(store: CanvasStore, { boxes, bounds }: LayoutCache): void {
  const panes = closestAround(store.dom.root, ".wb-screen-panes");
  const width = widthAtHeight(bounds, store.dom.box.clientHeight);
  panes?.style.setProperty("--wb-canvas-content", boxes.length ? `${Math.round(width)}px` : "36%");
}

/**
 * Return the view. It shows everything until the user pans or zooms, and then moves only to reveal
 * hidden boxes.
 */
export function useView(
  store: CanvasStore,
  graph: number,
  places: LayoutCache,
  size: { width: number; height: number },
  glides: boolean,
) {
  const flow = useReactFlow();
  const follows = useRef(true);
  /** True if the user has requested to show everything, so that later changes are included. */
  const whole = useRef(false);
  const latest = useRef({ places, size });
  latest.current = { places, size };
  /** Nodes added by the last edit that added any. */
  const added = useRef<readonly string[]>([]);
  /** Target of a running animation. */
  const aim = useRef<View | null>(null);
  const go = useCallback(
    (view: View, duration: number) => {
      aim.current = view;
      // A hidden canvas has no size and cannot be animated: its zoom would be NaN.
      const glide = store.dom.box.clientWidth ? animationDuration(duration) : 0;
      void flow.setViewport(view, { duration: glide }).then(() => {
        if (aim.current === view) aim.current = null;
      });
    },
    [flow, store],
  );
  const fit = useCallback(
    (all = true, duration = GLIDE) => {
      const { places: now, size: box } = latest.current;
      follows.current = true;
      whole.current = all;
      const view = firstView(contentBounds(now, store), box, all);
      const fresh = all ? [] : boxesOf(now, added.current);
      const shown = [...fresh, ...boxesOf(now, [store.current])];
      go(isInSight(fresh, view, box) ? view : revealed(view, shown, box), duration);
    },
    [go, store],
  );
  /** Scroll to boxes that are out of view; if there are too many, to the last one. */
  const reveal = useCallback(
    (...ids: string[]) => {
      const view = aim.current ?? flow.getViewport();
      const there = revealed(view, boxesOf(latest.current.places, ids), latest.current.size);
      if (!jsonEqual(view, there)) go(there, GLIDE);
    },
    [flow, go],
  );
  /** Keep the current view, because the user has panned or zoomed. */
  const stay = useCallback(() => {
    follows.current = false;
    aim.current = null;
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
  /** Layout and canvas size for which the view was last computed. */
  const fitted = useRef<readonly [spots: object, size: object]>([{}, {}]);
  const known = useRef({ graph: -1, ids: new Set<string>() });
  /** Boxes of the graph when it was opened. */
  const opened = useRef<LayoutCache["boxes"]>([]);
  /** Number of the graph whose chains were collapsed because it was too wide. */
  const crowded = useRef(-1);
  /** Number of the graph that was last empty; its first nodes are added by edits. */
  const blank = useRef(-1);
  useLayoutEffect(() => {
    const { current } = known;
    const ids = new Set(places.boxes.map(({ id }) => `${places.scope} ${id}`));
    const another = graph !== current.graph || ![...ids].some((id) => current.ids.has(id));
    const fresh = places.boxes.flatMap(({ id }) => (current.ids.has(`${places.scope} ${id}`) ? [] : [id]));
    if (another || fresh.length) added.current = another ? [] : fresh;
    known.current = { graph, ids };
    const empty = !store.link.get("nodes", []).length;
    if (empty) blank.current = graph;
    if (another && blank.current !== graph) opened.current = places.boxes;
    // Only until the first edit: the pane must not change under the pointer.
    if (empty || opened.current === places.boxes) adaptPane(store, places);
    const { clientWidth, clientHeight } = store.dom.box;
    const measured = size.width === clientWidth && size.height === clientHeight;
    if (measured && opened.current === places.boxes && crowded.current !== graph) {
      if (isTooWide(places.bounds, size)) {
        crowded.current = graph;
        store.collapseAll();
      }
    }
    // If edges were removed, all positions remain.
    const moved = fitted.current[0] !== places.spots || fitted.current[1] !== size;
    fitted.current = [places.spots, size];
    if (another || (follows.current && moved)) fit(!another && whole.current, another || !glides ? 0 : GLIDE);
    else if (moved && !isVisible(places, flow.getViewport(), size)) fit(false);
    else if (!follows.current && fresh.length) reveal(...fresh, store.current);
  }, [graph, places.bounds, places.boxes, size, fit, reveal, glides]);
  return { fit, reveal, follows, stay, zoom };
}
