// Palette: a column at the left edge of the canvas with everything that can be added, by category.
// Drag to the canvas, an edge, a card or a port; a click or Enter adds at the selection.

import type { TargetedKeyboardEvent, TargetedPointerEvent } from "preact";
import { memo } from "preact/compat";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { inspectedOperator } from "../state/actions";
import { isOutput, type Point } from "../layout/geometry";
import type { Place } from "../state/canvasState";
import type { CanvasStore } from "../state/canvasStore";
import { useCanvasStore, useCanvasState } from "../state/context";
import { Icon } from "../../lib/icons";
import { placeText } from "./operatorSearch";
import { addDropped, previewPaletteDrop, type Drop } from "./paletteDrop";
import { paletteFinds, paletteGroups } from "./paletteItems";
import { showPalette } from "../state/paletteVisibility";
import { chooseItem } from "./search";
import { PREFIXES, type Item } from "./searchItems";

/** Pixels of movement after which a press is a drag. */
const THRESHOLD = 5;
const MOST_FOUND = 60;
/** Prefix that is omitted from names to save space; the tooltip has the full name. */
const EXPERIMENTAL = /^experimental\./;

interface Dragged {
  item: Item;
  at: Point;
  drop: Drop | null;
}

/** Return where a click adds: on the selected edge, after the inspected node, or at the end. */
function selectedPlace(store: CanvasStore): Place {
  const edge = [...store.get().picked][0];
  if (edge && (store.edge(edge) || isOutput(edge))) return { do: "add_on", edge };
  return { do: "add", after: inspectedOperator(store) };
}

/** `dropUnder` returns the drop target at a point of the window; null outside the canvas. */
export const Palette = memo(function Palette({ dropUnder }: { dropUnder: (at: Point) => Drop | null }) {
  const store = useCanvasStore();
  const open = useCanvasState((state) => state.palette);
  return open ? <Column store={store} dropUnder={dropUnder} /> : null;
});

function Column({ store, dropUnder }: { store: CanvasStore; dropUnder: (at: Point) => Drop | null }) {
  const operators = useCanvasState((state) => state.operators);
  const categories = useCanvasState((state) => state.categories);
  const templates = useCanvasState((state) => state.templates);
  const snippets = useCanvasState((state) => state.snippets);
  const blocks = useCanvasState((state) => state.blocks);
  const recipes = useCanvasState((state) => state.recipes);
  const selected = useCanvasState((state) => state.selected);
  useCanvasState((state) => state.picked);
  const [query, setQuery] = useState("");
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set(["Geometry"]));
  const [dragged, setDragged] = useState<Dragged | null>(null);
  const column = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // The focus does not move if the palette was already open when the page loaded.
    if (store.dom.root.matches(":focus-within")) column.current?.querySelector("input")?.focus();
  }, []);
  const all = { operators, categories, templates, snippets, blocks, recipes, selected };
  const known = [operators, categories, templates, snippets, blocks, recipes, selected];
  const groups = useMemo(() => paletteGroups(all), known);
  const wanted = query.trim();
  const finds = useMemo(() => (wanted ? paletteFinds(all, wanted).slice(0, MOST_FOUND) : []), [wanted, ...known]);

  const take = (item: Item): void => {
    if (item.reason) return store.say(`${item.name}: ${item.reason}`);
    chooseItem(store, selectedPlace(store), item);
  };
  const toggle = (name: string, on = !opened.has(name)): void => {
    const next = new Set(opened);
    if (on) next.add(name);
    else next.delete(name);
    setOpened(next);
  };
  const release = (item: Item, drop: Drop | null): void => {
    setDragged(null);
    store.set({ hovered: "" });
    if (!drop || item.reason) return;
    if ([PREFIXES.block, PREFIXES.recipe].some((prefix) => item.id.startsWith(prefix))) return take(item);
    addDropped(store, item, drop);
    store.say(`${item.name} ${previewPaletteDrop(store, item, drop)}`);
  };
  const key = (event: TargetedKeyboardEvent<HTMLElement>): void => {
    const passes = event.ctrlKey || event.metaKey || event.altKey;
    const el = event.target as HTMLElement;
    const typing = el.matches("input");
    if (passes || (!typing && ["/", "?"].includes(event.key))) return;
    event.stopPropagation();
    const rows = [...column.current!.querySelectorAll<HTMLElement>(".wb-palette-list button")];
    const at = rows.indexOf(el);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key] ?? (typing ? undefined : { Home: 0, End: rows.length - 1 }[event.key]);
    const group = el.dataset["group"];
    if (to !== undefined) (to < 0 ? column.current?.querySelector("input") : rows[to])?.focus();
    else if (event.key === "Escape") {
      if (query) setQuery("");
      else showPalette(store, false);
    } else if (event.key === "Enter" && typing) {
      if (finds[0]) take(finds[0]);
    } else if (group && (event.key === "ArrowRight" || event.key === "ArrowLeft")) {
      toggle(group, event.key === "ArrowRight");
    } else if (!typing && event.key.length === 1 && event.key !== " ") {
      return column.current?.querySelector("input")?.focus(); // typed characters go into the field
    } else return;
    event.preventDefault();
  };
  const option = (item: Item) => (
    <Option
      key={item.id}
      item={item}
      take={take}
      move={(at) => {
        const drop = dropUnder(at);
        store.set({ hovered: drop?.do === "add_on" ? drop.edge : "" });
        setDragged({ item, at, drop });
      }}
      release={(at) => release(item, at && dropUnder(at))}
    />
  );
  return (
    <div
      ref={column}
      class="wb-palette nowheel"
      role="region"
      aria-label="Palette of operators"
      data-wb="palette"
      onKeyDown={key}
    >
      <div class="wb-palette-head">
        <input
          type="text"
          spellcheck={false}
          autocomplete="off"
          placeholder="Filter"
          aria-label="Filter the palette"
          data-wb="palette-filter"
          value={query}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <button
          type="button"
          aria-label="Close the palette"
          data-tip="Close (p)"
          data-wb="palette-close"
          onClick={() => showPalette(store, false)}
        >
          <Icon name="close" size={13} />
        </button>
      </div>
      <div class="wb-palette-where">{placeText(store, selectedPlace(store))}</div>
      <div class="wb-palette-list">
        {wanted
          ? finds.map(option)
          : groups.map(({ name, items }) => (
              <div key={name} role="group" aria-label={name}>
                <button
                  type="button"
                  class="wb-palette-group"
                  aria-expanded={opened.has(name)}
                  data-wb="palette-group"
                  data-group={name}
                  onClick={() => toggle(name)}
                >
                  <Icon name={opened.has(name) ? "down" : "right"} size={11} />
                  <span>{name}</span>
                  <small>{items.length}</small>
                </button>
                {opened.has(name) && items.map(option)}
              </div>
            ))}
        {wanted && !finds.length && <p>No results for “{wanted}”.</p>}
      </div>
      {dragged && <Ghost {...dragged} words={dragged.drop ? previewPaletteDrop(store, dragged.item, dragged.drop) : ""} />}
    </div>
  );
}

