// The chip that says how the worker is; behind it, all that is wrong with the graph.

import type { FaultEntry, Status } from "../views";
import { attr, h, Keyed, text } from "../lib/dom";
import { icon } from "../lib/icons";
import { focusFirst, menu as newMenu, popover } from "../lib/popover";

interface Ask {
  select: (node: string) => void;
  fix: (fault: FaultEntry, fix: string) => void;
}

type Faults = HTMLElement[] & {
  draw(status: Partial<Status>, faults: FaultEntry[]): void;
  end(): void;
};

/** Seconds of waiting from which on the chip counts them. */
const COUNTED_FROM = 3;

export function faultsButton({ select, fix }: Ask): Faults {
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

  const entry = (fault: FaultEntry): HTMLElement => {
    const choose = (): void => {
      pop.hidePopover();
      if (fault.node) select(fault.node);
    };
    const look = { type: "button", "data-wb": "fault", "data-node": fault.node, onclick: choose };
    return h(
      "div",
      { role: "group", "aria-label": fault.message },
      h(
        "button",
        look,
        icon("warn", 14),
        h("span", {}, fault.message),
        fault.remedy && h("small", {}, fault.remedy),
      ),
      fault.fixes.length > 0 && h("div", { class: "wb-bar-fixes" }, ...fault.fixes.map(fixOf(fault))),
    );
  };
  const fixOf = (fault: FaultEntry) => (label: string): HTMLElement => {
    const onclick = (): void => fix(fault, label);
    return h("button", { class: "wb-quiet", type: "button", "data-wb": "fix", onclick }, label);
  };

  const list = new Keyed<FaultEntry>(
    menu,
    (fault) => [fault.node, fault.arg, fault.message, fault.remedy, ...fault.fixes].join("\n"),
    entry,
  );
  let clock: number | undefined;
  const count = (said: string): void => {
    const since = Date.now();
    clock = window.setInterval(() => {
      const seconds = Math.round((Date.now() - since) / 1000);
      if (seconds >= COUNTED_FROM) text(words, `${said} · ${seconds} s`);
    }, 1000);
  };
  return Object.assign([chip, pop], {
    end: () => window.clearInterval(clock),
    draw(status: Partial<Status>, faults: FaultEntry[]): void {
      const state = status.state ?? "busy";
      const said = status.text || "starting";
      attr(chip, "data-state", faults.length && state === "ready" ? "fault" : state);
      text(words, said);
      window.clearInterval(clock);
      if (state === "busy") count(said);
      chip.disabled = faults.length === 0;
      attr(chip, "aria-label", faults.length ? `${said}, show the faults` : null);
      const held = menu.querySelector(":focus") !== null;
      list.draw(faults);
      if (!pop.matches(":popover-open")) return;
      if (!faults.length) pop.hidePopover();
      else if (held && !menu.querySelector(":focus")) menu.querySelector("button")?.focus();
    },
  });
}
