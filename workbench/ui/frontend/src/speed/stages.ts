// Where the time of a batch goes: what each stage adds, beside each operator alone.

import type { StageEntry, StagesView } from "../views";
import { attr, h, show } from "../lib/dom";
import { icon } from "../lib/icons";
import { thousands } from "../lib/number";
import { effort, head, startButton, type Speed } from "./controls";
import { drawOn } from "./provenance";
import { table, wide } from "./table";

/** Of the whole width: below it a name does not fit. */
const NAMED = 0.09;

export function stagesPart(link: Speed): HTMLElement {
  const advice = h("p", { class: "wb-speed-advice", "data-wb": "advice" });
  const figures = h("p", { class: "wb-speed-sum" });
  const stacks = h("div", { class: "wb-stacks" });
  const numbers = h("div");
  const on = h("div", { class: "wb-speed-on" });
  const figure = h("div", { "data-wb": "figure" }, advice, figures, stacks, numbers, on);
  const empty = h(
    "p",
    { class: "wb-empty" },
    "Nothing measured yet. The script is cut behind each stage, and what a stage adds to a batch is its cost.",
  );
  link.watch(["stages"], () => {
    const view = link.get("stages", {}) as StagesView;
    const known = !!view.on?.length;
    show(figure, known);
    show(empty, !known);
    if (!known) return;
    advice.replaceChildren(icon("warn", 14), h("span", {}, sentence(view.advice)));
    figures.replaceChildren(...sums(view));
    stacks.replaceChildren(...drawStacks(view, link));
    numbers.replaceChildren(wide("Stages", stageTable(view, link)));
    drawOn(on, view.on);
  });
  return h(
    "div",
    {},
    head(
      "What each stage adds to a batch, and each operator alone; the ceiling without reading and decoding.",
      effort(link, "Usual"),
      startButton(link, "Measure", () => link.ask("measure", { what: "stages" })),
    ),
    figure,
    empty,
  );
}

function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function ms(value: number | null): string {
  if (value === null) return "not measured";
  return value.toFixed(Math.abs(value) < 10 ? 2 : 1).replace("-", "−");
}

/** As the canvas and the script call it: ``color (color_twist)``. */
function titleOf({ name, op }: StageEntry): string {
  return op ? `${name} (${op})` : name;
}

function sums(view: StagesView): HTMLElement[] {
  const item = (name: string, value: string, small = ""): HTMLElement =>
    h("span", {}, `${name} `, h("b", {}, value), small && h("small", {}, ` ${small}`));
  const spread = `${thousands(view.low)} … ${thousands(view.high)}`;
  const found = [item("whole pipeline", `${thousands(view.rate)} imgs/s`, spread)];
  found.push(item("a batch", `${ms(view.total)} ms`));
  if (view.ceiling !== null) {
    found.push(
      item("ceiling", `${thousands(view.ceiling)} imgs/s`, "with the decoded batch cached"),
    );
  }
  return found;
}

function drawStacks(view: StagesView, link: Speed): HTMLElement[] {
  const sum = (values: (number | null)[]): number =>
    values.reduce<number>((all, value) => all + Math.max(0, value ?? 0), 0);
  const most = Math.max(
    view.total,
    sum(view.stages.map(({ adds }) => adds)),
    sum(view.stages.map(({ alone }) => alone)),
    1e-9,
  );
  const alone = view.stages.filter((stage) => stage.alone !== null);
  const rest = view.remainder ?? 0;
  return [
    stack("In the pipeline", view.stages, (stage) => stage.adds, most, 0, view, link),
    ...(alone.length
      ? [stack("Each alone", alone, (stage) => stage.alone, most, Math.max(0, rest), view, link)]
      : []),
  ];
}

function stack(
  label: string,
  stages: readonly StageEntry[],
  value: (stage: StageEntry) => number | null,
  most: number,
  rest: number,
  view: StagesView,
  link: Speed,
): HTMLElement {
  const bar = h("div", { class: "wb-stack" });
  stages.forEach((stage, at) => {
    const share = Math.max(0, value(stage) ?? 0) / most;
    if (share <= 0.001) return;
    const [name, spent] = [titleOf(stage), ms(value(stage))];
    const where = `${stage.device}${stage.name === view.bottleneck ? ", the bottleneck" : ""}`;
    const hidden = (words: string): HTMLElement => h("span", { class: "wb-hidden" }, words);
    const named = share > NAMED;
    const part = h(
      "button",
      {
        type: "button",
        class: "wb-stage",
        "data-device": stage.device,
        "data-odd": at % 2 === 1,
        "data-worst": stage.name === view.bottleneck,
        "data-node": stage.node || null,
        "data-tip": `${name}: ${spent} ms, ${where}`,
        onclick: () => stage.node && link.ask("select", { node: stage.node }),
      },
      ...(named
        ? [
            h("span", {}, stage.name),
            " ",
            h("small", {}, spent, hidden(" ms"), stage.op && ` · ${stage.op}`),
            hidden(`, ${where}`),
          ]
        : [hidden(`${name} ${spent} ms, ${where}`)]),
    );
    part.disabled = !stage.node;
    part.style.width = `${share * 100}%`;
    bar.append(part);
  });
  if (rest / most > 0.001) {
    const words = `remainder ${ms(rest)} ms`;
    const left = h("span", { class: "wb-stage wb-stage-rest", "data-tip": `${words}: reading, waiting, handing over` });
    left.style.width = `${(rest / most) * 100}%`;
    if (rest / most > NAMED) left.append(h("span", {}, "remainder"), h("small", {}, ms(rest)));
    bar.append(left);
  }
  return h(
    "div",
    { class: "wb-stack-row", role: "group", "aria-label": `${label}, milliseconds` },
    h("span", {}, label),
    bar,
  );
}

function between({ low, high }: StageEntry): HTMLElement | false {
  return low !== null && high !== null && h("small", {}, `${ms(low)} … ${ms(high)}`);
}

function stageTable(view: StagesView, link: Speed): HTMLElement {
  const lines = view.stages.map((stage) => {
    const name = stage.node
      ? h(
          "button",
          { type: "button", class: "wb-link", onclick: () => link.ask("select", { node: stage.node }) },
          stage.name,
        )
      : h("span", {}, stage.name);
    attr(name, "data-stage", stage.name);
    const worst = stage.name === view.bottleneck && h("em", {}, "bottleneck");
    const share = stage.adds === null ? "" : `${((100 * stage.adds) / view.total).toFixed(0)} %`;
    return [
      h("span", {}, name, stage.op && h("small", {}, stage.op), worst),
      stage.kind,
      stage.device,
      h("span", {}, ms(stage.adds), between(stage)),
      share.replace("-", "−"),
      stage.kind === "read" || stage.kind === "copy" ? "–" : ms(stage.alone),
    ];
  });
  const heads = ["stage", "does", "on", "adds, ms", "of a batch", "alone, ms"];
  const made = table("Stages", heads, lines);
  const whole = h(
    "tr",
    {},
    h("th", { scope: "row" }, "whole, and remainder"),
    h("td", {}, ""),
    h("td", {}, ""),
    h("td", {}, ms(view.total)),
    h("td", {}, ""),
    h("td", {}, ms(view.remainder)),
  );
  const atOnce = "Below zero: the operators together take less than each alone, as they run at once.";
  made.append(h("tfoot", {}, whole));
  if ((view.remainder ?? 0) < 0) made.append(h("caption", {}, atOnce));
  return made;
}
