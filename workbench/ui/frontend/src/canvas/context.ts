// How the parts of the canvas reach what it holds.

import { createContext, useContext, useSyncExternalStore } from "react";
import type { Desk, State } from "./desk";

export const DeskContext = createContext<Desk | null>(null);

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (!desk) throw new Error("There is no desk around this part.");
  return desk;
}

/** `pick` must give the same object for the same state. */
export function useDeskState<T>(pick: (state: State) => T): T {
  const desk = useDesk();
  return useSyncExternalStore(desk.watch, () => pick(desk.get()));
}
