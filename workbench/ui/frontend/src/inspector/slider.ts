// A number with usual limits: a slider and a field.

import type { ArgRow, Json } from "../views";
import { attr, h } from "../lib/dom";
import { tidy } from "../lib/number";
import { limitsOf, mark, placeholder, write, type Ask, type Control } from "./control";
import { asField, fillSlider, numberField, slider } from "../lib/numberInputs";

/** A slider with a field beside it. */
export function sliderControl(row: ArgRow, ask: Ask): Control {
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
      const value = one(now.value);
      write(field, asField(value));
      field.placeholder = placeholder(now);
      const usual = one(now.default);
      const at = typeof value === "number" ? value : typeof usual === "number" ? usual : now.low;
      track.value = String(at);
      fillSlider(track);
      attr(track, "aria-valuetext", `${tidy(Number(at))} ${now.unit}`.trim());
      for (const el of [track, field]) mark(el, now);
    },
  };
}

/** A single value, also where it stands in a list. */
function one(value: Json): Json {
  return Array.isArray(value) && value.length === 1 ? (value[0] ?? null) : value;
}
