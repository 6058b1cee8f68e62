// Runs that were made or opened: shown again, named, set side by side, taken along as files.

import type { ComparisonView, RecordEntry } from "../views";
import { attr, h, Keyed, show, text } from "../lib/dom";
import { iconButton, wordButton } from "../lib/button";
import { icon } from "../lib/icons";
import { thousands } from "../lib/number";
import { head, type Speed } from "./controls";
import { drawOn } from "./provenance";
import { openButton } from "./openRecord";
import { table, wide } from "./table";

const HEADS = ["", "record", "what", "machine", "imgs/s at best", ""];
const PICTURES = ["json", "csv", "png", "svg"];

export function recordsPart(link: Speed): HTMLElement {
  const body = h("tbody");
  const rows = new Keyed<RecordEntry>(
    body,
    (entry) => entry.id,
    (entry) => makeRow(entry.id, link),
    (el, entry) => updateRow(el, entry, link),
  );
  const list = h(
    "table",
    { class: "wb-speed-table wb-records" },
    h("caption", { class: "wb-hidden" }, "Records"),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        ...HEADS.map((words, at) =>
          words
            ? h("th", { scope: "col" }, words)
            : h("td", {}, h("span", { class: "wb-hidden" }, at ? "actions" : "side by side")),
        ),
      ),
    ),
    body,
  );
  const empty = h(
    "p",
    { class: "wb-empty" },
    "No record yet. Every run is kept here; a record made elsewhere can be opened or dropped.",
  );
  const hint = h("span", { class: "wb-muted" });
  const csv = wordButton("Export CSV", "export-csv", icon("download", 13), () =>
    link.ask("export", { kind: "csv", ids: link.get("selected_records", []) }),
  );
  const region = wide("Records", list);
  link.watch(["records", "selected_records"], () => {
    const records = link.get("records", []);
    const chosen = link.get("selected_records", []);
    rows.draw(records);
    show(region, records.length > 0);
    show(empty, records.length === 0);
    csv.disabled = records.length === 0;
    const words = ["Tick two to compare them.", "Tick one more to compare them.", "2 ticked"];
    text(hint, records.length > 1 ? (words[chosen.length] ?? "") : "");
  });
  return h(
    "div",
    {},
    head("Earlier runs, of this machine and others.", hint, csv, openButton(link)),
    region,
    empty,
    comparison(link),
  );
}

function makeRow(id: string, link: Speed): HTMLElement {
  const tick = h("input", { type: "checkbox", "data-wb": "choose" });
  tick.addEventListener("change", () => {
    const others = link.get("selected_records", []).filter((key) => key !== id);
    link.set("selected_records", tick.checked ? [...others, id].slice(-2) : others);
  });
  const name = h("input", { class: "wb-val wb-record-name", type: "text", "data-wb": "record-name", spellcheck: "false" });
  name.addEventListener("change", () => link.ask("rename", { record: id, to: name.value.trim() }));
  const view = h(
    "button",
    { class: "wb-quiet", type: "button", "data-wb": "view", onclick: () => link.ask("view", { record: id }) },
    "Show",
  );
  const files = PICTURES.map((kind) =>
    h(
      "button",
      {
        class: "wb-link",
        type: "button",
        "data-wb": `export-${kind}`,
        onclick: () => link.ask("export", { kind, ids: [id] }),
      },
      kind.toUpperCase(),
    ),
  );
  const drop = iconButton("Remove", "drop", icon("close", 13), () => link.ask("delete", { record: id }));
  return h(
    "tr",
    { "data-wb": "record", "data-id": id },
    h("td", {}, tick),
    h("th", { scope: "row" }, name, h("small")),
    h("td", {}),
    h("td", {}),
    h("td", {}),
    h("td", {}, h("span", { class: "wb-record-files" }, view, ...files, drop)),
  );
}

function updateRow(el: HTMLElement, entry: RecordEntry, link: Speed): void {
  const [tickCell, nameCell, what, machine, best] = [...el.children] as HTMLElement[];
  const tick = tickCell!.querySelector("input")!;
  const name = nameCell!.querySelector("input")!;
  tick.checked = link.get("selected_records", []).includes(entry.id);
  attr(tick, "aria-label", `Set ${entry.name} beside another`);
  attr(name, "aria-label", `Name of ${entry.name}`);
  if (!name.matches(":focus")) name.value = entry.name;
  const own = entry.name !== [entry.graph, entry.when].filter(Boolean).join(", ");
  text(nameCell!.querySelector("small")!, own ? [entry.graph, entry.when].filter(Boolean).join(" · ") : "");
  what!.replaceChildren(entry.kind, ...(entry.shown ? [h("em", {}, "shown")] : []));
  machine!.replaceChildren(entry.machine, ...(entry.elsewhere ? [h("em", {}, "elsewhere")] : []));
  text(best!, entry.best === null ? "nothing measured" : thousands(entry.best));
  for (const button of el.querySelectorAll<HTMLElement>(".wb-record-files button")) {
    const does = button.textContent || "Remove";
    attr(button, "aria-label", does === "Show" || does === "Remove" ? `${does} ${entry.name}` : `${entry.name} as ${does}`);
  }
}

/** The two that are ticked: the second over the first. */
function comparison(link: Speed): HTMLElement {
  const el = h("section", { class: "wb-speed-comparison", "data-wb": "comparison" });
  link.watch(["comparison"], () => {
    const view = link.get("comparison", {}) as ComparisonView;
    show(el, !!view.first);
    if (!view.first) return;
    const lines = view.pairs.map((pair) => [
      pair.name,
      thousands(pair.first),
      thousands(pair.second),
      `${pair.ratio.toFixed(3)} ×`,
      `${pair.low.toFixed(3)} … ${pair.high.toFixed(3)}`,
      pair.verdict,
      pair.differs.join(", "),
    ]);
    const on = h("div", { class: "wb-speed-on" });
    drawOn(on, [view.first, view.second]);
    const heads = ["configuration", view.first.name, view.second.name, "ratio", "interval", "verdict", "settings"];
    el.replaceChildren(
      h("h3", {}, `${view.second.name} over ${view.first.name}`),
      lines.length
        ? wide("Comparison", table("Comparison", heads, lines))
        : h("p", { class: "wb-speed-fact" }, "The two have no measured configuration in common."),
      ...[...view.warnings, ...view.only].map((words) => h("p", { class: "wb-speed-fact" }, words)),
      on,
    );
  });
  return el;
}
