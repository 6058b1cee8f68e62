// A bar for each measured configuration, with the spread of its rounds.

import type { SpeedRow } from "../views";
import { attr, h, Keyed, show, text } from "../lib/dom";
import { icon } from "../lib/icons";
import { thousands } from "../lib/number";

export class Bars {
  readonly el = h("ol", { class: "wb-bars", "aria-label": "Measured speeds" });
  private keyed: Keyed<SpeedRow>;
  private most = 1;

  constructor() {
    this.keyed = new Keyed<SpeedRow>(
      this.el,
      (_, index) => String(index),
      make,
      (el, row) => this.update(el, row),
    );
  }

  draw(rows: readonly SpeedRow[]): void {
    const tops = rows.flatMap((row) => [row.high ?? row.median ?? 0, ...row.rounds]);
    // A little room, so that the last whisker is not cut.
    this.most = Math.max(1, ...tops) * 1.01;
    this.keyed.draw(rows);
    show(this.el, rows.length > 0);
  }

  private update(el: HTMLElement, row: SpeedRow): void {
    const [label, track, figure, small] = el.children as unknown as HTMLElement[];
    const share = (value: number): string => `${(value / this.most) * 100}%`;
    attr(el, "data-device", row.device);
    attr(el, "data-median", row.median);
    text(label!, row.label);
    text(small!, [row.settings, row.machine].filter(Boolean).join(" · "));
    if (row.median === null) {
      track!.replaceChildren(
        h("span", { class: "wb-reason" }, icon("warn", 13), row.reason || "not measured"),
      );
      text(figure!, "no figure");
      attr(el, "data-reason", "true");
      return;
    }
    attr(el, "data-reason", null);
    const bar = h("i", { class: "wb-bar-fill" });
    bar.style.width = share(row.median);
    const low = row.low ?? row.median;
    const high = row.high ?? row.median;
    const whisker = h("i", { class: "wb-whisker" });
    whisker.style.left = share(low);
    whisker.style.width = share(high - low);
    const dots = row.rounds.map((round) => {
      const dot = h("i", { class: "wb-round" });
      dot.style.left = share(round);
      return dot;
    });
    track!.replaceChildren(bar, ...dots, whisker);
    attr(track!, "data-tip", spread(row, low, high));
    figure!.replaceChildren(
      h("b", {}, thousands(row.median)),
      " imgs/s",
      h("small", {}, `${thousands(low)} … ${thousands(high)}`),
    );
  }
}

function make(): HTMLElement {
  return h(
    "li",
    { class: "wb-speed-row", "data-wb": "speed-row" },
    h("span", { class: "wb-speed-label" }),
    h("div", { class: "wb-track" }),
    h("span", { class: "wb-figure" }),
    h("small", { class: "wb-speed-settings" }),
  );
}

function spread(row: SpeedRow, low: number, high: number): string {
  const rounds = row.rounds.map(thousands).join(", ");
  return `Median of ${row.rounds.length} rounds\n\n${rounds}\nlow ${thousands(low)}, high ${thousands(high)} imgs/s`;
}

/** `mixed is 3.2 × CPU`, of the best of each; empty where one is missing. */
export function ratio(rows: readonly SpeedRow[]): string {
  const best = (device: SpeedRow["device"]): number =>
    Math.max(0, ...rows.filter((row) => row.device === device).map((row) => row.median ?? 0));
  const [cpu, mixed] = [best("cpu"), best("mixed")];
  return cpu && mixed ? `mixed is ${(mixed / cpu).toFixed(1)} × CPU` : "";
}
