// Number fields and sliders: the parts that the controls are made of.

import { attr, h } from "../lib/dom";
import { numberIn, tidy } from "../lib/number";
import { paced } from "../lib/pace";

/** A frame of a 60 Hz screen: no picture can be seen that is asked for more often. */
const FRAME = 16;
/** After the last key in a field, before what it holds is taken. */
const TYPING = 250;

export interface Limits {
  low: number | null;
  high: number | null;
  step: number | null;
  whole: boolean;
}

/** A number field. Arrow keys take effect at once, typing after a pause or on Enter. */
export function numberField(
  name: string,
  limits: Limits,
  send: (value: number, el: HTMLInputElement) => void,
  empty: () => void = () => undefined,
): HTMLInputElement {
  const el = h("input", {
    class: "wb-val",
    type: "number",
    "aria-label": name,
    step: limits.step ?? (limits.whole ? 1 : "any"),
  });
  let timer = 0;
  let sent: number | null = null;
  const take = (): void => {
    clearTimeout(timer);
    const value = numberIn(el);
    if (value !== null && value !== sent) send((sent = value), el);
  };
  el.addEventListener("focus", () => (sent = numberIn(el)));
  el.addEventListener("input", (event) => {
    clearTimeout(timer);
    const typed = event instanceof InputEvent && !!event.inputType;
    if (typed) timer = window.setTimeout(take, TYPING);
    else take();
  });
  el.addEventListener("change", () => {
    if (numberIn(el) === null && !el.validity.badInput) empty();
    else take();
  });
  return el;
}

/** A slider; `send` is called through the whole of a drag. */
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
    step: sliderStep(limits),
  });
  const pace = paced<number>(FRAME, (value) => send(value, el));
  el.addEventListener("input", () => pace.push(tidy(el.valueAsNumber)));
  el.addEventListener("change", pace.flush);
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

function sliderStep({ low, high, step, whole }: Limits): number {
  if (step) return step;
  if (whole) return 1;
  const fine = ((high ?? 1) - (low ?? 0)) / 200;
  return 10 ** Math.floor(Math.log10(fine || 0.01));
}
