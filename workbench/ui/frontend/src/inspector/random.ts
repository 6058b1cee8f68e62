// Controls for a value that is drawn for each sample.

import type { ArgRow, Json } from "../views";
import { h } from "../lib/dom";
import { tidy } from "../lib/number";
import { asText, limitsOf, mark, write, type Control } from "./fixed";
import { fillSlider, numberField, pairSlider, slider, type Limits } from "./inputs";

export interface AskRandom {
  set(key: string, value: Json, from: Element): void;
  randomise(op: string): void;
}

const UNBOUNDED: Limits = { low: null, high: null, step: null, whole: false };
const SHARE: Limits = { low: 0, high: 1, step: 0.01, whole: false };

/** The distribution that "make it random" starts with. */
export function usualDraw(row: ArgRow): string {
  return row.distributions[0] ?? "random.uniform";
}

export function randomShape(row: ArgRow): string {
  const { op = "", args = {} } = row.random ?? {};
  return JSON.stringify([op, Object.keys(args), row.low, row.high, row.step, row.kind]);
}

export function randomControl(row: ArgRow, ask: AskRandom): Control {
  const op = row.random?.op ?? "";
  if (op === "random.uniform") return uniform(row, ask);
  if (op === "random.coin_flip") return coinFlip(row, ask);
  return others(row, ask);
}

/** A word that is a menu of the distributions. */
function distribution(row: ArgRow, ask: AskRandom): HTMLSelectElement {
  const op = row.random?.op ?? "";
  const all = row.distributions.includes(op) ? row.distributions : [op, ...row.distributions];
  const el = h(
    "select",
    { class: "wb-dist", "aria-label": `${row.name}, distribution`, "data-wb": "distribution" },
    ...all.map((name) =>
      h("option", { value: name }, name.replace("random.", "").replace("_", " ")),
    ),
  );
  el.value = op;
  el.addEventListener("change", () => ask.randomise(el.value));
  return el;
}

function uniform(row: ArgRow, ask: AskRandom): Control {
  const limits = limitsOf(row);
  let pair: [number, number] = [0, 1];
  const send = (next: [number, number], el: Element): void => {
    pair = next;
    show();
    ask.set("range", next, el);
  };
  const bounded = limits.low !== null && limits.high !== null;
  const sliders = bounded ? pairSlider(row.name, limits, send) : null;
  const free = { ...limits, low: null, high: null };
  const from = numberField(`${row.name}, from, number`, free, (v, el) => send([v, pair[1]], el));
  const to = numberField(`${row.name}, to, number`, free, (v, el) => send([pair[0], v], el));
  const show = (): void => {
    write(from, String(tidy(pair[0])));
    write(to, String(tidy(pair[1])));
  };
  const ends = h("div", { class: "wb-ends" }, from, distribution(row, ask), to);
  return {
    el: h("div", { class: bounded ? "wb-range" : "wb-range wb-range-free" }, sliders?.el, ends),
    draw(now) {
      const range = now.random?.args["range"];
      if (Array.isArray(range)) pair = [Number(range[0]), Number(range[1])];
      sliders?.draw(pair);
      show();
      for (const el of [from, to]) mark(el, now);
    },
  };
}

function coinFlip(row: ArgRow, ask: AskRandom): Control {
  const send = (value: number, el: Element): void => {
    write(field, String(value));
    track.value = String(value);
    fillSlider(track);
    ask.set("probability", value, el);
  };
  const track = slider(`${row.name}, probability`, SHARE, send);
  const field = numberField(`${row.name}, probability, number`, SHARE, send);
  return {
    el: h(
      "div",
      { class: "wb-range" },
      h("div", { class: "wb-slide" }, track, field),
      h("div", { class: "wb-ends" }, distribution(row, ask)),
    ),
    draw(now) {
      const given = now.random?.args["probability"];
      const value = tidy(typeof given === "number" ? given : 0.5);
      write(field, String(value));
      track.value = String(value);
      fillSlider(track);
      mark(field, now);
    },
  };
}

/** Any other distribution: a field for each of its arguments. */
function others(row: ArgRow, ask: AskRandom): Control {
  const normal = row.random?.op === "random.normal";
  const start: Record<string, Json> = normal ? { mean: 0, stddev: 1 } : {};
  const keys = Object.keys({ ...start, ...row.random?.args });
  const fields = keys.map((key) => {
    const name = `${row.name}, ${key}`;
    const value = row.random?.args[key] ?? start[key] ?? null;
    return { key, el: typeof value === "number" ? number(name, key) : words(name, key) };
  });
  function number(name: string, key: string): HTMLInputElement {
    return numberField(name, UNBOUNDED, (value, el) => ask.set(key, value, el));
  }
  function words(name: string, key: string): HTMLInputElement {
    const el = h("input", {
      class: "wb-val",
      type: "text",
      spellcheck: "false",
      "aria-label": name,
    });
    el.addEventListener("change", () => {
      const parts = el.value.split(/[,;\s]+/).filter(Boolean);
      const numbers = parts.map(Number);
      ask.set(key, numbers.every(Number.isFinite) ? numbers : parts, el);
    });
    return el;
  }
  const labelled = fields.map(({ key, el }) => h("label", {}, h("span", {}, key), el));
  return {
    el: h(
      "div",
      { class: "wb-range" },
      h("div", { class: "wb-parts" }, ...labelled),
      h("div", { class: "wb-ends" }, distribution(row, ask)),
    ),
    draw(now) {
      for (const { key, el } of fields) {
        write(el, asText(now.random?.args[key] ?? start[key] ?? ""));
        mark(el, now);
      }
    },
  };
}
