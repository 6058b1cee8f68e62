// Hooks for what a panel knows only at run time: Python's fields, the connection, the screen.

import { useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Components } from "../views";
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

/**
 * `value`, but as it was while a pointer is pressed: what it moves on the screen would be gone from
 * under the pointer, and there is no click where the press and the release meet different elements.
 */
export function useAfterPress<T>(value: T): T {
  const [pressed, press] = useState(false);
  const shown = useRef(value);
  useLayoutEffect(() => {
    const down = (): void => press(true);
    const up = (): void => void window.setTimeout(() => press(false)); // after the click
    const events = [
      ["pointerdown", down],
      ["pointerup", up],
      ["pointercancel", up],
    ] as const;
    for (const [event, listener] of events) window.addEventListener(event, listener, true);
    return () => {
      for (const [event, listener] of events) window.removeEventListener(event, listener, true);
    };
  }, []);
  if (!pressed) shown.current = value;
  return shown.current;
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
