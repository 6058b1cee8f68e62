// Hooks for what a panel knows only at run time: Python's fields, the connection, the screen.

import { useLayoutEffect, useReducer, useRef } from "preact/hooks";
import type { Components } from "../payloads";
import type { Link } from "./link";

type Fields<N extends keyof Components> = Components[N]["fields"];

/** A function that draws the component that calls this once more. */
export function useRedraw(): () => void {
  return useReducer((drawn: number) => drawn + 1, 0)[1] as () => void;
}

/** A field's present value; draws again when it changes. */
export function useField<N extends keyof Components, K extends keyof Fields<N> & string>(
  link: Link<N>,
  name: K,
  fallback: Fields<N>[K],
): Fields<N>[K] {
  const redraw = useRedraw();
  useLayoutEffect(() => link.on(name, redraw), [link, name]);
  return link.get(name, fallback);
}

/** Whether Python is not there. */
export function useOffline<N extends keyof Components>(link: Link<N>): boolean {
  const redraw = useRedraw();
  useLayoutEffect(() => link.connection.watch(redraw), [link]);
  return link.connection.loss !== null;
}

/** Runs `effect` when something of `inputs` changes, but not for what it was at first. */
export function useChange(effect: () => void, inputs: readonly unknown[]): void {
  const drawn = useRef(false);
  useLayoutEffect(() => {
    if (drawn.current) effect();
    drawn.current = true;
  }, inputs);
}

/** Keeps `data-<name>` of the root, an element outside the panel's tree; undefined takes it away. */
export function useRootData(root: HTMLElement, name: string, value: string | undefined): void {
  useLayoutEffect(() => {
    if (value === undefined) delete root.dataset[name];
    else root.dataset[name] = value;
  }, [root, name, value]);
}

/** Tells Python whether the panel is on the screen: it computes only what is seen. */
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
