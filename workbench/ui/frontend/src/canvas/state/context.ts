// Access to the canvas store and its state for the parts of the canvas.

import { createContext, useContext, useRef, useSyncExternalStore } from "preact/compat";
import type { State } from "./canvasState";
import type { CanvasStore } from "./canvasStore";

export const CanvasStoreContext = createContext<CanvasStore | null>(null);

export function useCanvasStore(): CanvasStore {
  const store = useContext(CanvasStoreContext);
  if (!store) throw new Error("There is no canvas store around this part.");
  return store;
}

/** Return a part of the state. `pick` must return the same object for the same state. */
export function useCanvasState<T>(pick: (state: State) => T): T {
  const store = useCanvasStore();
  return useSyncExternalStore(store.watch, () => pick(store.get()));
}

/** Return some parts of the state, in an object that changes only if one of them changes. */
export function useCanvasParts<Name extends keyof State>(...names: Name[]): Pick<State, Name> {
  const parts = useRef<Pick<State, Name> | null>(null);
  return useCanvasState((state) => {
    const { current } = parts;
    if (current && names.every((name) => Object.is(current[name], state[name]))) return current;
    return (parts.current = pickParts(state, names));
  });
}

function pickParts<Name extends keyof State>(state: State, names: readonly Name[]): Pick<State, Name> {
  return Object.fromEntries(names.map((name) => [name, state[name]])) as Pick<State, Name>;
}
