// The arguments of the selected node.

import type { ArgRow } from "./views";
import { Hand } from "./inspector/hand";
import { Row } from "./inspector/row";
import { component } from "./lib/component";
import { attr, h, Keyed, show, text } from "./lib/dom";
import { undoKey } from "./lib/keys";
import css from "./styles/inspector.css";

export default component("inspector", css, (root, link) => {
  const title = h("h3");
  const doc = h("p", { class: "wb-inspector-doc" });
  const main = h("div", { class: "wb-args" });
  const rest = h("div", { class: "wb-args" });
  const more = h("button", { class: "wb-link wb-more", type: "button", "data-wb": "more" });
  const empty = h("p", { class: "wb-empty" }, "Select an operator to see its arguments.");
  const body = h("div", { class: "wb-inspector-body" }, h("div", {}, title, doc), main, more, rest);
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", "Arguments");
  root.append(h("div", { class: "wb-inspector-scroll" }, body, empty));

  const rows = new Map<string, Row>();
  const opened = new Set<string>();
  /** Where a row stands is settled when its node is shown, so that no row moves under the hand. */
  const folded = new Map<string, boolean>();
  let node = "";

  const hand = new Hand(root, link, () => draw());
  const keyed = (parent: HTMLElement): Keyed<ArgRow> =>
    new Keyed<ArgRow>(
      parent,
      (row) => row.name,
      (row) => {
        const made = new Row(node, row, link, hand);
        rows.set(row.name, made);
        return made.el;
      },
      (_, row) => rows.get(row.name)?.draw(row),
    );
  const lists = [keyed(main), keyed(rest)] as const;
  more.addEventListener("click", () => {
    if (!opened.delete(node)) opened.add(node);
    draw();
  });
  root.addEventListener("keydown", (event) => {
    undoKey(event, (action) => link.ask(action, {}));
  });

  const draw = (): void => {
    const view = link.get("node", {});
    const id = view.id ?? "";
    if (id !== node) {
      // Another node's controls share nothing with these, whatever their names.
      for (const list of lists) list.draw([]);
      rows.clear();
      folded.clear();
      node = id;
      root.scrollTop = 0;
    }
    root.dataset["node"] = id;
    show(body, id !== "");
    show(empty, id === "");
    text(title, view.op ?? "");
    attr(title, "data-tip", view.label && view.label !== view.op ? `${id} · ${view.label}` : id);
    text(doc, view.doc ?? "");
    attr(doc, "data-tip", (view.doc ?? "").length > 150 ? (view.doc ?? null) : null);

    const all = view.rows ?? [];
    for (const row of all) {
      if (!folded.has(row.name)) folded.set(row.name, row.advanced && !row.changed && !row.error);
    }
    const [first, second] = lists;
    first.draw(all.filter((row) => !folded.get(row.name)));
    const tucked = all.filter((row) => folded.get(row.name));
    second.draw(tucked);
    const open = opened.has(node);
    const wrong = tucked.filter((row) => row.error).length;
    show(more, tucked.length > 0);
    show(rest, open || wrong > 0);
    attr(more, "aria-expanded", String(open || wrong > 0));
    text(more, `${open || wrong > 0 ? "▾" : "▸"} ${tucked.length} more`);
  };
  link.watch(["node"], draw);
  return () => hand.dispose();
});
