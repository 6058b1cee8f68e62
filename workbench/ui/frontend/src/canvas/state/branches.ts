// Bodies of blocks that the selected sample reached.

import { useCanvasState } from "./context";
import type { State } from "./canvasState";
import { shownScope } from "../layout/nestedLayout";

/** `ran`, `not` (did not run), or empty if unknown or if the body is not in a frame. */
export type BranchState = "" | "ran" | "not";

/** Return which bodies ran for the selected sample: `option_0, option_2 ran`; "" if unknown. */
export function useBranchText(block: string): string {
  return useCanvasState(({ cards, nodes }) => {
    const branches = cards.get(block)?.branches;
    const bodies = nodes.find(({ id }) => id === block)?.bodies;
    if (!branches || !bodies?.length) return "";
    const named = bodies.filter(({ name }) => branches.includes(name));
    return `${named.map(({ name, title }) => title || name).join(", ") || "nothing"} ran`;
  });
}

export function branchState(state: State, scope: string): BranchState {
  const shown = shownScope(state.breadcrumb);
  let found: BranchState = "";
  while (scope && scope !== shown) {
    const [block, body] = scope.split(".") as [string, string];
    const branches = state.cards.get(block)?.branches;
    if (branches && !branches.includes(body)) return "not";
    if (branches) found ||= "ran";
    scope = state.nodes.find(({ id }) => id === block)?.scope ?? "";
  }
  return found;
}

/** Return whether the selected sample reached a body in a frame. */
export const useRan = (scope: string): BranchState => useCanvasState((state) => branchState(state, scope));
