// Controls for a value that is drawn for each sample.

import type { ArgRow, Json } from "../views";
import { h } from "../lib/dom";
import { asText, mark, write, type Control } from "./control";
import { asField, fillSlider, numberField, SHARE, slider, UNBOUNDED } from "../lib/numberInputs";
import { ends } from "./listControls";

export interface AskRandom {
  set(key: string, value: Json, from: Element): void;
  randomise(op: string): void;
}

/** The distribution that "make it random" starts with. */
export function usualDraw(row: ArgRow): string {
  return row.distributions[0] ?? "random.uniform";
}

/** `random.coin_flip` as `coin flip`. */
export function wordOf(op: string): string {
  return op.replace("random.", "").replace("_", " ");
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
    ...all.map((name) => h("option", { value: name }, wordOf(name))),
  );
  el.value = op;
  el.addEventListener("change", () => ask.randomise(el.value));
  return el;
}

function uniform(row: ArgRow, ask: AskRandom): Control {
  const { el, draw } = ends(
    { ...row, minimum: null, maximum: null },
    (value, from) => ask.set("range", value, from),
    distribution(row, ask),
  );
  return { el, draw: (now) => draw(now, now.random?.args["range"] ?? [0, 1]) };
}

function coinFlip(row: ArgRow, ask: AskRandom): Control {
  const send = (value: number | string, el: Element): void => {
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
      const value = now.random?.args["probability"] ?? 0.5;
      write(field, asField(value));
      track.value = String(value);
      fillSlider(track);
      mark(field, now);
    },
  };
}

/** Any other distribution: a field for each of its arguments. */
function others(row: ArgRow, ask: AskRandom): Control {
  const keys = Object.keys(row.random?.args ?? {});
  const fields = keys.map((key) => {
    const name = `${row.name}, ${key}`;
    return { key, el: key === "values" ? values(name, key) : number(name, key) };
  });
  function number(name: string, key: string): HTMLInputElement {
    return numberField(name, UNBOUNDED, (value, el) => ask.set(key, value, el));
  }
  function values(name: string, key: string): HTMLInputElement {
    const el = h("input", {
      class: "wb-val",
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
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
        const value = now.random?.args[key] ?? null;
        write(el, Array.isArray(value) ? asText(value) : asField(value));
        mark(el, now);
      }
    },
  };
}
