// The arguments of the selected node.

import type { ArgRow } from "./views";
import { InteractionGuard } from "./inspector/interactionGuard";
import { NodeHeader } from "./inspector/nodeHeader";
import { PreviousValues } from "./inspector/previousValues";
import { ArgumentRow } from "./inspector/argumentRow";
import { component } from "./lib/component";
import { attr, h, Keyed, show, text } from "./lib/dom";
import { undoKey } from "./lib/keyboard";
import css from "./styles/inspector.css";

export default component("inspector", css, (root, link) => {
  const head = new NodeHeader(link);
  const main = h("div", { class: "wb-args" });
  const rest = h("div", { class: "wb-args" });
  const more = h("button", { class: "wb-link wb-more", type: "button", "data-wb": "more" });
  const empty = h("p", { class: "wb-empty" }, "Select an operator to see its arguments.");
  const body = h("div", { class: "wb-inspector-body" }, head.el, main, more, rest);
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", "Arguments");
  const scroll = h("div", { class: "wb-inspector-scroll" }, body, empty);
  root.append(scroll);

  const rows = new Map<string, ArgumentRow>();
  const opened = new Set<string>();
  const memory = new PreviousValues();
  /** Where a row stands is settled when its node is shown, so that no row moves under the hand. */
  const folded = new Map<string, boolean>();
  /** The operator and the node whose rows are shown. */
  let owner = "";
  let node = "";

  const guard = new InteractionGuard(root, link, () => draw());
  const keyed = (parent: HTMLElement): Keyed<ArgRow> =>
    new Keyed<ArgRow>(
      parent,
      (row) => row.name,
      (row) => {
        const made = new ArgumentRow(owner, node, row, link, guard, memory);
        rows.set(row.name, made);
        return made.el;
      },
      (_, row) => rows.get(row.name)?.draw(row, link.get("node", {}).ports ?? {}),
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
    const now = `${view.op ?? ""}:${id}`;
    if (now !== owner) {
      // Another node's controls share nothing with these, whatever their names.
      for (const list of lists) list.draw([]);
      rows.clear();
      folded.clear();
      owner = now;
      node = id;
      scroll.scrollTop = 0;
    }
    root.dataset["node"] = id;
    show(body, id !== "");
    show(empty, id === "");
    head.draw(view);

    const all = view.rows ?? [];
    for (const row of all) {
      if (!folded.has(row.name)) folded.set(row.name, row.advanced && !row.changed && !row.error);
    }
    const [first, second] = lists;
    first.draw(all.filter((row) => !folded.get(row.name)));
    const tucked = all.filter((row) => folded.get(row.name));
    second.draw(tucked);
    const open = opened.has(node) || tucked.some((row) => row.error);
    show(more, tucked.length > 0);
    show(rest, open);
    attr(more, "aria-expanded", String(open));
    text(more, `${open ? "▾" : "▸"} ${tucked.length} more`);
  };
  link.watch(["node"], draw);
  return () => guard.dispose();
});
