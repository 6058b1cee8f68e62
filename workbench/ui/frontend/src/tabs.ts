// Which of the lower panels is open.

import { component } from "./lib/component";
import { attr, h } from "./lib/dom";
import css from "./styles/tabs.css";
import { TABS } from "./views";

export default component("tabs", css, (root, link) => {
  const list = h("div", { class: "wb-tabs-list", role: "tablist", "aria-label": "Panels" });
  const buttons = TABS.map((name) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        "data-wb": "tab",
        "data-tab": name,
        onclick: () => link.set("tab", name),
      },
      name.charAt(0).toUpperCase() + name.slice(1),
    ),
  );
  list.append(...buttons);
  list.addEventListener("keydown", (event) => {
    const at = TABS.indexOf(link.get("tab", "preview"));
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = TABS.at(to % TABS.length) ?? "preview";
    link.set("tab", next);
    buttons[TABS.indexOf(next)]?.focus();
  });
  root.append(list);

  link.watch(["tab"], () => {
    const open = link.get("tab", "preview");
    for (const button of buttons) {
      const chosen = button.dataset["tab"] === open;
      attr(button, "aria-selected", String(chosen));
      attr(button, "tabindex", chosen ? 0 : -1);
    }
  });
});
