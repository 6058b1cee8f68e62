// One argument: its name, its control, where its value comes from, and what is wrong with it.

import type { ArgRow, Json } from "../views";
import { attr, h, show, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { asText, type Control } from "./control";
import { fixedControl, fixedShape, readOnly } from "./fixedValueControls";
import type { InteractionGuard } from "./interactionGuard";
import type { PreviousValues } from "./previousValues";
import { randomControl, randomShape, usualDraw } from "./randomControls";
import { ValueSource } from "./valueSource";

/** Characters of the documentation in a tip; all of it opens in the row. */
const TIP = 420;

export class ArgumentRow {
  readonly el: HTMLElement;
  private name: HTMLButtonElement;
  private doc = h("p", { class: "wb-arg-doc", hidden: true });
  private slot = h("div", { class: "wb-arg-control" });
  private source: ValueSource;
  private note = h("p", { class: "wb-arg-note", "data-wb": "note" });
  private error = h("p", { class: "wb-arg-error" });
  private reset: HTMLButtonElement;
  private control: Control | null = null;
  private shape = "";
  private row: ArgRow;

  /** `owner` tells the operator and the node, for the memory. */
  constructor(
    private owner: string,
    private node: string,
    row: ArgRow,
    private link: Link<"inspector">,
    private guard: InteractionGuard,
    private memory: PreviousValues,
  ) {
    this.row = row;
    const params = { node, arg: row.name };
    this.name = h(
      "button",
      {
        class: "wb-arg-name",
        type: "button",
        "aria-expanded": "false",
        "aria-description": "What it means",
        onclick: () => this.unfold(),
      },
      ...breakable(row.name),
      row.unit && ` ${row.unit}`,
    );
    this.source = new ValueSource(row.name, {
      fix: () => {
        const value = memory.value(owner, row.name);
        if (value === null) link.ask("fix", params);
        else link.ask("set", { ...params, value, group: "" });
      },
      randomise: (op) => this.randomise(op),
      link: (port) => {
        const at = port.lastIndexOf(".");
        link.ask("link", { ...params, source: port.slice(0, at), output: port.slice(at + 1) });
      },
    });
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
    this.el = h(
      "div",
      {
        class: "wb-arg",
        "data-wb": "arg",
        "data-arg": row.name,
        role: "group",
        "aria-label": row.name,
      },
      h("div", { class: "wb-arg-label" }, this.name, this.reset),
      this.slot,
      this.source.el,
      this.note,
      this.error,
      this.doc,
    );
  }

  /** `ports` has words for the outputs that the row names. */
  draw(row: ArgRow, ports: Record<string, string>): void {
    this.row = row;
    this.memory.note(this.owner, row);
    attr(this.el, "data-changed", row.changed ? "true" : null);
    attr(this.el, "data-mode", row.mode);
    attr(this.el, "data-tensor", row.tensor ? "true" : null);
    attr(this.el, "data-off", row.off ? "true" : null);
    attr(this.name, "data-tip", cut(explain(row)));
    text(this.doc, explain(row).split("\n\n")[1] ?? "");
    this.source.draw(row, ports);
    show(this.reset, row.changed);
    const to = row.default === null ? "not set" : asText(row.default);
    attr(this.reset, "data-tip", row.locked ? "Take it away" : `Changed. Reset to ${cut(to)}`);
    this.say(row);

    // While the control is held, a new one waits until the hand has let go.
    if (this.control && this.guard.holds(this.control.el)) return;
    const shape = `${row.mode} ${row.random ? randomShape(row) : fixedShape(row)}`;
    if (!this.control || shape !== this.shape) {
      const held = this.slot.querySelector(":focus")?.getAttribute("data-wb");
      this.shape = shape;
      this.control = this.make(row);
      this.slot.replaceChildren(this.control.el);
      attr(this.el, "data-wide", this.control.wide ? "true" : null);
      if (held) this.slot.querySelector<HTMLElement>("select, input, button")?.focus();
    }
    this.control.draw(row);
  }

  /** What else the draw feeds, why the value has no effect, and what is wrong with it. */
  private say(row: ArgRow): void {
    const shared = row.random?.shared ?? [];
    const words = shared.length ? `shared with ${shared.join(", ")}` : row.off;
    if (this.note.dataset["of"] !== words) {
      this.note.dataset["of"] = words;
      const own = h(
        "button",
        {
          class: "wb-link",
          type: "button",
          "data-wb": "own",
          onclick: () => this.link.ask("own", { node: this.node, arg: row.name }),
        },
        "make it its own",
      );
      this.note.replaceChildren(
        ...(words ? [words] : []),
        ...(shared.length ? [" · ", own] : []),
      );
    }
    if (this.error.dataset["of"] !== row.error) {
      this.error.dataset["of"] = row.error;
      this.error.replaceChildren(...(row.error ? [icon("warn", 12), row.error] : []));
    }
  }

  private unfold(): void {
    const open = this.doc.hidden === true;
    show(this.doc, open);
    attr(this.name, "aria-expanded", String(open));
  }

  private randomise(wanted: string): void {
    const { memory, owner, row, node } = this;
    const last = memory.op(owner, row.name);
    const op = wanted || (row.distributions.includes(last) ? last : usualDraw(row));
    const args: Record<string, Json> = memory.args(owner, row.name, op);
    this.link.ask("randomise", { node, arg: row.name, op, args });
  }

  private make(row: ArgRow): Control {
    const { node, link, guard } = this;
    const params = { node, arg: row.name };
    if (row.mode === "linked") return linked(row);
    if (row.mode === "random") {
      return randomControl(row, {
        set: (key, value, from) =>
          link.ask("set_random", { ...params, key, value, group: guard.group(from) }, true),
        randomise: (op) => this.randomise(op),
      });
    }
    return fixedControl(row, {
      set: (value, from) => link.ask("set", { ...params, value, group: guard.group(from) }, true),
      reset: () => link.ask("reset", params),
    });
  }
}

function linked(row: ArgRow): Control {
  const { el, write } = readOnly(`${row.name}, comes from`);
  return { el, draw: (now) => write(`← ${now.link ?? ""}`) };
}

function explain(row: ArgRow): string {
  const same = row.label.toLowerCase().replaceAll(" ", "_") === row.name.toLowerCase();
  const head = row.label && !same ? `${row.name} · ${row.label}` : row.name;
  const { low, high } = row;
  const range = row.mode === "fixed" && low !== null && high !== null;
  const parts = [
    row.locked,
    row.doc.replace(/\n\n+/g, "\n"),
    range && `Usual range ${low} to ${high}${row.unit && ` ${row.unit}`}.`,
    row.default !== null && `Usually ${cut(asText(row.default), 80) || "empty"}.`,
    row.fixed_only,
    row.deprecated && `Deprecated: ${row.deprecated}`,
  ];
  return `${head}\n\n${parts.filter(Boolean).join("\n")}`;
}

function cut(words: string, most = TIP): string {
  return words.length > most ? `${words.slice(0, most)}…` : words;
}

/** Long names break after an underscore. */
function breakable(name: string): (string | HTMLElement)[] {
  return name.split(/(?<=_)/).flatMap((part, index) => (index ? [h("wbr"), part] : [part]));
}