interface OptionProps {
  item: Item;
  take: (item: Item) => void;
  move: (at: Point) => void;
  /** Called at the end of a drag; `at` is null if the drag was cancelled. */
  release: (at: Point | null) => void;
}

function Option({ item, take, move, release }: OptionProps) {
  const latest = useRef({ move, release });
  latest.current = { move, release };
  /** True during a drag, whose final click is ignored. */
  const dragging = useRef(false);
  const end = useRef<(() => void) | null>(null);
  useEffect(() => () => end.current?.(), []);
  const grab = (event: TargetedPointerEvent<HTMLElement>): void => {
    if (event.button || item.reason) return;
    const el = event.currentTarget;
    const from = { x: event.clientX, y: event.clientY };
    dragging.current = false;
    el.setPointerCapture(event.pointerId);
    const follow = ({ clientX: x, clientY: y }: PointerEvent): void => {
      dragging.current ||= Math.hypot(x - from.x, y - from.y) > THRESHOLD;
      if (dragging.current) latest.current.move({ x, y });
    };
    const stop = (at: Point | null): void => {
      end.current?.();
      if (dragging.current) latest.current.release(at);
    };
    const drop = ({ clientX: x, clientY: y }: PointerEvent): void => stop({ x, y });
    const cancel = (): void => stop(null);
    const escape = (key: KeyboardEvent): void => {
      if (key.key !== "Escape" || !dragging.current) return;
      key.preventDefault();
      key.stopPropagation();
      cancel();
    };
    end.current = () => {
      el.removeEventListener("pointermove", follow);
      el.removeEventListener("pointerup", drop);
      el.removeEventListener("pointercancel", cancel);
      window.removeEventListener("keydown", escape, true);
      end.current = null;
    };
    el.addEventListener("pointermove", follow);
    el.addEventListener("pointerup", drop);
    el.addEventListener("pointercancel", cancel);
    window.addEventListener("keydown", escape, true);
  };
  return (
    <button
      type="button"
      class="wb-palette-item"
      aria-disabled={item.reason ? true : undefined}
      data-wb="palette-item"
      data-op={item.id}
      data-tip={`${item.name}\n\n${item.reason || item.note}`}
      onPointerDown={grab}
      onClick={() => {
        if (!dragging.current) take(item);
        dragging.current = false;
      }}
    >
      <span>{item.name.replace(EXPERIMENTAL, "")}</span>
      {EXPERIMENTAL.test(item.name) && <small>exp.</small>}
    </button>
  );
}

/** Dragged item next to the pointer, above everything so that no pane clips it. */
function Ghost({ item, at, words }: Dragged & { words: string }) {
  return (
    <div
      ref={(el) => {
        if (el && !el.matches(":popover-open")) el.showPopover();
      }}
      class="wb-palette-ghost"
      popover="manual"
      data-wb="palette-ghost"
      style={{ left: at.x + 12, top: at.y + 10 }}
    >
      <b>{item.name}</b>
      <span>{words || "drop on the canvas"}</span>
    </div>
  );
}
