// Controls for a fixed value, by the argument's kind.

import type { ArgRow, Json } from "../views";
import { attr, h, text } from "../lib/dom";
import { icon } from "../lib/icons";
import { tidy } from "../lib/number";
import { fillSlider, numberField, slider, type Limits } from "./inputs";

export interface Control {
  el: HTMLElement;
  draw(row: ArgRow): void;
}

export interface Ask {
  set(value: Json, from: Element): void;
  reset(): void;
}

export function fixedControl(row: ArgRow, ask: Ask): Control {
  if (row.kind === "bool") return checkbox(row, ask);
  if (row.choices.length && !row.kind.endsWith("_list")) return select(row, ask);
  if (row.kind === "int" || row.kind === "float") {
    return row.low !== null && row.high !== null ? sliderAndNumber(row, ask) : number(row, ask);
  }
  return row.kind.endsWith("_list") ? list(row, ask) : line(row, ask);
}

/** What makes a control a different one, so that it has to be made anew. */
export function fixedShape(row: ArgRow): string {
  return JSON.stringify([row.kind, row.low, row.high, row.step, row.choices]);
}

export function limitsOf(row: ArgRow): Limits {
  const { low, high, step } = row;
  return { low, high, step, whole: row.kind.startsWith("int") };
}

function placeholder(row: ArgRow): string {
  if (row.required) return "required";
  return row.default === null ? "not set" : asText(row.default);
}

function number(row: ArgRow, ask: Ask): Control {
  const el = numberField(row.name, limitsOf(row), ask.set, ask.reset);
  return {
    el,
    draw(now) {
      write(el, typeof now.value === "number" ? String(tidy(now.value)) : "");
      el.placeholder = placeholder(now);
      mark(el, now);
    },
  };
}

function sliderAndNumber(row: ArgRow, ask: Ask): Control {
  const limits = limitsOf(row);
  const track = slider(row.name, limits, (value, el) => {
    write(field, String(value));
    fillSlider(track);
    ask.set(value, el);
  });
  const field = numberField(
    `${row.name}, number`,
    limits,
    (value, el) => {
      track.value = String(value);
      fillSlider(track);
      ask.set(value, el);
    },
    ask.reset,
  );
  return {
    el: h("div", { class: "wb-slide" }, track, field),
    draw(now) {
      const value = typeof now.value === "number" ? now.value : null;
      write(field, value === null ? "" : String(tidy(value)));
      field.placeholder = placeholder(now);
      track.value = String(value ?? (typeof now.default === "number" ? now.default : now.low));
      fillSlider(track);
      mark(field, now);
    },
  };
}

function checkbox(row: ArgRow, ask: Ask): Control {
  const box = h("input", { type: "checkbox", class: "wb-hidden", "aria-label": row.name });
  const word = h("span");
  box.addEventListener("change", () => {
    text(word, box.checked ? "yes" : "no");
    ask.set(box.checked, box);
  });
  return {
    el: h("label", { class: "wb-val wb-check" }, box, h("i", {}, icon("check", 11)), word),
    draw(now) {
      box.checked = now.value === true;
      text(word, box.checked ? "yes" : "no");
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
            h("option", { value: index }, choice === null ? placeholder(now) : asText(choice)),
          ),
        );
      }
      el.value = String(offered.findIndex(same));
      mark(el, now);
    },
  };
}

function list(row: ArgRow, ask: Ask): Control {
  const numeric = row.kind === "int_list" || row.kind === "float_list";
  return typed(row, ask, (words) => {
    const parts = words
      .replace(/^[[(]|[\])]$/g, "")
      .split(/[,;\s]+/)
      .filter(Boolean);
    if (row.kind === "bool_list") return parts.map((part) => /^(true|yes|1)$/i.test(part));
    if (!numeric) return parts;
    const numbers = parts.map(Number);
    // What is no list of numbers goes to Python as it stands, which says what is wrong with it.
    return numbers.every(Number.isFinite) ? numbers : words;
  });
}

function line(row: ArgRow, ask: Ask): Control {
  if (row.kind !== "object") return typed(row, ask, (words) => words);
  return typed(row, ask, (words) => {
    try {
      return JSON.parse(words) as Json;
    } catch {
      return words;
    }
  });
}

/** A text field that takes effect on Enter or when it is left. */
function typed(row: ArgRow, ask: Ask, parse: (words: string) => Json): Control {
  const el = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
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

export function asText(value: Json): string {
  if (Array.isArray(value)) return value.map(asText).join(", ");
  if (typeof value === "number") return String(tidy(value));
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Sets a field's text only where it differs, so that the caret stays. */
export function write(el: HTMLInputElement, value: string): void {
  if (el.value !== value) el.value = value;
}

/** Ties a field to its fault and its documentation. */
export function mark(el: HTMLElement, row: ArgRow): void {
  attr(el, "aria-invalid", row.error ? "true" : null);
  attr(el, "aria-description", [row.error, row.doc].filter(Boolean).join(" ") || null);
}
