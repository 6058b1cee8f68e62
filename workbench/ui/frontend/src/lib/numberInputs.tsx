// Number fields and sliders used by the controls.

import type { Ref, TargetedEvent } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Json } from "../payloads";
import { roundedText } from "./number";
import { throttle } from "./throttle";
import { commitText } from "./typedText";

/** Minimum milliseconds between requests: a frame at 60 Hz. */
const FRAME = 16;
/** Milliseconds after the last key until a typed number is applied. */
const TYPING = 250;
/** Number of steps per arrow key press while Shift is held. */
const STRIDE = 10;

export interface Limits {
  low: number | null;
  high: number | null;
  step: number | null;
  whole: boolean;
  /** Minimum accepted value; the range of a slider may be narrower. */
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

/** Return the typed value: a number, or text that Python refuses; null if the field is empty. */
export function typedIn(el: HTMLInputElement): number | string | null {
  const words = el.value.trim();
  if (!words) return null;
  const value = Number(words.replace("−", "-"));
  return Number.isFinite(value) ? value : words;
}

/** Return the text of a value in a field. */
export function fieldText(value: Json): string {
  if (value === null || value === undefined) return "";
  return typeof value === "number" ? String(roundedText(value)) : String(value);
}

function numberOr(words: string, fallback: number): number {
  const value = Number(words);
  return words.trim() && Number.isFinite(value) ? value : fallback;
}

function stepped(from: number, steps: number, limits: Limits): number {
  const to = roundedText(from + steps * stepOf(limits));
  return Math.min(limits.maximum ?? Infinity, Math.max(limits.minimum ?? -Infinity, to));
}

/** Update the filled part of a slider's track. */
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

/**
 * Step a number with the mouse wheel if it has the focus; otherwise the wheel scrolls the panel.
 */
function onFocusedWheel(
  event: TargetedEvent<HTMLInputElement, WheelEvent>,
  step: (by: number) => void,
): void {
  // Shift makes the wheel horizontal in some browsers.
  const turned = event.deltaY || event.deltaX;
  if (turned && !event.ctrlKey && event.currentTarget.matches(":focus")) step(turned < 0 ? 1 : -1);
}

/** Further attributes of a field or a slider. */
export interface Input {
  value?: string;
  disabled?: boolean;
  placeholder?: string;
  "aria-invalid"?: boolean | undefined;
  "aria-description"?: string | undefined;
  "aria-valuetext"?: string;
  "data-top"?: boolean | undefined;
  "data-wb"?: string;
}

interface FieldProps extends Input {
  name: string;
  limits: Limits;
  send: (value: number | string, el: HTMLInputElement) => void;
  empty?: (el: HTMLInputElement) => void;
  /** Milliseconds until a typed number is applied; null: on Enter or when it loses the focus. */
  pause?: number | null;
  ref?: Ref<HTMLInputElement>;
}

/**
 * Number field that keeps any typed text. Arrow keys are applied immediately, a number after
 * `pause` milliseconds, anything else on Enter or when it loses the focus.
 */
export function NumberField({ name, limits, send, empty, pause = TYPING, ...rest }: FieldProps) {
  const typing = useRef<{ timer: number; sent: number | string | null }>({ timer: 0, sent: null });
  const { current: own } = typing;
  const latest = useRef(send);
  latest.current = send;
  const take = (el: HTMLInputElement): void => {
    clearTimeout(own.timer);
    commitText(el);
    const value = typedIn(el);
    if (typeof value === "number") el.setAttribute("aria-valuenow", String(value));
    else el.removeAttribute("aria-valuenow");
    if (value !== null && value !== own.sent) latest.current((own.sent = value), el);
  };
  const step = (event: TargetedEvent<HTMLInputElement, KeyboardEvent | WheelEvent>, by: number): void => {
    const el = event.currentTarget;
    const from = typedIn(el) ?? numberOr(el.placeholder, limits.low ?? 0);
    if (typeof from !== "number") return;
    event.preventDefault();
    el.value = String(stepped(from, by * (event.shiftKey ? STRIDE : 1), limits));
    take(el);
  };
  return (
    <input
      class="wb-val"
      type="text"
      role="spinbutton"
      inputmode="decimal"
      autocomplete="off"
      spellcheck={false}
      aria-label={name}
      aria-valuemin={limits.minimum ?? undefined}
      aria-valuemax={limits.maximum ?? undefined}
      {...rest}
      onFocus={(event) => (own.sent = typedIn(event.currentTarget))}
      onInput={({ currentTarget: el }) => {
        clearTimeout(own.timer);
        own.sent = null;
        const number = typeof typedIn(el) === "number";
        if (number && pause !== null) own.timer = window.setTimeout(() => take(el), pause);
      }}
      onChange={({ currentTarget: el }) => {
        clearTimeout(own.timer);
        if (typedIn(el) !== null) return take(el);
        own.sent = null;
        empty?.(el);
      }}
      onKeyDown={(event) => {
        const by = { ArrowUp: 1, ArrowDown: -1, PageUp: STRIDE, PageDown: -STRIDE }[event.key];
        if (by && !event.ctrlKey && !event.altKey && !event.metaKey) step(event, by);
      }}
      onWheel={(event) => onFocusedWheel(event, (by) => step(event, by))}
    />
  );
}

interface SliderProps extends Input {
  name: string;
  limits: Limits;
  send: (value: number, el: HTMLInputElement) => void;
  ref?: Ref<HTMLInputElement>;
}

/** Slider; `send` is called during a drag. Shift increases the step of arrow keys. */
export function Slider({ name, limits, send, ...rest }: SliderProps) {
  const latest = useRef(send);
  latest.current = send;
  const pace = useMemo(
    () => throttle<[number, HTMLInputElement]>(FRAME, (moved) => latest.current(...moved)),
    [],
  );
  const step = (event: TargetedEvent<HTMLInputElement>, by: number): void => {
    const el = event.currentTarget;
    event.preventDefault();
    el.stepUp(by);
    el.dispatchEvent(new Event("input", { bubbles: true }));
    el.dispatchEvent(new Event("change", { bubbles: true }));
  };
  return (
    <input
      class="wb-slider"
      type="range"
      aria-label={name}
      min={limits.low ?? undefined}
      max={limits.high ?? undefined}
      step={stepOf(limits)}
      {...rest}
      onInput={({ currentTarget: el }) => pace.push([roundedText(el.valueAsNumber), el])}
      onChange={pace.flush}
      onKeyDown={(event) => {
        const by = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1 }[event.key];
        if (by && event.shiftKey) step(event, by * STRIDE);
      }}
      onWheel={(event) =>
        onFocusedWheel(event, (by) => step(event, by * (event.shiftKey ? STRIDE : 1)))
      }
    />
  );
}

