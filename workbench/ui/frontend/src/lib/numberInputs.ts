// Number fields and sliders: the parts that the controls are made of.

import type { Json } from "../views";
import { attr, h } from "./dom";
import { tidy } from "./number";
import { throttle } from "./throttle";

/** A frame of a 60 Hz screen: no picture can be seen that is asked for more often. */
const FRAME = 16;
/** After the last key in a field, before the number that it holds is taken. */
const TYPING = 250;
/** Steps of an arrow key while Shift is held. */
const STRIDE = 10;

export interface Limits {
  low: number | null;
  high: number | null;
  step: number | null;
  whole: boolean;
  /** What is accepted at all; a slider's ends may be nearer. */
  minimum: number | null;
  maximum: number | null;
}

export const UNBOUNDED: Limits = {
  low: null,
  high: null,
  step: null,
  whole: false,
  minimum: null,
  maximum: null,
};
export const SHARE: Limits = { ...UNBOUNDED, low: 0, high: 1, step: 0.01, minimum: 0, maximum: 1 };

/** What was typed: a number, or words that Python will say what is wrong with; null for nothing. */
export function typedIn(el: HTMLInputElement): number | string | null {
  const words = el.value.trim();
  if (!words) return null;
  const value = Number(words.replace("−", "-"));
  return Number.isFinite(value) ? value : words;
}

/** A value as a field shows it. */
export function asField(value: Json): string {
  if (value === null || value === undefined) return "";
  return typeof value === "number" ? String(tidy(value)) : String(value);
}

/**
 * A field for a number that keeps whatever is typed. Arrow keys take effect at once, a number
 * after a `pause` in milliseconds, anything else on Enter or when the field is left.
 */
export function numberField(
  name: string,
  limits: Limits,
  send: (value: number | string, el: HTMLInputElement) => void,
  empty: (el: HTMLInputElement) => void = () => undefined,
  pause: number | null = TYPING,
): HTMLInputElement {
  const el = h("input", {
    class: "wb-val",
    type: "text",
    role: "spinbutton",
    inputmode: "decimal",
    autocomplete: "off",
    spellcheck: "false",
    "aria-label": name,
    "aria-valuemin": limits.minimum,
    "aria-valuemax": limits.maximum,
  });
  let timer = 0;
  let sent: number | string | null = null;
  const take = (): void => {
    clearTimeout(timer);
    const value = typedIn(el);
    attr(el, "aria-valuenow", typeof value === "number" ? value : null);
    if (value !== null && value !== sent) send((sent = value), el);
  };
  el.addEventListener("focus", () => (sent = typedIn(el)));
  el.addEventListener("input", () => {
    clearTimeout(timer);
    const number = typeof typedIn(el) === "number";
    if (number && pause !== null) timer = window.setTimeout(take, pause);
  });
  el.addEventListener("change", () => {
    clearTimeout(timer);
    if (typedIn(el) !== null) return take();
    sent = null;
    empty(el);
  });
  el.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowDown: -1, PageUp: STRIDE, PageDown: -STRIDE }[event.key];
    const from = typedIn(el) ?? numberOr(el.placeholder, limits.low ?? 0);
    if (!by || typeof from !== "number" || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    el.value = String(stepped(from, by * (event.shiftKey ? STRIDE : 1), limits));
    take();
  });
  return el;
}

function numberOr(words: string, fallback: number): number {
  const value = Number(words);
  return words.trim() && Number.isFinite(value) ? value : fallback;
}

function stepped(from: number, steps: number, limits: Limits): number {
  const to = tidy(from + steps * stepOf(limits));
  return Math.min(limits.maximum ?? Infinity, Math.max(limits.minimum ?? -Infinity, to));
}

/** A slider; `send` is called through the whole of a drag. Shift makes arrow keys stride. */
export function slider(
  name: string,
  limits: Limits,
  send: (value: number, el: HTMLInputElement) => void,
): HTMLInputElement {
  const { low, high } = limits;
  const el = h("input", {
    class: "wb-slider",
    type: "range",
    "aria-label": name,
    min: low,
    max: high,
    step: stepOf(limits),
  });
  const pace = throttle<number>(FRAME, (value) => send(value, el));
  el.addEventListener("input", () => pace.push(tidy(el.valueAsNumber)));
  el.addEventListener("change", pace.flush);
  el.addEventListener("keydown", (event) => {
    const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
    if (!by || !event.shiftKey) return;
    event.preventDefault();
    el.stepUp(by * STRIDE);
    el.dispatchEvent(new Event("input", { bubbles: true }));
    el.dispatchEvent(new Event("change", { bubbles: true }));
  });
  return el;
}

/** Two sliders on one track, which cannot pass each other. */
export function pairSlider(
  name: string,
  limits: Limits,
  send: (pair: [number, number], el: HTMLInputElement) => void,
): { el: HTMLElement; draw(pair: [number, number]): void } {
  const track = h("div", { class: "wb-pair" });
  const read = (): [number, number] => [tidy(low.valueAsNumber), tidy(high.valueAsNumber)];
  const moved = (el: HTMLInputElement): void => {
    if (el === low && low.valueAsNumber > high.valueAsNumber) low.value = high.value;
    if (el === high && high.valueAsNumber < low.valueAsNumber) high.value = low.value;
    fill();
    send(read(), el);
  };
  const low = slider(`${name}, from`, limits, (_, el) => moved(el));
  const high = slider(`${name}, to`, limits, (_, el) => moved(el));
  const fill = (): void => {
    const span = (limits.high ?? 1) - (limits.low ?? 0) || 1;
    const share = (el: HTMLInputElement): string =>
      `${((el.valueAsNumber - (limits.low ?? 0)) / span) * 100}`;
    track.style.setProperty("--from", share(low));
    track.style.setProperty("--to", share(high));
  };
  track.append(low, high);
  return {
    el: track,
    draw([from, to]) {
      low.value = String(from);
      high.value = String(to);
      // With both thumbs at the upper end, the one that can still move lies on top.
      attr(low, "data-top", from >= (limits.high ?? 1) ? "true" : null);
      fill();
    },
  };
}

/** Shows how far a single slider has come. */
export function fillSlider(el: HTMLInputElement): void {
  const span = Number(el.max) - Number(el.min) || 1;
  el.style.setProperty("--to", String(((el.valueAsNumber - Number(el.min)) / span) * 100));
}

function stepOf({ low, high, step, whole }: Limits): number {
  if (step) return step;
  if (whole) return 1;
  const fine = low !== null && high !== null ? (high - low) / 200 : 0.1;
  return 10 ** Math.floor(Math.log10(fine || 0.01));
}
