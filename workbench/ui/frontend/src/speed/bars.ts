// A bar for each measured configuration, with its interval and the spread of its rounds.

import type { CompareView, RatioEntry, SpeedBar } from "../views";
import { attr, h, show } from "../lib/dom";
import { icon } from "../lib/icons";
import { thousands } from "../lib/number";
import { drawOn } from "./provenance";
import { Folded, table, wide } from "./table";

export class Bars {
  readonly el = h("div", { "data-wb": "figure" });
  private groups = h("div", { class: "wb-speed-groups" });
  private notes = h("div");
  private on = h("div", { class: "wb-speed-on" });
  private table = new Folded("All figures as a table");

  constructor() {
    this.el.append(this.groups, this.notes, this.on, this.table.el);
  }

  draw({ on = [], bars = [], ratios = [], notes = [] }: Partial<CompareView>): void {
    show(this.el, on.length > 0);
    attr(this.el, "data-bars", bars.length);
    const tops = bars.flatMap((bar) => [bar.high ?? bar.median ?? 0, ...bar.rounds]);
    const most = Math.max(1, ...tops) * 1.01; // so that the last whisker is not cut
    const settings = new Set(bars.map((bar) => bar.settings));
    const names = [...new Set(bars.map((bar) => bar.group))];
    this.groups.replaceChildren(
      ...names.map((name) =>
        h(
          "section",
          { class: "wb-speed-group" },
          h(
            "header",
            {},
            h("h3", {}, name),
            h("div", {}, ...ratios.filter((ratio) => ratio.group === name).map(ratioWords)),
          ),
          h(
            "ol",
            { class: "wb-bars", "aria-label": `${name}, imgs/s` },
            ...bars.filter((bar) => bar.group === name).map((bar) => row(bar, most, settings.size > 1)),
          ),
        ),
      ),
    );
    this.notes.replaceChildren(...notes.map((words) => h("p", { class: "wb-speed-fact" }, words)));
    drawOn(this.on, on);
    this.drawTable(bars);
  }

  private drawTable(bars: readonly SpeedBar[]): void {
    const measured = bars.filter((bar) => bar.facts.length);
    show(this.table.el, measured.length > 0);
    const heads = measured[0]?.facts.map((fact) => fact.name) ?? [];
    const lines = measured.map((bar) => [
      [bar.label, bar.group.toLowerCase(), bar.source].filter(Boolean).join(", "),
      bar.settings,
      ...bar.facts.map((fact) => fact.value),
    ]);
    this.table.draw(
      wide("All figures", table("All figures", ["configuration", "settings", ...heads], lines)),
    );
  }
}

function ratioWords(ratio: RatioEntry): HTMLElement {
  const digits = ratio.median >= 100 ? 0 : ratio.median >= 10 ? 1 : 2;
  const spread = `${ratio.low.toFixed(digits)} to ${ratio.high.toFixed(digits)} at ${Math.round(ratio.level * 100)} %`;
  return h("p", { class: "wb-verdict", "data-wb": "ratio" }, ratio.text, h("small", {}, spread));
}

function row(bar: SpeedBar, most: number, withSettings: boolean): HTMLElement {
  const small = [bar.source, withSettings && bar.settings, ...bar.notes].filter(Boolean).join(" · ");
  const el = h(
    "li",
    {
      class: "wb-speed-row",
      "data-wb": "speed-row",
      "data-kind": bar.kind,
      "data-median": bar.median,
      "data-reason": bar.median === null,
    },
    h("span", { class: "wb-speed-label" }, bar.label),
    bar.median === null ? reason(bar) : track(bar, most),
    bar.median === null ? h("span", { class: "wb-figure" }, "no figure") : figure(bar),
    small && h("small", { class: "wb-speed-under" }, small),
  );
  if (bar.flags.length) {
    el.append(
      h(
        "p",
        { class: "wb-speed-flags" },
        ...bar.flags.map((flag) => h("span", {}, icon("warn", 12), flag)),
      ),
    );
  }
  return el;
}

function reason(bar: SpeedBar): HTMLElement {
  const words = bar.reason || "not measured";
  return h("div", { class: "wb-track" }, h("span", { class: "wb-reason" }, icon("warn", 13), h("span", {}, words)));
}

function track(bar: SpeedBar, most: number): HTMLElement {
  const share = (value: number): string => `${(value / most) * 100}%`;
  const median = bar.median ?? 0;
  const [low, high] = [bar.low ?? median, bar.high ?? median];
  const fill = h("i", { class: "wb-bar-fill" });
  fill.style.width = share(median);
  const whisker = h("i", { class: "wb-whisker" });
  whisker.style.left = share(low);
  whisker.style.width = share(high - low);
  const dots = bar.rounds.map((round) => {
    const dot = h("i", { class: "wb-round" });
    dot.style.left = share(round);
    return dot;
  });
  const el = h("div", { class: "wb-track" }, fill, ...dots, whisker);
  const rounds = bar.rounds.slice(0, 40).map(thousands).join(", ");
  attr(el, "data-tip", `Median of ${bar.rounds.length} rounds\n\n${rounds} imgs/s`);
  return el;
}

function figure(bar: SpeedBar): HTMLElement {
  const [low, high] = [bar.low ?? 0, bar.high ?? 0];
  return h(
    "span",
    { class: "wb-figure" },
    h("b", {}, thousands(bar.median ?? 0)),
    " imgs/s",
    h("small", {}, `${thousands(low)} … ${thousands(high)}`),
  );
}
