// The chip that says how the worker is, and what is wrong with the graph.

import type { FaultEntry, Status } from "../views";
import { attr, h, Keyed, text } from "../lib/dom";
import { icon } from "../lib/icons";
import { focusFirst, menu as newMenu, popover } from "../lib/popover";

type Faults = HTMLElement[] & { draw(status: Partial<Status>, faults: FaultEntry[]): void };

export function faultsButton(select: (node: string) => void): Faults {
  const words = h("span");
  const chip = h(
    "button",
    { class: "wb-chip wb-bar-status", type: "button", "data-wb": "status" },
    h("i", { "aria-hidden": "true" }),
    words,
  );
  const menu = newMenu("wb-bar-faults");
  const opening = (): void => focusFirst(menu);
  const pop = popover(chip, { label: "Faults", align: "end", opening }, menu);

  const list = new Keyed<FaultEntry>(
    menu,
    (fault) => `${fault.node}.${fault.arg}.${fault.message}`,
    (fault) =>
      h(
        "button",
        {
          type: "button",
          "data-wb": "fault",
          "data-node": fault.node,
          onclick: () => {
            pop.hidePopover();
            if (fault.node) select(fault.node);
          },
        },
        icon("warn", 14),
        h("span", {}, fault.message),
        fault.remedy && h("small", {}, fault.remedy),
      ),
  );
  return Object.assign([chip, pop], {
    draw(status: Partial<Status>, faults: FaultEntry[]): void {
      const state = status.state ?? "busy";
      const said = status.text || "starting";
      attr(chip, "data-state", faults.length && state === "ready" ? "fault" : state);
      text(words, said);
      chip.disabled = faults.length === 0;
      attr(chip, "aria-label", faults.length ? `${said}, show the faults` : null);
      list.draw(faults);
      if (!faults.length && pop.matches(":popover-open")) pop.hidePopover();
    },
  });
}
