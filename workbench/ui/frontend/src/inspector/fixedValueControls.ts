// Controls for a fixed value that is not a list of numbers.

import type { ArgRow, Json } from "../views";
import { attr, h, text } from "../lib/dom";
import { icon } from "../lib/icons";
import { asText, limitsOf, mark, placeholder, write, type Ask, type Control } from "./control";
import { asField, numberField } from "../lib/numberInputs";
import { colour, each, fields, matrix, numbers, range } from "./listControls";
import { sliderControl } from "./slider";

const MAKERS: Record<ArgRow["editor"], (row: ArgRow, ask: Ask) => Control> = {
  check: checkbox,
  choice: select,
  number: (row, ask) => (row.low !== null && row.high !== null ? sliderControl(row, ask) : number(row, ask)),
  text: (row, ask) => line(row, ask, (words) => words),
  texts: (row, ask) => line(row, ask, (words) => texts(words, row.kind)),
  numbers,
  fields,
  each,
  colour,
  range,
  matrix,
  shown,
};

export function fixedControl(row: ArgRow, ask: Ask): Control {
  return MAKERS[row.editor](row, ask);
}

/** What makes a control a different one, so that it has to be made anew. */
export function fixedShape(row: ArgRow): string {
  const count = Array.isArray(row.value) ? row.value.length : -1;
  const parts = row.parts.length ? [row.parts, count] : count > 8;
  return JSON.stringify([row.editor, row.low, row.high, row.step, row.choices, parts]);
}

function number(row: ArgRow, ask: Ask): Control {
  const el = numberField(row.name, limitsOf(row), ask.set, ask.reset);
  return {
    el,
    draw(now) {
      write(el, asField(now.value));
      el.placeholder = placeholder(now);
      mark(el, now);
    },
  };
}

/** Yes or no; as 1 or 0 where the argument is a whole number. */
function checkbox(row: ArgRow, ask: Ask): Control {
  const box = h("input", { type: "checkbox", class: "wb-hidden", "aria-label": row.name });
  const word = h("span");
  box.addEventListener("change", () => {
    text(word, box.checked ? "yes" : "no");
    ask.set(row.kind === "int" ? Number(box.checked) : box.checked, box);
  });
  return {
    el: h("label", { class: "wb-val wb-check" }, box, h("i", {}, icon("check", 11)), word),
    draw(now) {
      const known = typeof now.value === "boolean" || now.value === 0 || now.value === 1;
      box.checked = now.value === true || now.value === 1;
      box.indeterminate = !known;
      text(word, known ? (box.checked ? "yes" : "no") : asText(now.value ?? placeholder(now)));
      mark(box, now);
    },
  };
}

function select(row: ArgRow, ask: Ask): Control {
  const el = h("select", { class: "wb-val", "aria-label": row.name });
  let offered: Json[] = [];
  el.addEventListener("change", () => {
    const value = offered[Number(el.value)];
    if (value === undefined || value === null) ask.reset();
    else ask.set(value, el);
  });
  return {
    el,
    draw(now) {
      const same = (choice: Json): boolean => JSON.stringify(choice) === JSON.stringify(now.value);
      const next = now.choices.some(same) ? now.choices : [now.value, ...now.choices];
      if (JSON.stringify(next) !== JSON.stringify(offered)) {
        offered = [...next];
        el.replaceChildren(
          ...offered.map((choice, index) =>
            h("option", { value: index }, choice === null ? placeholder(now) : word(choice)),
          ),
        );
      }
      el.value = String(offered.findIndex(same));
      mark(el, now);
    },
  };
}

/** Without the beginning that all members of the enumeration share. */
function word(choice: Json): string {
  return asText(choice).replace(/^INTERP_(?=\w)/, "") || "none";
}

/** A text field that takes effect on Enter or when it is left. */
function line(row: ArgRow, ask: Ask, parse: (words: string) => Json): Control {
  const el = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
    autocomplete: "off",
    "aria-label": row.name,
  });
  el.addEventListener("change", () => {
    const words = el.value.trim();
    if (words) ask.set(parse(words), el);
    else ask.reset();
  });
  return {
    el,
    draw(now) {
      write(el, now.value === null ? "" : asText(now.value));
      el.placeholder = placeholder(now);
      mark(el, now);
    },
  };
}

/** `a, b` as a list; `["a, b"]` where a comma belongs to a text. */
function texts(words: string, kind: string): Json {
  if (words.startsWith("[")) {
    try {
      return JSON.parse(words) as Json;
    } catch {
      return words;
    }
  }
  const parts = words.split(",").map((part) => part.trim());
  if (kind !== "bool_list") return parts.filter(Boolean);
  return parts.map((part) => ({ yes: true, true: true, no: false, false: false })[part] ?? part);
}

/** What is kept and cannot be edited; a text on several lines. */
function shown(row: ArgRow): Control {
  const { el, write: put } = row.kind === "str" ? readText(row.name) : readOnly(row.name);
  return {
    el,
    wide: row.kind === "str",
    draw(now) {
      put(now.value === null ? "not set" : asText(now.value));
      attr(el, "data-tip", now.locked || null);
      mark(el, now);
    },
  };
}

function readText(name: string): { el: HTMLTextAreaElement; write(words: string): void } {
  const el = h("textarea", {
    class: "wb-val wb-linked wb-long",
    readonly: true,
    rows: 3,
    "aria-label": name,
  });
  return { el, write: (words) => write(el, words) };
}

/** A field that shows and takes nothing. */
export function readOnly(name: string): { el: HTMLInputElement; write(words: string): void } {
  const el = h("input", {
    class: "wb-val wb-linked",
    type: "text",
    readonly: true,
    "aria-label": name,
  });
  return { el, write: (words) => write(el, words) };
}
