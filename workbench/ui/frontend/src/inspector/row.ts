// One argument: its name, its control, dice and reset, and what is wrong with it.

import type { ArgRow } from "../views";
import { attr, h, show } from "../lib/dom";
import { dice, icon } from "../lib/icons";
import type { Link } from "../lib/model";
import { asText, fixedControl, fixedShape, type Control } from "./fixed";
import type { Hand } from "./hand";
import { randomControl, randomShape, usualDraw } from "./random";

export class Row {
  readonly el: HTMLElement;
  private name = h("span", { class: "wb-arg-name" });
  private slot = h("div", { class: "wb-arg-control" });
  private error = h("p", { class: "wb-arg-error" });
  private dice: HTMLButtonElement;
  private reset: HTMLButtonElement;
  private control: Control | null = null;
  private shape = "";
  private row: ArgRow;

  constructor(
    private node: string,
    row: ArgRow,
    private link: Link<"inspector">,
    private hand: Hand,
  ) {
    this.row = row;
    const params = { node, arg: row.name };
    this.dice = h(
      "button",
      {
        class: "wb-dice",
        type: "button",
        "data-wb": "dice",
        onclick: () => {
          if (this.row.mode === "random") link.ask("fix", params);
          else link.ask("randomise", { ...params, op: usualDraw(this.row) });
        },
      },
      dice(),
    );
    this.reset = h(
      "button",
      {
        class: "wb-dice wb-reset",
        type: "button",
        "aria-label": `Reset ${row.name}`,
        "data-wb": "reset",
        onclick: () => link.ask("reset", params),
      },
      icon("reset", 13),
    );
    const label = h("div", { class: "wb-arg-label" }, this.name, this.reset);
    this.el = h(
      "div",
      {
        class: "wb-arg",
        "data-wb": "arg",
        "data-arg": row.name,
        role: "group",
        "aria-label": row.name,
      },
      label,
      this.slot,
      this.dice,
      this.error,
    );
    this.name.append(...breakable(row.name), row.unit && ` ${row.unit}`);
  }

  draw(row: ArgRow): void {
    this.row = row;
    attr(this.el, "data-changed", row.changed ? "true" : null);
    attr(this.el, "data-mode", row.mode);
    attr(this.name, "data-tip", explain(row));
    const thrown = row.mode === "random";
    show(this.dice, row.tensor && row.mode !== "linked");
    attr(this.dice, "aria-pressed", String(thrown));
    attr(this.dice, "aria-label", `${row.name} random`);
    attr(this.dice, "data-tip", thrown ? "Make it fixed" : "Draw it anew for each sample");
    show(this.reset, row.changed);
    attr(
      this.reset,
      "data-tip",
      `Reset to ${row.default === null ? "not set" : asText(row.default)}`,
    );
    if (this.error.dataset["of"] !== row.error) {
      this.error.dataset["of"] = row.error;
      this.error.replaceChildren(...(row.error ? [icon("warn", 12), row.error] : []));
    }

    // While the control is held, a new one waits until the hand has let go.
    if (this.control && this.hand.holds(this.control.el)) return;
    const shape = `${row.mode} ${thrown ? randomShape(row) : fixedShape(row)}`;
    if (!this.control || shape !== this.shape) {
      this.shape = shape;
      this.control = this.make(row);
      this.slot.replaceChildren(this.control.el);
    }
    this.control.draw(row);
  }

  private make(row: ArgRow): Control {
    const { node, link, hand } = this;
    const params = { node, arg: row.name };
    if (row.mode === "linked") return linked();
    if (row.mode === "random") {
      return randomControl(row, {
        set: (key, value, from) =>
          link.ask("set_random", { ...params, key, value, group: hand.group(from) }, true),
        randomise: (op) => link.ask("randomise", { ...params, op }),
      });
    }
    return fixedControl(row, {
      set: (value, from) => link.ask("set", { ...params, value, group: hand.group(from) }, true),
      reset: () => link.ask("reset", params),
    });
  }
}

function linked(): Control {
  const el = h("span", { class: "wb-val wb-linked" });
  return { el, draw: (row) => el.replaceChildren(`← ${row.link ?? ""}`) };
}

function explain(row: ArgRow): string {
  const head = row.label && row.label !== row.name ? `${row.name} · ${row.label}` : row.name;
  const range =
    row.low !== null && row.high !== null ? `Usual range ${row.low} to ${row.high}. ` : "";
  const usual = row.default === null ? "" : `Default ${asText(row.default)}.`;
  const parts = [
    row.doc,
    `${range}${usual}`.trim(),
    row.deprecated && `Deprecated: ${row.deprecated}`,
  ];
  return `${head}\n\n${parts.filter(Boolean).join("\n")}`;
}

/** Long names break after an underscore. */
function breakable(name: string): (string | HTMLElement)[] {
  return name.split(/(?<=_)/).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));
}
