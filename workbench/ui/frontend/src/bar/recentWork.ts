// The sessions that were kept, to open a copy of one.

import type { RecentEntry } from "../views";
import { h, Keyed, show } from "../lib/dom";

export function recentWork(choose: (owner: string) => void): {
  el: HTMLElement;
  draw(entries: RecentEntry[]): void;
} {
  const grid = h("div", { class: "wb-bar-gallery wb-bar-recent", "data-wb": "recent" });
  const none = h("p", { class: "wb-muted" }, "Nothing else has been worked on yet.");
  const list = new Keyed<RecentEntry>(
    grid,
    (entry) => JSON.stringify(entry),
    (entry) => card(entry, () => choose(entry.owner)),
  );
  const el = h("section", {}, h("p", { class: "wb-ask-head" }, "Recent work"), grid, none);
  return {
    el,
    draw(entries) {
      list.draw(entries);
      show(none, !entries.length);
    },
  };
}

function card(entry: RecentEntry, onclick: () => void): HTMLElement {
  const { name, when, data, picture, open } = entry;
  const facts = [when, data, open && "open now"].filter(Boolean).join(" · ");
  return h(
    "button",
    { type: "button", "data-wb": "recent-entry", "data-owner": entry.owner, onclick },
    picture
      ? h("img", { src: picture, alt: "", width: 384, height: 96 })
      : h("span", { class: "wb-bar-nothing" }, "no picture yet"),
    h("b", {}, name || "untitled"),
    h("small", {}, facts),
  );
}
