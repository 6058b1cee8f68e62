// Hooks for fields from Python, the connection and the screen.

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Components } from "../payloads";
import type { Link } from "./link";

type Fields<N extends keyof Components> = Components[N]["fields"];

/** Return a function that renders the calling component again. */
export function useRedraw(): () => void {
  return useReducer((drawn: number) => drawn + 1, 0)[1] as () => void;
}

/** Return the value of a field; render again when the value changes. */
export function useField<N extends keyof Components, K extends keyof Fields<N> & string>(
  link: Link<N>,
  name: K,
  fallback: Fields<N>[K],
): Fields<N>[K] {
  const redraw = useRedraw();
  useLayoutEffect(() => link.on(name, redraw), [link, name]);
  return link.get(name, fallback);
}

/** Return whether Python is disconnected. */
export function useOffline<N extends keyof Components>(link: Link<N>): boolean {
  const redraw = useRedraw();
  useLayoutEffect(() => link.connection.watch(redraw), [link]);
  return link.connection.loss !== null;
}

/** Run `effect` when `inputs` change, but not initially. */
export function useChange(effect: () => void, inputs: readonly unknown[]): void {
  const drawn = useRef(false);
  useLayoutEffect(() => {
    if (drawn.current) effect();
    drawn.current = true;
  }, inputs);
}

/** Set `data-<name>` of the root, an element outside the panel's tree; undefined removes it. */
export function useRootData(root: HTMLElement, name: string, value: string | undefined): void {
  useLayoutEffect(() => {
    if (value === undefined) delete root.dataset[name];
    else root.dataset[name] = value;
  }, [root, name, value]);
}

/** Report to Python whether the panel is visible, because Python only updates visible panels. */
export function useInView(
  root: HTMLElement,
  link: { set(name: "in_view", value: boolean): void },
): void {
  useLayoutEffect(() => {
    let seen = false;
    const observer = new IntersectionObserver((entries) => {
      const now = entries.some((entry) => entry.isIntersecting);
      if (now !== seen) link.set("in_view", (seen = now));
    });
    observer.observe(root);
    return () => {
      observer.disconnect();
      if (seen) link.set("in_view", false);
    };
  }, [root, link]);
}
