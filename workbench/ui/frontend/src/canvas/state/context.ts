// How the parts of the canvas reach what it holds.

import { createContext, useContext, useSyncExternalStore } from "preact/compat";
import type { CanvasStore, State } from "./canvasStore";

export const CanvasStoreContext = createContext<CanvasStore | null>(null);

export function useCanvasStore(): CanvasStore {
  const store = useContext(CanvasStoreContext);
  if (!store) throw new Error("There is no canvas store around this part.");
  return store;
}

/** `pick` must give the same object for the same state. */
export function useCanvasState<T>(pick: (state: State) => T): T {
  const store = useCanvasStore();
  return useSyncExternalStore(store.watch, () => pick(store.get()));
}
