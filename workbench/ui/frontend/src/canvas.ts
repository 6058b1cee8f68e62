// The nodes, in order: select, add, move, remove.

import { Cards } from "./canvas/cards";
import { keysCard } from "./canvas/help";
import { Search } from "./canvas/search";
import { component } from "./lib/component";
import { h } from "./lib/dom";
import { chord, undoKey } from "./lib/keys";
import type { NodeEntry } from "./views";
import css from "./styles/canvas.css";

export default component("canvas", css, (root, link) => {
  const nodes = (): NodeEntry[] => link.get("nodes", []);
  const selected = (): string => link.get("selected", "");
  const node = (): NodeEntry | undefined => nodes().find((entry) => entry.id === selected());

  const search = new Search(
    (op, after) => link.ask("add", { op, after }),
    () => cards.focus(selected()) || box.focus(),
  );
  const insert = (after: string): void =>
    search.open(link.get("operators", []), after, box.getBoundingClientRect());
  const cards = new Cards({
    select: (id) => link.set("selected", id),
    move: (id, by) => link.ask("move", { node: id, by }),
    remove: (id) => link.ask("remove", { node: id }),
    insert,
  });
  const box = h(
    "div",
    { class: "wb-canvas-box", tabindex: -1, role: "region", "aria-label": "Graph" },
    cards.el,
    h("p", { class: "wb-canvas-empty" }, "No operators yet."),
  );
  const add = h(
    "button",
    { type: "button", "data-wb": "add", onclick: () => insert(place()) },
    h("kbd", {}, "/"),
    " add an operator",
  );
  const help = keysCard();
  root.append(box, h("div", { class: "wb-canvas-hint" }, add, help.button), help.card, search.el);

  /** Behind the selected node, or at the end where none is selected or that place is taken. */
  const place = (): string => {
    const all = nodes();
    const at = all.findIndex((entry) => entry.id === selected());
    return at >= 0 && at >= all.findLastIndex((entry) => !entry.movable) ? selected() : "";
  };
  const step = (by: number): void => {
    const all = nodes();
    const at = all.findIndex((entry) => entry.id === selected());
    const next = all[at < 0 ? 0 : Math.min(Math.max(at + by, 0), all.length - 1)];
    if (!next) return;
    link.set("selected", next.id);
    cards.focus(next.id);
  };
  const move = (by: -1 | 1): void => {
    if (node()?.movable) link.ask("move", { node: selected(), by });
  };
  const remove = (): void => {
    if (node()?.movable) link.ask("remove", { node: selected() });
  };
  const keys: Record<string, () => void> = {
    "/": () => insert(place()),
    "?": () => help.card.togglePopover(),
    ArrowLeft: () => step(-1),
    ArrowUp: () => step(-1),
    ArrowRight: () => step(1),
    ArrowDown: () => step(1),
    Home: () => step(-Infinity),
    End: () => step(Infinity),
    Delete: remove,
    Backspace: remove,
    "Alt+ArrowLeft": () => move(-1),
    "Alt+ArrowRight": () => move(1),
    "Ctrl+ArrowLeft": () => move(-1),
    "Ctrl+ArrowRight": () => move(1),
  };
  root.addEventListener("keydown", (event) => {
    if (undoKey(event, (action) => link.ask(action, {}))) return;
    const run = keys[chord(event)];
    if (!run) return;
    event.preventDefault();
    run();
  });
  box.addEventListener("pointerup", (event) => {
    if (!(event.target as Element).closest("button")) box.focus({ preventScroll: true });
  });

  /** Scrolls the canvas, never the page, to a card that lies outside of it. */
  const reveal = (id: string): void => {
    const card = cards.place(id);
    if (!card) return;
    const above = card.top - 24;
    const below = card.bottom + 44 - box.clientHeight;
    if (box.scrollTop > above) box.scrollTop = above;
    else if (box.scrollTop < below) box.scrollTop = below;
  };
  let shown = "";
  const draw = (): void => {
    root.dataset["nodes"] = String(nodes().length);
    box.classList.toggle("wb-canvas-none", nodes().length === 0);
    cards.draw(nodes(), selected(), box.clientWidth);
    if (selected() !== shown) reveal((shown = selected()));
  };
  link.watch(["nodes", "selected"], draw);
  let wide = 0;
  const observer = new ResizeObserver(() => {
    if (box.clientWidth === wide) return;
    wide = box.clientWidth;
    draw();
  });
  observer.observe(box);
  return () => observer.disconnect();
});
