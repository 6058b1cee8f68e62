// Context menu of nodes, edges, ports, outputs and the canvas.

import { useEffect, useRef, useState } from "preact/hooks";
import { Menu } from "../../lib/popover";
import {
  addElif,
  branch,
  chooseChain,
  chooseOneOf,
  chooseSomeOf,
  collapse,
  connect,
  copyCode,
  duplicate,
  frame,
  move,
  mute,
  addNote,
  openScope,
  remove,
  repeat,
  saveSnippet,
  search,
  unfold,
  unwrap,
  wrap,
} from "../state/actions";
import { chooseAlignment } from "../state/alignment";
import { showPalette } from "../state/paletteVisibility";
import { NONE } from "../state/canvasState";
import type { CanvasStore } from "../state/canvasStore";
import { useCanvasStore } from "../state/context";
import { outputOf, type Point } from "../layout/geometry";

interface View {
  fit: () => void;
  arrange: () => void;
  zoom: (by: number) => void;
  /** Opens the keyboard help. */
  help: () => void;
  /** Converts window to canvas coordinates. */
  place: (at: Point) => Point;
}

const ZOOM = 1.25;

interface Entry {
  label: string;
  keys?: string;
  run: () => void;
}

interface Opened {
  label: string;
  at: Point;
  entries: Entry[];
}

/** Open the context menu of an element from a button. */
export function openMenu(button: Element, about: Element | null): void {
  const { left: clientX, top: clientY } = button.getBoundingClientRect();
  const at = { clientX, clientY, bubbles: true, cancelable: true };
  about?.dispatchEvent(new MouseEvent("contextmenu", at));
}

export function ContextMenu({ view }: { view: View }) {
  const store = useCanvasStore();
  const pop = useRef<HTMLDivElement>(null);
  const [opened, open] = useState<Opened | null>(null);
  useEffect(() => {
    const onMenu = (event: MouseEvent): void => {
      const target = event.target as Element;
      if (event.shiftKey || target.closest("input, textarea, .wb-pop, .wb-search")) return;
      const box = target.getBoundingClientRect();
      const keyed = !event.clientX && !event.clientY;
      const at = keyed ? { x: box.left, y: box.bottom } : { x: event.clientX, y: event.clientY };
      event.preventDefault();
      event.stopPropagation();
      open({ at, ...choices(store, view, target, at) });
    };
    store.dom.root.addEventListener("contextmenu", onMenu);
    return () => store.dom.root.removeEventListener("contextmenu", onMenu);
  }, [store, view]);
  useEffect(() => {
    const card = pop.current;
    if (!opened || !card) return;
    if (!card.matches(":popover-open")) card.showPopover();
    const { offsetWidth: width, offsetHeight: height } = card;
    card.style.left = `${Math.max(8, Math.min(opened.at.x, innerWidth - width - 8))}px`;
    card.style.top = `${Math.max(8, Math.min(opened.at.y, innerHeight - height - 8))}px`;
    card.querySelector("button")?.focus();
  }, [opened]);
  return (
    <div
      ref={pop}
      class="wb-pop wb-context nowheel"
      popover="auto"
      role="dialog"
      aria-label={opened?.label}
      data-wb="context-menu"
    >
      <Menu>
        {opened?.entries.map(({ label, keys, run }) => (
          <button
            key={label}
            type="button"
            data-wb="context"
            onClick={() => {
              pop.current!.hidePopover();
              store.dom.focus(store.current);
              run();
            }}
          >
            <span>{label}</span>
            {keys && <kbd>{keys}</kbd>}
          </button>
        ))}
      </Menu>
    </div>
  );
}

function choices(
  store: CanvasStore,
  view: View,
  target: Element,
  at: Point,
): { label: string; entries: Entry[] } {
  const port = target.closest<HTMLElement>("[data-port]")?.dataset["port"]?.split(":") ?? [];
  const node = target.closest(".react-flow__node")?.getAttribute("data-id") ?? "";
  if (port[1] === "out" && store.node(node)) return ofPort(store, node, port[2]!, at);
  if (store.node(node)) return ofNode(store, node);
  if (store.get().groups.some(({ id }) => id === node)) {
    return { label: "Chain", entries: [{ label: "Open", run: () => store.select([node]) }] };
  }
  if (node) return ofOutput(store, node);
  const edge = target.closest<HTMLElement>("[data-edge]")?.dataset["edge"];
  if (edge && store.edge(edge)) return ofEdge(store, edge, at);
  return {
    label: "Canvas",
    entries: [
      { label: "Add an operator", keys: "/", run: () => search(store) },
      { label: "Palette of operators", keys: "p", run: () => showPalette(store) },
      { label: "Add a note here", keys: "n", run: () => addNote(store, view.place(at)) },
      { label: "Automatic layout", keys: "l", run: view.arrange },
      { label: "Collapse long chains", run: () => store.collapseChains() },
      { label: "Zoom in", keys: "+", run: () => view.zoom(ZOOM) },
      { label: "Zoom out", keys: "−", run: () => view.zoom(1 / ZOOM) },
      {
        label: "Minimap",
        run: () => store.set({ map: !store.dom.root.querySelector(".wb-map") }),
      },
      {
        label: "Copy the graph as code",
        run: () => {
          store.select([]);
          copyCode(store);
        },
      },
      { label: "Zoom to fit", keys: "0", run: view.fit },
      { label: "Undo", keys: "Ctrl Z", run: () => void store.link.ask("undo", {}) },
      { label: "Redo", keys: "Ctrl Shift Z", run: () => void store.link.ask("redo", {}) },
      { label: "Keyboard shortcuts", keys: "?", run: view.help },
    ],
  };
}

