// What each key does while the focus is on the canvas.

import { chord, isTyping, undoKey } from "../lib/keys";
import { NONE, type Desk } from "./desk";
import { connect, duplicate, move, remove, search, unfold } from "./edits";
import { isOutput } from "./geometry";
import { neighbour, reading, type Spot } from "./navigate";

/** How far a key puts a box: from dot to dot. */
const STEP = 18;

export interface View {
  /** Where everything stands now, by its middle. */
  spots(): Spot[];
  reveal(id: string): void;
  fit(): void;
  /** Lays everything out anew, and shows it all. */
  arrange(): void;
  /** Puts the selected boxes somewhat elsewhere. */
  nudge(dx: number, dy: number): void;
  zoom(by: number): void;
  help(): void;
}

/** Returns what ends the listening. */
export function listen(desk: Desk, view: View): () => void {
  const at = (): string => desk.focusedId || desk.current;

  /** Goes there; with Shift what was selected stays so. */
  const go = (id: string, more: boolean): void => {
    if (!id) return;
    const { selected } = desk.get();
    if (isOutput(id)) desk.select([], new Set([id]));
    else desk.select(more ? [...selected.filter((other) => other !== id), id] : [id]);
    view.reveal(id);
    desk.focus(id);
  };
  const arrow = (key: string, more: boolean): void => {
    const spots = view.spots();
    go(at() ? neighbour(spots, at(), key) : (reading(spots)[0]?.id ?? ""), more);
  };
  const end = (index: 0 | -1): void => go(reading(view.spots()).at(index)?.id ?? "", false);
  const selectAll = (): void => {
    const ids = desk.get().nodes.map(({ id }) => id);
    const last = desk.inspected;
    desk.select(last ? [...ids.filter((id) => id !== last), last] : ids);
  };
  const escape = (): void => {
    if (desk.get().picked.size || desk.get().selected.length > 1) {
      desk.select(desk.inspected ? [desk.inspected] : [], NONE);
    } else desk.select([]);
  };
  const rename = (): void => {
    if (desk.current) desk.set({ renaming: desk.current });
  };
  const edges = (): void => {
    if (desk.inspected) desk.set({ popup: { kind: "edges", node: desk.inspected } });
  };
  const keys: Record<string, () => void> = {
    "/": () => search(desk),
    "?": () => view.help(),
    ArrowLeft: () => arrow("ArrowLeft", false),
    ArrowRight: () => arrow("ArrowRight", false),
    ArrowUp: () => arrow("ArrowUp", false),
    ArrowDown: () => arrow("ArrowDown", false),
    "Shift+ArrowLeft": () => arrow("ArrowLeft", true),
    "Shift+ArrowRight": () => arrow("ArrowRight", true),
    "Shift+ArrowUp": () => arrow("ArrowUp", true),
    "Shift+ArrowDown": () => arrow("ArrowDown", true),
    Home: () => end(0),
    End: () => end(-1),
    Delete: () => remove(desk),
    Backspace: () => remove(desk),
    "Alt+ArrowLeft": () => move(desk, -1),
    "Alt+ArrowRight": () => move(desk, 1),
    "Alt+ArrowUp": () => move(desk, -1),
    "Alt+ArrowDown": () => move(desk, 1),
    "Ctrl+A": selectAll,
    "Ctrl+D": () => duplicate(desk),
    C: () => connect(desk),
    E: edges,
    U: () => unfold(desk),
    L: () => view.arrange(),
    "Ctrl+ArrowLeft": () => view.nudge(-STEP, 0),
    "Ctrl+ArrowRight": () => view.nudge(STEP, 0),
    "Ctrl+ArrowUp": () => view.nudge(0, -STEP),
    "Ctrl+ArrowDown": () => view.nudge(0, STEP),
    F: () => view.fit(),
    F2: rename,
    "+": () => view.zoom(1.25),
    "=": () => view.zoom(1.25),
    "-": () => view.zoom(0.8),
    Enter: () => go(at(), false),
    " ": () => go(at(), false),
    Escape: escape,
  };
  const onKey = (event: KeyboardEvent): void => {
    const turn = (action: "undo" | "redo"): void => {
      desk.link.ask(action, {});
      desk.set({ said: "" });
    };
    if (undoKey(event, turn)) return;
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || isTyping(target) || desk.get().popup) return;
    const name = chord(event);
    // A button that has the focus keeps its own keys.
    if ((name === "Enter" || name === " ") && !target.dataset["focus"]) return;
    // Escape closes what is open over the canvas before anything else.
    if (name === "Escape" && desk.root.querySelector(".wb-pop:popover-open")) return;
    const run = keys[name];
    if (!run) return;
    event.preventDefault();
    run();
  };
  desk.root.addEventListener("keydown", onKey);
  return () => desk.root.removeEventListener("keydown", onKey);
}
