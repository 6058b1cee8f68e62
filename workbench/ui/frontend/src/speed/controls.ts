// Which part is open, with which settings it measures, how far it is.

import type { Components } from "../views";
import { attr, focused, h, show, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { numberIn } from "../lib/number";
import { segmented } from "../lib/segmented";

type Part = Components["speed"]["fields"]["part"];
type Effort = Components["speed"]["fields"]["effort"];
export type Speed = Link<"speed">;

const PARTS: { id: Part; label: string }[] = [
  { id: "compare", label: "Compare" },
  { id: "stages", label: "Where the time goes" },
  { id: "tune", label: "Tune" },
  { id: "scaling", label: "Scaling" },
  { id: "peers", label: "Peers" },
  { id: "records", label: "Records" },
];

export function controls(link: Speed): HTMLElement[] {
  const parts = segmented("Part of the speed lab", (id) => link.set("part", id as Part));
  const batch = setting(link, "batch_size", "Batch size");
  const threads = setting(link, "threads", "Threads");
  const settings = h(
    "span",
    { class: "wb-speed-settings" },
    h("label", { class: "wb-control" }, "batch size", batch),
    h("label", { class: "wb-control" }, "threads", threads),
  );
  link.watch(["part"], () => {
    const part = link.get("part", "compare");
    parts.draw(PARTS, part);
    show(settings, part !== "records");
  });
  link.watch(["batch_size", "threads"], () => {
    const values = [
      [batch, link.get("batch_size", 64)],
      [threads, link.get("threads", 4)],
    ] as const;
    for (const [el, value] of values) if (focused(el) !== el || !el.value) el.value = String(value);
  });
  return [
    h("div", { class: "wb-controls" }, parts.el, h("span", { class: "wb-grow" }), settings),
    progress(link),
  ];
}

function setting(link: Speed, name: "batch_size" | "threads", label: string): HTMLInputElement {
  const el = h("input", {
    class: "wb-val",
    type: "number",
    min: 1,
    step: 1,
    "aria-label": label,
    "data-wb": name,
  });
  el.addEventListener("change", () => {
    const value = numberIn(el);
    const whole = value !== null && value >= 1 ? Math.floor(value) : null;
    if (whole !== null) link.set(name, whole);
    el.value = String(whole ?? link.get(name, 1));
  });
  return el;
}

/** The run that goes on, wherever it was begun; else what the last one, or the last action, said. */
function progress(link: Speed): HTMLElement {
  const done = h("i");
  const bar = h(
    "div",
    {
      class: "wb-progress",
      role: "progressbar",
      "aria-label": "Measurement",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    },
    done,
  );
  const what = h("b");
  const message = h("span", { class: "wb-speed-message", "data-wb": "message" });
  const cancel = h(
    "button",
    { class: "wb-quiet", type: "button", "data-wb": "cancel", onclick: () => link.ask("cancel", {}) },
    "Cancel",
  );
  const warn = icon("warn", 14);
  // Told once, when it ends: nobody wants to hear each round.
  const said = h("span", { class: "wb-hidden", role: "status" });
  const el = h("div", { class: "wb-speed-run", "data-wb": "run" }, warn as unknown as Node, what, bar, message, cancel, said);
  link.watch(["running", "progress", "message", "failed", "what"], () => {
    const running = link.get("running", false);
    const words = link.get("message", "");
    const percent = Math.round(Math.min(1, Math.max(0, link.get("progress", 0))) * 100);
    show(el, running || !!words);
    attr(el, "data-failed", link.get("failed", false) ? "true" : null);
    attr(warn, "hidden", link.get("failed", false) ? null : "");
    const of = PARTS.find(({ id }) => id === link.get("what", ""));
    text(what, running ? (of?.label ?? "") : "");
    for (const part of [bar, cancel, what]) show(part, running);
    done.style.width = `${percent}%`;
    attr(bar, "aria-valuenow", percent);
    attr(bar, "aria-valuetext", running ? `${percent} %: ${words}` : null);
    text(message, running ? `${percent} % · ${words}` : words);
    text(said, running ? "" : words);
  });
  return el;
}

/** A button that begins a run; while one goes on it cannot be pressed. */
export function startButton(link: Speed, words: string, run: () => void): HTMLButtonElement {
  const el = h("button", { class: "wb-btn", type: "button", "data-wb": "measure", onclick: run }, words);
  link.watch(["running"], () => (el.disabled = link.get("running", false)));
  return el;
}

/** How carefully: a first look, or the method's rounds. */
export function effort(link: Speed, usual = "Precise"): HTMLElement {
  const choices = [
    { id: "usual", label: usual },
    { id: "quick", label: "Quick look" },
  ];
  const { el, draw } = segmented("How carefully", (id) => link.set("effort", id as Effort));
  link.watch(["effort"], () => draw(choices, link.get("effort", "usual")));
  return el;
}

/** The line over a figure: what it is, its button, and how carefully. */
export function head(line: string, ...controls: HTMLElement[]): HTMLElement {
  return h(
    "div",
    { class: "wb-speed-head" },
    h("p", { class: "wb-speed-lead" }, line),
    ...controls,
  );
}