function ofNode(store: CanvasStore, id: string): { label: string; entries: Entry[] } {
  const { selected } = store.get();
  if (!selected.includes(id)) store.select([id]);
  const node = store.node(id)!;
  const chosen = store.get().selected;
  const body = node.bodies[0];
  if (!node.op) return { label: id, entries: [{ label: "Add an operator after", run: () => search(store) }] };
  const all = chosen.every((other) => store.node(other)?.muted);
  const found: (Entry | false)[] = [
    !!body && { label: "Open", keys: "Enter", run: () => openScope(store, body.scope) },
    !!body && {
      label: node.expanded ? "Collapse to a card" : "Expand the block",
      run: () => collapse(store, node, node.expanded),
    },
    { label: "Add an operator after", keys: "/", run: () => search(store) },
    node.outputs.length > 0 && { label: "Branch from here", keys: "y", run: () => branch(store) },
    { label: all ? "Unmute" : "Mute", keys: "m", run: () => mute(store) },
    node.movable && { label: "Move up", keys: "Alt ↑", run: () => move(store, -1) },
    node.movable && { label: "Move down", keys: "Alt ↓", run: () => move(store, 1) },
    node.generator && { label: "Hide the random value's node", keys: "u", run: () => unfold(store) },
    node.draws.length > 0 && { label: "Show the random value as a node", keys: "u", run: () => unfold(store) },
    node.outputs.length > 0 && { label: "Connect", keys: "c", run: () => connect(store) },
    {
      label: "Edges",
      keys: "e",
      run: () => store.set({ popup: { kind: "edges", node: id } }),
    },
    { label: "Group", keys: "g", run: () => frame(store) },
    node.movable && { label: "Apply with probability", keys: "i", run: () => wrap(store) },
    node.movable && { label: "Apply by class", run: () => wrap(store, "if", false, "label") },
    node.movable && { label: "Apply by size", run: () => wrap(store, "if", false, "size") },
    node.movable && {
      label: chosen.length > 1 ? "One of the selected nodes" : "This node or none",
      keys: "b",
      run: () => chooseOneOf(store),
    },
    node.movable &&
      chosen.length > 1 && {
        label: "Some of the selected nodes",
        keys: "Shift B",
        run: () => chooseSomeOf(store),
      },
    node.movable &&
      chosen.length > 1 && {
        label: "All selected as one option",
        keys: "Shift G",
        run: () => chooseChain(store),
      },
    node.movable && { label: "Repeat", keys: "r", run: () => repeat(store) },
    node.op === "if" && { label: "Add an elif", run: () => addElif(store) },
    !!body && { label: "Unwrap the block", keys: "Shift I", run: () => unwrap(store) },
    { label: "Rename", keys: "F2", run: () => store.set({ renaming: id }) },
    chosen.length > 1 && { label: "Align", keys: "a", run: () => chooseAlignment(store) },
    { label: "Copy as code", keys: "Shift C", run: () => copyCode(store) },
    { label: "Save as a snippet", keys: "s", run: () => saveSnippet(store) },
    { label: "Duplicate", keys: "Ctrl D", run: () => duplicate(store) },
    { label: "Remove", keys: "Delete", run: () => remove(store) },
  ];
  return {
    label: chosen.length > 1 ? `${chosen.length} nodes` : id,
    entries: found.filter((entry) => entry !== false),
  };
}

function ofPort(
  store: CanvasStore,
  node: string,
  output: string,
  at: Point,
): { label: string; entries: Entry[] } {
  return {
    label: `${node}.${output}`,
    entries: [
      {
        label: "Branch from here",
        run: () => store.set({ popup: { kind: "search", place: { do: "branch", node, output }, at } }),
      },
      {
        label: "Connect",
        run: () => store.set({ popup: { kind: "connect", node, output, at } }),
      },
    ],
  };
}

function ofEdge(store: CanvasStore, edge: string, at: Point): { label: string; entries: Entry[] } {
  store.select(store.get().selected, new Set([edge]));
  return {
    label: `Edge ${edge}`,
    entries: [
      {
        label: "Add an operator here",
        run: () => store.set({ popup: { kind: "search", place: { do: "add_on", edge }, at } }),
      },
      {
        label: "Remove",
        keys: "Delete",
        run: () => {
          store.link.ask("disconnect", { edges: [edge] });
          store.set({ picked: NONE });
        },
      },
    ],
  };
}

function ofOutput(store: CanvasStore, id: string): { label: string; entries: Entry[] } {
  store.select([], new Set([id]));
  return {
    label: `output ${outputOf(id).name}`,
    entries: [
      { label: "Rename", keys: "F2", run: () => store.set({ renaming: id }) },
      { label: "Remove", keys: "Delete", run: () => remove(store) },
    ],
  };
}
