// The settings to use: the tuner, or every setting, as heat maps; one button writes the best.

import type { Components, HeatCell, HeatPanel, TuneView } from "../views";
import { attr, h, show, text } from "../lib/dom";
import { icon } from "../lib/icons";
import { thousands } from "../lib/number";
import { segmented } from "../lib/segmented";
import { head, startButton, type Speed } from "./controls";
import { drawOn } from "./provenance";

type Asked = Components["speed"]["actions"]["tune"];
type Field = Exclude<keyof Asked, "search">;

const FIELDS: { id: Field; label: string }[] = [
  { id: "threads", label: "threads" },
  { id: "batches", label: "batch sizes" },
  { id: "prefetch", label: "prefetch" },
  { id: "loads", label: "hw_decoder_load" },
  { id: "memory", label: "most host memory, GiB" },
];

export function tunePart(link: Speed): HTMLElement {
  const asked = values(link);
  let search = "tuner";
  const choice = segmented("How to search", (id) => {
    search = id;
    drawChoice();
  });
  const drawChoice = (): void =>
    choice.draw(
      [
        { id: "tuner", label: "Tuner" },
        { id: "all", label: "Every setting" },
      ],
      search,
    );
  drawChoice();
  const start = startButton(link, "Tune", () => link.ask("tune", { search, ...asked.read() }));

  const best = h("p", { class: "wb-speed-best", "data-wb": "best" });
  const gain = h("p", { class: "wb-muted" });
  const use = h(
    "button",
    { class: "wb-btn", type: "button", "data-wb": "adopt", onclick: () => adopt() },
    "Use these settings",
  );
  const used = h("span", { class: "wb-speed-used", "data-wb": "adopted" }, icon("check", 14), "The graph has these settings");
  const maps = h("div", { class: "wb-heats", "data-wb": "heat" });
  const notes = h("div");
  const on = h("div", { class: "wb-speed-on" });
  const figure = h(
    "div",
    { "data-wb": "figure" },
    h("div", { class: "wb-speed-won" }, h("div", {}, best, gain), use, used),
    maps,
    notes,
    on,
  );
  const empty = h(
    "p",
    { class: "wb-empty" },
    "Nothing tried yet. The tuner tries up to a quarter of the settings (of eight or fewer, all), and measures the best anew beside the graph's own.",
  );
  const adopt = (): void => {
    const record = link.get("tune", {}).on?.[0]?.id;
    if (record) link.ask("adopt", { record });
  };
  link.watch(["tune"], () => {
    const view = link.get("tune", {}) as TuneView;
    const known = !!view.on?.length;
    show(figure, known);
    show(empty, !known);
    if (!known) return;
    best.replaceChildren(
      ...(view.best
        ? [
            view.running ? "Best so far: " : "Best: ",
            h("b", {}, view.best),
            `, ${thousands(view.median)} imgs/s`,
            h("small", {}, `${thousands(view.low)} … ${thousands(view.high)}`),
          ]
        : [view.running ? "The first is being measured." : "No setting could be measured."]),
    );
    text(gain, [view.gain, view.tried].filter(Boolean).join(" · "));
    attr(figure, "data-running", view.running);
    show(use, !!view.best && !view.adopted && !view.running);
    show(used, !!view.best && view.adopted && !view.running);
    maps.replaceChildren(...view.panels.map((panel) => heat(panel, view.most)));
    notes.replaceChildren(...view.notes.map((words) => h("p", { class: "wb-speed-fact" }, words)));
    drawOn(on, view.on);
  });
  return h(
    "div",
    {},
    head("The fastest threads, batch, prefetch and hw_decoder_load for the whole pipeline.", choice.el, start),
    asked.el,
    figure,
    empty,
  );
}

/** What is to be tried; an empty field takes the usual values, which it shows. */
function values(link: Speed): { el: HTMLElement; read: () => Record<Field, string> } {
  const inputs = FIELDS.map(({ id, label }) => {
    const input = h("input", {
      class: "wb-val",
      type: "text",
      spellcheck: "false",
      autocomplete: "off",
      "aria-label": id === "memory" ? label : `Values of ${label} to try`,
      "data-wb": `try-${id}`,
    });
    return { id, label, input };
  });
  link.watch(["limits"], () => {
    const usual = link.get("limits", {}).grid ?? {};
    for (const { id, input } of inputs) {
      attr(input, "placeholder", id === "memory" ? "80 %" : usual[id] || "as it is");
    }
  });
  return {
    el: h(
      "details",
      { class: "wb-speed-fold wb-speed-try" },
      h("summary", { "data-wb": "values" }, "Values to try"),
      h(
        "div",
        {},
        ...inputs.map(({ label, input }) => h("label", {}, label, input)),
      ),
    ),
    read: () =>
      Object.fromEntries(inputs.map(({ id, input }) => [id, input.value.trim()])) as Record<Field, string>,
  };
}

function heat({ title, threads, batches, cells }: HeatPanel, most: number): HTMLElement {
  const at = (count: number, batch: number): HeatCell | undefined =>
    cells.find((cell) => cell.threads === count && cell.batch === batch);
  return h(
    "table",
    { class: "wb-heat" },
    h("caption", {}, title),
    h(
      "thead",
      {},
      h("tr", {}, h("th", { scope: "col" }, "threads \\ batch"), ...batches.map((b) => h("th", { scope: "col" }, String(b)))),
    ),
    h(
      "tbody",
      {},
      ...threads.map((count) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, String(count)),
          ...batches.map((batch) => cellOf(at(count, batch), most)),
        ),
      ),
    ),
  );
}

function cellOf(cell: HeatCell | undefined, most: number): HTMLElement {
  if (!cell) return h("td");
  const failed = cell.rate === null && cell.reason !== "not tried";
  const words = cell.rate !== null ? thousands(cell.rate) : failed ? "failed" : cell.now ? "…" : "·";
  const el = h(
    "td",
    {
      "data-best": cell.best,
      "data-own": cell.own,
      "data-now": cell.now,
      "data-failed": failed,
      "data-rate": cell.rate,
      "data-tip": cell.rate === null ? cell.reason : null,
      tabindex: failed ? 0 : null,
    },
    words,
    cell.rate === null && !failed && h("span", { class: "wb-hidden" }, cell.now ? "being measured" : "not tried"),
    cell.best && h("small", {}, "best"),
    cell.own && h("small", {}, "now"),
  );
  if (cell.rate !== null) el.style.setProperty("--share", `${Math.round(100 * (cell.rate / (most || 1)) ** 2)}%`);
  return el;
}