interface PairProps {
  name: string;
  limits: Limits;
  pair: [number, number];
  send: (pair: [number, number], el: HTMLInputElement) => void;
}

/** Two sliders on one track that cannot pass each other. */
export function PairSlider({ name, limits, pair: [from, to], send }: PairProps) {
  const track = useRef<HTMLDivElement>(null);
  const low = useRef<HTMLInputElement>(null);
  const high = useRef<HTMLInputElement>(null);
  const fill = (): void => {
    const span = (limits.high ?? 1) - (limits.low ?? 0) || 1;
    const share = (el: HTMLInputElement): string =>
      `${((el.valueAsNumber - (limits.low ?? 0)) / span) * 100}`;
    track.current!.style.setProperty("--from", share(low.current!));
    track.current!.style.setProperty("--to", share(high.current!));
  };
  useLayoutEffect(fill);
  const moved = (el: HTMLInputElement): void => {
    const [first, second] = [low.current!, high.current!];
    if (el === first && first.valueAsNumber > second.valueAsNumber) first.value = second.value;
    if (el === second && second.valueAsNumber < first.valueAsNumber) second.value = first.value;
    fill();
    send([roundedText(first.valueAsNumber), roundedText(second.valueAsNumber)], el);
  };
  // If both thumbs are at the upper end, the one that can still move is on top.
  const top = from >= (limits.high ?? 1) || undefined;
  return (
    <div class="wb-pair" ref={track}>
      <Slider
        ref={low}
        name={`${name}, from`}
        limits={limits}
        value={String(from)}
        data-top={top}
        send={(_, el) => moved(el)}
      />
      <Slider
        ref={high}
        name={`${name}, to`}
        limits={limits}
        value={String(to)}
        send={(_, el) => moved(el)}
      />
    </div>
  );
}

/** Slider and field for the same number, synchronised. */
export function SliderField(props: {
  name: string;
  limits: Limits;
  /** Position of the slider, even if the field is empty. */
  at: number;
  value: string;
  send: (value: number | string, el: HTMLInputElement) => void;
  empty?: () => void;
  track?: Input;
  field?: Input;
}) {
  const { name, limits, at, value, send, empty } = props;
  const track = useRef<HTMLInputElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => fillSlider(track.current!));
  return (
    <div class="wb-slide">
      <Slider
        ref={track}
        name={name}
        limits={limits}
        value={String(at)}
        send={(moved, el) => {
          field.current!.value = String(moved);
          fillSlider(el);
          send(moved, el);
        }}
        {...props.track}
      />
      <NumberField
        ref={field}
        name={`${name}, number`}
        limits={limits}
        value={value}
        send={(typed, el) => {
          if (!track.current) return; // the field was removed by undo
          track.current.value = String(typed);
          fillSlider(track.current);
          send(typed, el);
        }}
        {...(empty && { empty })}
        {...props.field}
      />
    </div>
  );
}
