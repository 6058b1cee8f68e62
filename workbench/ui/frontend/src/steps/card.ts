// One node: what it gave for the sample, what was drawn for it, and how long it took.

import { attr, h, text } from "../lib/dom";
import { paintPart, type Sheet } from "../lib/contactSheet";
import type { StepEntry, StepOutputEntry, StepsHeader } from "../views";

interface Look {
  chosen: boolean;
  /** The node's last time, where the new one is not there yet. */
  before: number | null;
  /** The longest time of all nodes: that of a full bar. */
  most: number;
}

const DEVICES = { cpu: "CPU", mixed: "MIX", gpu: "GPU" } as const;

export function makeCard(step: StepEntry, select: (node: string) => void): HTMLElement {
  const name = h("b", {});
  const device = h("span", { class: "wb-device" });
  const pick = h(
    "button",
    { class: "wb-step-pick", type: "button", onclick: () => select(step.node) },
    name,
    device,
  );
  const card = h(
    "li",
    { class: "wb-step", "data-wb": "step", "data-node": step.node },
    h("div", { class: "wb-step-head" }, pick, h("span", { class: "wb-step-time" })),
    h("div", { class: "wb-step-outputs" }),
    h("p", { class: "wb-step-draws" }),
  );
  // A click on the picture is one on the name, which says it to all.
  card.addEventListener("click", (event) => {
    if (!pick.contains(event.target as Node)) select(step.node);
  });
  return card;
}

export function updateCard(
  el: HTMLElement,
  step: StepEntry,
  sheet: Sheet<StepsHeader>,
  look: Look,
): void {
  const [head, outputs, draws] = el.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
  const [pick, time] = head.children as unknown as [HTMLElement, HTMLElement];
  attr(el, "data-device", step.device);
  attr(el, "data-chosen", look.chosen ? "true" : null);
  attr(pick, "aria-pressed", String(look.chosen));
  text(pick.firstElementChild!, step.op);
  attr(pick, "data-tip", `${step.op}\n\n${step.node}`);
  attr(pick, "aria-description", step.node);
  text(pick.lastElementChild!, DEVICES[step.device]);
  drawTime(time, step, look);
  drawOutputs(outputs, step, sheet);
  const own = step.drawn ? [h("span", {}, "draws by itself")] : [];
  draws.replaceChildren(...step.draws.map((draw) => h("span", {}, draw)), ...own);
}

function drawTime(el: HTMLElement, step: StepEntry, look: Look): void {
  const ms = step.milliseconds ?? (step.untimed ? null : look.before);
  const waits = step.milliseconds === null && !step.untimed;
  text(el, ms === null ? (waits ? "…" : "–") : `${ms.toFixed(ms < 10 ? 2 : 1)} ms`);
  attr(el, "data-tip", step.untimed ? `Not timed: ${step.untimed}` : null);
  attr(el, "data-old", waits ? "true" : null);
  el.style.setProperty("--share", String(ms && look.most ? ms / look.most : 0));
}

function drawOutputs(el: HTMLElement, step: StepEntry, sheet: Sheet<StepsHeader>): void {
  if (el.children.length !== step.outputs.length) {
    el.replaceChildren(...step.outputs.map(() => h("div", { class: "wb-step-output" })));
  }
  step.outputs.forEach((output, at) => {
    const box = el.children[at] as HTMLElement;
    const had = box.querySelector("canvas");
    const canvas = output.box.length === 4 ? (had ?? h("canvas", { "aria-hidden": "true" })) : null;
    const parts = [
      canvas ?? h("pre", {}, output.text),
      h("p", {}, ...facts(output, step.outputs.length > 1).map((fact) => h("span", {}, fact))),
    ];
    box.replaceChildren(...parts);
    attr(box, "data-kind", output.kind);
    if (canvas) paintPart(canvas, sheet.pixels, output.box);
  });
}

function facts(output: StepOutputEntry, named: boolean): string[] {
  return [
    named ? output.name : "",
    `${output.shape} ${output.dtype}${output.layout ? ` ${output.layout}` : ""}`,
    `on ${output.device.toUpperCase()}`,
    output.box.length && output.values ? `values ${output.values}` : "",
    output.note,
  ].filter(Boolean);
}
