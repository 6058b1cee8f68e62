// What the values of the batch are like: a histogram, mean and deviation for each channel.

import { attr, h, show, svg } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { ChannelStatistics, StatisticsEntry } from "../views";
import { valueText } from "./pixelValues";

const MOST_CHANNELS = 16;
const WIDE = 256;
const TALL = 40;
const COLOURS = ["var(--red)", "var(--green)", "var(--blue)"];
const NAMES = ["R", "G", "B"];

export function statistics(link: Link<"preview">): { el: HTMLElement } {
  const tables = h("div", { class: "wb-figures" });
  const said = h("p", { class: "wb-statistics-pending", "data-wb": "statistics-pending" });
  const el = h("div", { "data-wb": "statistics", hidden: true }, tables, said);
  link.watch(["statistics", "show_statistics"], () => {
    show(el, link.get("show_statistics", false));
    tables.replaceChildren(...link.get("statistics", []).map(output));
  });
  link.watch(["statistics", "show_statistics", "statistics_pending", "statistics_error"], () => {
    const none = !link.get("statistics", []).length;
    const counting = link.get("statistics_pending", false);
    const reason = link.get("statistics_error", "");
    attr(el, "data-late", counting && !none ? "true" : null);
    const retry = h(
      "button",
      { class: "wb-link", type: "button", onclick: () => link.ask("retry", {}) },
      "Try again",
    );
    if (reason) said.replaceChildren(icon("warn", 13), `Not counted: ${reason} `, retry);
    else said.textContent = counting ? "Counting …" : none ? "Counted once there is a picture." : "";
    attr(said, "role", reason ? "alert" : null);
  });
  return { el };
}

function output(entry: StatisticsEntry): HTMLElement {
  const shown = entry.channels.slice(0, MOST_CHANNELS);
  const left = entry.channels.length - shown.length;
  const caption = `${entry.output}: ${entry.dtype}, ${entry.samples} samples`;
  const heads = ["Channel", "Histogram", "Mean", "Deviation", "Smallest", "Largest"];
  return h(
    "section",
    { class: "wb-figure" },
    entry.hint &&
      h("p", { class: "wb-hint", role: "status", "data-wb": "hint" }, icon("warn", 13), entry.hint),
    h(
      "table",
      {},
      h("caption", {}, caption),
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h("tbody", {}, ...shown.map((channel, at) => line(entry, channel, at))),
    ),
    left > 0 && h("p", { class: "wb-muted" }, `and ${left} more channels`),
  );
}

function line(entry: StatisticsEntry, channel: ChannelStatistics, at: number): HTMLElement {
  const coloured = entry.channels.length === 3;
  const number = (value: number | null): HTMLElement =>
    h("td", {}, value === null ? "none" : valueText(Number(value.toPrecision(4))));
  const odd = channel.not_finite ? ` (${channel.not_finite} not finite)` : "";
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, coloured ? (NAMES[at] ?? "") : String(at), odd),
    h("td", {}, histogram(entry, channel, coloured ? COLOURS[at]! : "var(--ink2)")),
    number(channel.mean),
    number(channel.deviation),
    number(channel.smallest),
    number(channel.largest),
  );
}

/** Bars from the axis' low to its high end, with the mean and one deviation to both sides. */
function histogram(entry: StatisticsEntry, channel: ChannelStatistics, colour: string): HTMLElement {
  const { counts, mean, deviation } = channel;
  // The ends often hold all that was cut off: they must not flatten the rest.
  const inner = Math.max(...counts.slice(1, -1), 1);
  const most = Math.min(Math.max(...counts, 1), inner * 2);
  const step = WIDE / counts.length;
  const bars = counts
    .map((count, at) => {
      const tall = Math.min(1, count / most) * TALL;
      return `M${at * step} ${TALL}v${-tall}h${step}v${tall}`;
    })
    .join("");
  const place = (value: number): number =>
    ((value - entry.low) / (entry.high - entry.low || 1)) * WIDE;
  const drawing = svg(
    "svg",
    { viewBox: `0 0 ${WIDE} ${TALL}`, preserveAspectRatio: "none", role: "img" },
    svg("path", { d: bars, fill: colour, opacity: 0.75 }),
  );
  if (mean !== null && deviation !== null) {
    const [from, to] = [place(mean - deviation), place(mean + deviation)];
    drawing.append(
      svg("rect", { x: from, y: 0, width: to - from, height: TALL, class: "wb-spread" }),
      svg("path", { d: `M${place(mean)} 0V${TALL}`, class: "wb-mean" }),
    );
  }
  const said = mean === null ? "no finite values" : `mean ${valueText(Number(mean.toPrecision(4)))}`;
  attr(drawing, "aria-label", `From ${entry.low} to ${entry.high}, ${said}`);
  return h(
    "div",
    { class: "wb-histogram" },
    h("span", {}, valueText(entry.low)),
    h("div", {}, drawing as unknown as Node),
    h("span", {}, valueText(entry.high)),
  );
}
