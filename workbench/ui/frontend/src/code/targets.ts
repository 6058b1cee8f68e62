// What the graph is shown as: a button with the chosen target, and behind it all of them.

import { attr, h, Keyed, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { menu as newMenu, popover } from "../lib/popover";
import type { TargetEntry } from "../views";

export function targets(link: Link<"code">): HTMLElement {
  const name = h("b", {});
  const about = h("span", { class: "wb-muted wb-code-about", "data-wb": "about" });
  const button = h(
    "button",
    { class: "wb-val wb-code-target", type: "button", "data-wb": "target" },
    name,
    icon("down", 11),
  );
  const menu = newMenu("wb-code-targets");
  const opening = (): void => {
    for (const row of menu.children) {
      attr(row, "autofocus", row.getAttribute("aria-checked") === "true");
    }
  };
  const pop = popover(button, { label: "Export to", role: "menu", opening }, menu);
  const choose = (target: string): void => {
    pop.hidePopover();
    link.set("target", target);
    draw(); // a host does not tell of what was set from here
  };
  const rows = new Keyed<TargetEntry>(
    menu,
    (entry) => `${entry.name} ${entry.about}`,
    (entry) =>
      h(
        "button",
        {
          type: "button",
          role: "menuitemradio",
          "data-wb": "target-row",
          "data-name": entry.name,
          onclick: () => choose(entry.name),
        },
        h("b", {}, entry.name),
        h("small", {}, entry.about),
      ),
    (row, entry) => attr(row, "aria-checked", String(entry.name === link.get("target", "script"))),
  );
  const draw = (): void => {
    const chosen = link.get("target", "script");
    const found = link.get("targets", []);
    rows.draw(found);
    text(name, chosen);
    text(about, found.find((entry) => entry.name === chosen)?.about ?? "");
    attr(button, "aria-label", `Export to: ${chosen}`);
  };
  link.watch(["target", "targets"], draw);
  return h("span", { class: "wb-code-to" }, button, pop, about);
}
