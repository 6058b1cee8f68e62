// Controls for lists of numbers: free ones, named elements, colours, ranges and matrices.

import type { ArgRow, Json } from "../views";
import { attr, h } from "../lib/dom";
import { icon } from "../lib/icons";
import { tidy } from "../lib/number";
import { asText, limitsOf, mark, placeholder, write, type Ask, type Control } from "./control";
import { asField, numberField, pairSlider, typedIn } from "../lib/numberInputs";
import { sliderControl } from "./slider";

/** Above this, a list gets a field of several lines. */
const LONG = 8;
/** From this on, named elements need the row's whole width. */
const MANY = 3;

function listed(value: Json): Json[] {
  return Array.isArray(value) ? value : value === null ? [] : [value];
}

/** Any number of numbers, with commas. */
export function numbers(row: ArgRow, ask: Ask): Control {
  const long = listed(row.value).length > LONG;
  const props = { class: "wb-val", spellcheck: "false", "aria-label": row.name };
  const el = long
    ? h("textarea", { ...props, class: "wb-val wb-long", rows: 4 })
    : h("input", { ...props, type: "text", autocomplete: "off" });
  el.addEventListener("change", () => {
    const words = el.value.trim();
    if (!words) return ask.reset();
    const items = words
      .replace(/^[[(]|[\])]$/g, "")
      .split(/[,;\s]+/)
      .filter(Boolean)
      .map(Number);
    // What is no list of numbers goes to Python as it stands, which says what is wrong with it.
    ask.set(items.every(Number.isFinite) ? items : words, el);
  });
  return {
    el,
    wide: long,
    draw(now) {
      write(el, now.value === null ? "" : asText(now.value));
      el.placeholder = placeholder(now);
      mark(el, now);
    },
  };
}

/** One field for each element. What is left empty takes the usual value, or that of the others. */
export function fields(row: ArgRow, ask: Ask): Control {
  const given = listed(row.value).length;
  const count = given || row.parts.length;
  const parts = Array.from({ length: count }, (_, at) => row.parts[at] ?? String(at + 1));
  const cells = cellsOf(row, parts, ask);
  const boxes = cells.els.map((cell, at) =>
    count === 1 ? cell : h("label", { class: "wb-cell" }, h("span", {}, parts[at]), cell),
  );
  const el = h("div", { class: "wb-cells" }, ...boxes);
  return { el, wide: count >= MANY, draw: cells.draw };
}

/** Rows of numbers under the names of the columns. */
export function matrix(row: ArgRow, ask: Ask): Control {
  const columns = row.parts.length;
  const count = listed(row.value).length || listed(row.default).length || columns * columns;
  const places = Array.from(
    { length: count },
    (_, index) => `row ${Math.floor(index / columns) + 1}, ${row.parts[index % columns] ?? ""}`,
  );
  const cells = cellsOf(row, places, ask);
  const heads = row.parts.map((part) => h("span", { "aria-hidden": "true" }, part));
  const el = h("div", { class: "wb-matrix" }, ...heads, ...cells.els);
  el.style.setProperty("--columns", String(columns));
  return { el, wide: true, draw: cells.draw };
}

function cellsOf(
  row: ArgRow,
  names: readonly string[],
  ask: Ask,
): { els: HTMLInputElement[]; draw(now: ArgRow): void } {
  let last = row;
  const send = (_: number | string | null, from: HTMLInputElement): void => {
    const typed = els.map(typedIn);
    if (typed.every((value) => value === null)) return ask.reset();
    const unset = listed(last.value).length === 0;
    const usual = listed(last.default);
    const filled = typed.map((value, index) => {
      if (value !== null) return value;
      return unset ? (usual[index] ?? typedIn(from)) : "";
    });
    ask.set(filled, from);
  };
  const els = names.map((name) =>
    numberField(
      names.length === 1 ? row.name : `${row.name}, ${name}`,
      limitsOf(row),
      send,
      (el) => send(null, el),
    ),
  );
  return {
    els,
    draw(now) {
      last = now;
      const values = listed(now.value);
      const usual = listed(now.default);
      els.forEach((el, index) => {
        write(el, asField(values[index] ?? null));
        el.placeholder = usual[index] === undefined ? "–" : asField(usual[index] ?? null);
        mark(el, now);
        attr(el, "aria-invalid", now.error && isWrong(values, values[index]) ? "true" : null);
      });
    },
  };
}

