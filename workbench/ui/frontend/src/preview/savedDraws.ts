// Draws worth keeping: kept with the graph, and shown again.

import { iconButton } from "../lib/button";
import { attr, h, Keyed } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { popover } from "../lib/popover";
import type { SavedDrawEntry } from "../views";

export function savedDraws(link: Link<"preview">): HTMLElement {
  const count = h("span", {});
  const button = h(
    "button",
    { class: "wb-ico wb-saved-draws-open", type: "button", "data-wb": "saved-draws" },
    icon("bookmark", 13),
    count,
  );
  const keep = h(
    "button",
    {
      class: "wb-quiet",
      type: "button",
      "data-wb": "keep",
      onclick: () => link.ask("save_draw", { sample: -1 }),
    },
    "Keep this draw",
  );
  const empty = h("p", { class: "wb-ask-head" }, "A draw that is kept is stored with the graph.");
  const list = h("div", { class: "wb-saved-draws", role: "list", "aria-label": "Kept draws" });
  const rows = new Keyed<SavedDrawEntry>(
    list,
    (_, index) => String(index),
    () => h("div", { role: "listitem", "data-wb": "saved-draw" }),
    (el, entry, index) => {
      const replay = h(
        "button",
        {
          class: "wb-saved-draw-replay",
          type: "button",
          "aria-current": entry.shown ? "true" : null,
          onclick: () => {
            pop.hidePopover();
            link.ask("replay_draw", { draw: index });
          },
        },
        h("span", {}, entry.text),
        entry.note && h("small", {}, entry.note),
      );
      const drop = iconButton(`Forget ${entry.text}`, "drop", icon("close", 11), () =>
        link.ask("delete_draw", { draw: index }),
      );
      el.replaceChildren(replay, drop);
    },
  );
  const pop = popover(button, { label: "Kept draws" }, list, empty, keep);
  link.watch(["saved_draws"], () => {
    const draws = link.get("saved_draws", []);
    rows.draw(draws);
    empty.hidden = draws.length > 0;
    count.textContent = draws.length ? String(draws.length) : "";
    attr(button, "aria-label", draws.length ? `Kept draws: ${draws.length}` : "Kept draws");
    attr(button, "data-tip", "Keep this draw, or show one that was kept");
    keep.hidden = draws.some((draw) => draw.shown && draw.whole);
  });
  return h("span", {}, button, pop);
}
