// How imgs/s grow with threads, and with GPUs that have a process and a shard of the data each.

import type { ScalingPoint, ScalingView } from "../views";
import { attr, h, show, svg } from "../lib/dom";
import { thousands } from "../lib/number";
import { segmented } from "../lib/segmented";
import { effort, head, startButton, type Speed } from "./controls";
import { drawOn } from "./provenance";
import { table, wide } from "./table";

const WIDE = 560;
const TALL = 230;
const LEFT = 52;
const BOTTOM = 30;
const TOP = 12;
const RIGHT = 62;

export function scalingPart(link: Speed): HTMLElement {
  let over = "threads";
  const choice = segmented("Over what", (id) => {
    over = id;
    drawChoice();
  });
  const drawChoice = (): void =>
    choice.draw(
      [
        { id: "threads", label: "Threads" },
        { id: "workers", label: "GPUs", disabled: link.get("limits", {}).workers ?? "" },
      ],
      over,
    );
  const reason = h("p", { class: "wb-speed-fact", "data-wb": "no-gpus" });
  link.watch(["limits"], () => {
    drawChoice();
    const why = link.get("limits", {}).workers ?? "";
    show(reason, !!why);
    reason.textContent = `GPUs: ${why}.`;
  });
  const chart = h("div", { class: "wb-chart" });
  const numbers = h("div");
  const on = h("div", { class: "wb-speed-on" });
  const figure = h("div", { "data-wb": "figure" }, h("div", { class: "wb-speed-pair" }, chart, numbers), on);
  const empty = h(
    "p",
    { class: "wb-empty" },
    "Nothing measured yet. The pipeline runs with 1, 2, 4, … threads up to the cores of the machine, in turns.",
  );
  link.watch(["scaling"], () => {
    const view = link.get("scaling", {}) as ScalingView;
    const known = !!view.on?.length;
    show(figure, known);
    show(empty, !known);
    if (!known) return;
    chart.replaceChildren(draw(view) as unknown as Node);
    numbers.replaceChildren(wide("Scaling", numbersOf(view)));
    drawOn(on, view.on);
  });
  return h(
    "div",
    {},
    head(
      "How the whole pipeline grows with threads, or with GPUs.",
      choice.el,
      effort(link),
      startButton(link, "Measure", () => link.ask("measure", { what: over })),
    ),
    figure,
    empty,
    reason,
  );
}

function numbersOf(view: ScalingView): HTMLElement {
  const lines = view.points.map((point) =>
    point.median === null
      ? [String(point.count), point.reason, "", "", ""]
      : [
          String(point.count),
          thousands(point.median),
          `${thousands(point.low ?? 0)} … ${thousands(point.high ?? 0)}`,
          `${(point.speedup ?? 0).toFixed(2)} ×`,
          `${Math.round(100 * (point.efficiency ?? 0))} %`,
        ],
  );
  return table("Scaling", [view.unit, "imgs/s", "interval", "speed-up", "efficiency"], lines);
}

type Measured = ScalingPoint & { median: number };

function draw(view: ScalingView): SVGElement {
  const points = view.points.filter((point): point is Measured => point.median !== null);
  const most = Math.max(1, ...points.map((point) => point.high ?? point.median));
  const last = Math.max(1, ...points.map((point) => point.count));
  const first = points[0];
  const top = first ? Math.min(most * 1.25, Math.max(most, (first.median * last) / first.count)) : most;
  const x = (count: number): number => LEFT + (count / last) * (WIDE - LEFT - RIGHT);
  const y = (rate: number): number => TALL - BOTTOM - (Math.min(rate, top) / top) * (TALL - BOTTOM - TOP);
  const label = (at: number, up: number, words: string, anchor = "middle"): SVGElement => {
    const el = svg("text", { x: at, y: up, "text-anchor": anchor });
    el.textContent = words;
    return el;
  };
  const el = svg("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, role: "img", "data-kind": view.kind });
  const said = points.map((p) => `${p.count} ${view.unit}: ${thousands(p.median)} imgs/s`).join("; ");
  attr(el, "aria-label", said || "nothing was measured");
  for (const share of [0, 0.5, 1]) {
    const up = y(share * top);
    el.append(svg("path", { class: "wb-grid", d: `M${LEFT} ${up}H${WIDE - RIGHT}` }));
    el.append(label(LEFT - 8, up + 3.5, thousands(share * top), "end"));
  }
  if (first) {
    const each = first.median / first.count;
    const till = Math.min(last, top / each);
    el.append(
      svg("path", { class: "wb-ideal", d: `M${x(0)} ${y(0)}L${x(till)} ${y(each * till)}` }),
      label(x(till) + 6, y(each * till) + 9, "in proportion", "start"),
    );
  }
  const line = points.map((p, at) => `${at ? "L" : "M"}${x(p.count)} ${y(p.median)}`).join("");
  el.append(svg("path", { class: "wb-line", d: line }));
  for (const point of points) {
    const [low, high] = [y(point.low ?? point.median), y(point.high ?? point.median)];
    const at = x(point.count);
    el.append(
      svg("path", { class: "wb-error", d: `M${at} ${low}V${high}M${at - 4} ${low}h8M${at - 4} ${high}h8` }),
      svg("circle", { cx: at, cy: y(point.median), r: 3.5 }),
      label(at, TALL - BOTTOM + 16, String(point.count)),
    );
  }
  el.append(label((LEFT + WIDE - RIGHT) / 2, TALL - 1, view.unit));
  return el;
}