/** Whether a list's fault may lie in this element: in one that is no number, if there is one. */
function isWrong(values: readonly Json[], value: Json | undefined): boolean {
  return values.some((item) => typeof item !== "number") ? typeof value !== "number" : true;
}

/** The same value for every element, or one for each. */
export function each(row: ArgRow, ask: Ask, roomy = true): Control {
  const count = listed(row.value).length;
  const single = count === 1;
  const bounded = row.low !== null && row.high !== null;
  const inner = single && bounded && roomy ? sliderControl(row, ask) : fields(row, ask);
  const button = splitter(row, single, ask);
  return {
    el: h("div", { class: "wb-each" }, inner.el, count ? button : null),
    wide: inner.wide ?? false,
    draw: inner.draw,
  };
}

function splitter(row: ArgRow, single: boolean, ask: Ask): HTMLElement {
  const words = single
    ? `${row.name}: one value for each of ${row.parts.join(", ")}`
    : `${row.name}: the same value for all`;
  const button = h(
    "button",
    {
      class: "wb-split",
      type: "button",
      "aria-label": words,
      "data-tip": words,
      "data-wb": single ? "split" : "join",
    },
    icon(single ? "split" : "join", 13),
  );
  button.addEventListener("click", () => {
    const [first = 0] = listed(row.value);
    ask.set(single ? row.parts.map(() => first) : first, button);
  });
  return button;
}

/** A colour of 8-bit channels: a swatch that opens the browser's picker, and a field for each. */
export function colour(row: ArgRow, ask: Ask): Control {
  const inner = each(row, ask, false);
  const swatch = h("input", {
    type: "color",
    class: "wb-swatch",
    "aria-label": `${row.name}, colour`,
    "data-wb": "swatch",
  });
  swatch.addEventListener("input", () => {
    const hex = swatch.value.slice(1);
    ask.set(
      [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)),
      swatch,
    );
  });
  return {
    el: h("div", { class: "wb-colour" }, swatch, inner.el),
    wide: inner.wide ?? false,
    draw(now) {
      inner.draw(now);
      const values = listed(now.value ?? now.default).map(Number);
      const channel = (index: number): string => {
        const value = values[values.length === 1 ? 0 : index] ?? 0;
        const byte = Math.min(255, Math.max(0, Math.round(Number.isFinite(value) ? value : 0)));
        return byte.toString(16).padStart(2, "0");
      };
      write(swatch, `#${channel(0)}${channel(1)}${channel(2)}`);
    },
  };
}

/** A low and a high end. */
export function range(row: ArgRow, ask: Ask): Control {
  const { el, draw } = ends(row, ask.set, h("span", { "aria-hidden": "true" }, "…"));
  return { el, draw: (now) => draw(now, now.value ?? now.default) };
}

/** Two thumbs on a track where there are limits, and a field at each end with `middle` between. */
export function ends(
  row: ArgRow,
  set: (value: Json, from: Element) => void,
  middle: HTMLElement,
): { el: HTMLElement; draw(now: ArgRow, value: Json): void } {
  const limits = limitsOf(row);
  let pair: Json[] = [0, 1];
  const send = (next: Json[], el: Element): void => {
    pair = next;
    show();
    set(next, el);
  };
  const bounded = limits.low !== null && limits.high !== null;
  const sliders = bounded ? pairSlider(row.name, limits, send) : null;
  const from = numberField(`${row.name}, from, number`, limits, (v, el) => send([v, pair[1] ?? v], el));
  const to = numberField(`${row.name}, to, number`, limits, (v, el) => send([pair[0] ?? v, v], el));
  const show = (): void => {
    write(from, asField(pair[0] ?? null));
    write(to, asField(pair[1] ?? null));
  };
  return {
    el: h(
      "div",
      { class: bounded ? "wb-range" : "wb-range wb-range-free" },
      sliders?.el,
      h("div", { class: "wb-ends" }, from, middle, to),
    ),
    draw(now, value) {
      pair = listed(value).slice(0, 2);
      const [low, high] = pair.map((end) => (typeof end === "number" ? tidy(end) : null));
      sliders?.draw([low ?? limits.low ?? 0, high ?? limits.high ?? 1]);
      show();
      [from, to].forEach((el, at) => {
        mark(el, now);
        attr(el, "aria-invalid", now.error && isWrong(pair, pair[at]) ? "true" : null);
      });
    },
  };
}
