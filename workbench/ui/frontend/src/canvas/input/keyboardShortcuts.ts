// Keyboard shortcuts while the focus is on the canvas.

import { isPage } from "../../lib/fullPage";
import { chord, isTyping, undoKey } from "../../lib/keyboard";
import { isInSameWorkbench } from "../../lib/siblings";
import { NONE } from "../state/canvasState";
import type { CanvasStore } from "../state/canvasStore";
import {
  chooseChain,
  chooseOneOf,
  chooseSomeOf,
  connect,
  copyCode,
  branch,
  duplicate,
  enter,
  frame,
  leave,
  move,
  mute,
  remove,
  repeat,
  saveSnippet,
  search,
  showTargets,
  unfold,
  unwrap,
  wrap,
} from "../state/actions";
import { chooseAlignment } from "../state/alignment";
import { isOutput } from "../layout/geometry";
import type { LayoutCache } from "../layout/layoutCache";
import { showPalette } from "../state/paletteVisibility";
import { neighbour, inReadingOrder, type Spot } from "./arrowNavigation";

/** Pixels that a key moves a box: the grid spacing. */
const STEP = 18;

export interface View {
  reveal(id: string): void;
  fit(): void;
  /** Reset to automatic layout and show the whole graph. */
  arrange(): void;
  /** Move the selected boxes. */
  nudge(dx: number, dy: number): void;
  zoom(by: number): void;
  /** Add a note in free space. */
  note(): void;
  help(): void;
}

/** Return a reference point per box for arrow keys: the middle of its upper part. */
function boxCentres({ boxes, settled }: LayoutCache): Spot[] {
  return boxes.flatMap(({ id, width }) => {
    const at = settled.get(id);
    return at ? [{ id, x: at.x + width / 2, y: at.y + 27 }] : [];
  });
}

/** Handle the keys of the canvas. Returns a function that removes the listeners. */
export function listenToKeys(store: CanvasStore, view: View): () => void {
  const at = (): string => store.dom.focusedId || store.current;

  /** Select a box, or add it to the selection (`more`). */
  const go = (id: string, more: boolean): void => {
    if (!id) return;
    const { selected } = store.get();
    if (isOutput(id)) store.select([], new Set([id]));
    else store.select(more ? [...selected.filter((other) => other !== id), id] : [id]);
    view.reveal(id);
    store.dom.focus(id);
  };
  const arrow = (key: string, more: boolean): void => {
    const spots = boxCentres(store.layout);
    go(at() ? neighbour(spots, at(), key) : (inReadingOrder(spots)[0]?.id ?? ""), more);
  };
  const end = (index: 0 | -1): void => go(inReadingOrder(boxCentres(store.layout)).at(index)?.id ?? "", false);
  const selectAll = (): void => {
    const ids = store.get().nodes.map(({ id }) => id);
    const last = store.inspected;
    store.select(last ? [...ids.filter((id) => id !== last), last] : ids);
  };
  const escape = (): void => {
    if (store.get().detail_of) store.look("");
    else if (store.get().picked.size || store.get().selected.length > 1) {
      store.select(store.inspected ? [store.inspected] : [], NONE);
    } else if (!leave(store)) store.select([]);
  };
  const rename = (): void => {
    if (store.current) store.set({ renaming: store.current });
  };
  const edges = (): void => {
    if (store.inspected) store.set({ popup: { kind: "edges", node: store.inspected } });
  };
  const keys: Record<string, () => void> = {
    "/": () => search(store),
    "?": () => view.help(),
    P: () => showPalette(store),
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
    Delete: () => remove(store),
    Backspace: () => remove(store),
    "Alt+ArrowLeft": () => move(store, -1),
    "Alt+ArrowRight": () => move(store, 1),
    "Alt+ArrowUp": () => move(store, -1),
    "Alt+ArrowDown": () => move(store, 1),
    "Ctrl+A": selectAll,
    "Ctrl+D": () => duplicate(store),
    Y: () => branch(store),
    C: () => connect(store),
    E: edges,
    U: () => unfold(store),
    M: () => mute(store),
    G: () => frame(store),
    N: () => view.note(),
    T: () => showTargets(store),
    I: () => wrap(store),
    "Shift+I": () => unwrap(store),
    B: () => chooseOneOf(store),
    "Shift+B": () => chooseSomeOf(store),
    R: () => repeat(store),
    "Shift+G": () => chooseChain(store),
    A: () => chooseAlignment(store),
    "Shift+C": () => copyCode(store),
    S: () => saveSnippet(store),
    L: () => view.arrange(),
    "Ctrl+ArrowLeft": () => view.nudge(-STEP, 0),
    "Ctrl+ArrowRight": () => view.nudge(STEP, 0),
    "Ctrl+ArrowUp": () => view.nudge(0, -STEP),
    "Ctrl+ArrowDown": () => view.nudge(0, STEP),
    "0": () => view.fit(),
    D: () => store.inspected && store.look(store.inspected),
    PageUp: () => store.choose(store.get().sample - 1),
    PageDown: () => store.choose(store.get().sample + 1),
    F2: rename,
    "+": () => view.zoom(1.25),
    "=": () => view.zoom(1.25),
    "-": () => view.zoom(0.8),
    Enter: () => {
      if (at() !== store.inspected || !enter(store)) go(at(), false);
    },
    " ": () => go(at(), false),
    Escape: escape,
  };
  const onKey = (event: KeyboardEvent): void => {
    const turn = (action: "undo" | "redo"): void => {
      store.link.ask(action, {});
      store.set({ said: "" });
    };
    if (undoKey(event, turn)) return;
    const target = event.target as HTMLElement;
    if (event.defaultPrevented || isTyping(target) || store.get().popup) return;
    const name = chord(event);
    // A focused button handles its own keys.
    if ((name === "Enter" || name === " ") && !target.dataset["focus"]) return;
    // Escape first closes what is open over the canvas.
    if (name === "Escape" && store.dom.root.querySelector(".wb-pop:popover-open:not(.wb-detail)")) return;
    const run = keys[name];
    if (!run) return;
    event.preventDefault();
    run();
  };
  /**
   * Ctrl+K and `/` open the search from any part of the workbench, in the web app also without
   * focus. Inside the canvas `/` is handled by `onKey`; in text fields it is text.
   */
  const onPageKey = (event: KeyboardEvent): void => {
    const name = chord(event);
    if (name !== "Ctrl+K" && name !== "/") return;
    const target = event.composedPath()[0];
    const part = target instanceof Element && target.closest(".wb") ? target : null;
    if (part ? !isInSameWorkbench(store.dom.root, part) : !isPage(store.dom.root)) return;
    const outside = part instanceof HTMLElement && !store.dom.root.contains(part);
    if (name === "/") {
      const chooses = isTyping(target ?? null) || target instanceof HTMLSelectElement;
      if ((part && !outside) || chooses || store.get().popup || event.defaultPrevented) return;
    }
    event.preventDefault();
    event.stopPropagation();
    search(store, name === "Ctrl+K", outside ? part : undefined);
  };
  store.dom.root.addEventListener("keydown", onKey);
  document.addEventListener("keydown", onPageKey, true);
  return () => {
    store.dom.root.removeEventListener("keydown", onKey);
    document.removeEventListener("keydown", onPageKey, true);
  };
}
