// Entry of the "data" bundle, the data panel: what each source reads, with counts, sizes, formats and
// what a check of the files found.

import type { DataParameter, DataView as Folder } from "./views";
import { component } from "./lib/component";
import { attr, focused, h, show, text } from "./lib/dom";
import { icon } from "./lib/icons";
import { thousands } from "./lib/number";
import css from "./styles/data.css";

const CLASSES_SHOWN = 24;

export default component("data", css, (root, link) => {
  root.classList.add("wb-panel");
  const path = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
    placeholder: "folder of images, or list of files (.txt, .csv)",
    "aria-label": "Folder of images or list of files",
    "data-wb": "folder",
  });
  const open = (event: Event): void => {
    event.preventDefault();
    if (path.value.trim()) link.ask("open", { path: path.value.trim() });
    else path.focus();
  };
  const check = h(
    "button",
    { class: "wb-quiet", type: "button", "data-wb": "check", onclick: () => link.ask("check", {}) },
    "Check files",
  );
  const error = h("p", { class: "wb-fault", role: "alert", "data-wb": "error" });
  const facts = h("dl", { class: "wb-facts", "data-wb": "facts" });
  const classes = h("ul", { class: "wb-classes", "aria-label": "Classes", "data-wb": "classes" });
  const classesHead = h("h3");
  const inputs = h("ul", { class: "wb-data-inputs", "aria-label": "What each source reads", "data-wb": "inputs" });
  const verdict = h("p", { class: "wb-checked", role: "status", "data-wb": "checked" });
  const table = h("table", { class: "wb-files", "data-wb": "findings" });
  root.append(
    h(
      "div",
      { class: "wb-controls" },
      h(
        "form",
        { class: "wb-data-open", onsubmit: open },
        path,
        h("button", { class: "wb-btn", type: "submit", "data-wb": "open" }, "Open"),
      ),
      h("span", { class: "wb-grow" }),
      verdict,
      check,
    ),
    error,
    h("div", { class: "wb-data-body" }, inputs, facts, classesHead, classes, table),
  );

  link.watch(["summary"], () => {
    const folder = link.get("summary", {});
    const wrong = folder.refused || folder.error || "";
    if (!path.value || (focused(path) !== path && !folder.refused)) path.value = folder.root ?? "";
    root.dataset["count"] = String(folder.count ?? 0);
    show(error, !!wrong);
    error.replaceChildren(icon("warn", 14), wrong);
    attr(path, "aria-invalid", wrong ? "true" : null);
    check.disabled = !folder.count;
    text(check, folder.checking ? "Stop the check" : "Check files");
    drawInputs(folder.parameters ?? []);
    facts.replaceChildren(...factsOf(folder));
    drawClasses(folder.classes ?? [], folder.class_counts ?? []);
    drawFiles(folder);
  });

  function drawInputs(parameters: DataParameter[]): void {
    show(inputs, parameters.length > 1 || parameters.some(({ error }) => error));
    inputs.replaceChildren(
      ...parameters.map(({ name, about, reads, error }) =>
        h(
          "li",
          { "data-parameter": name },
          h("b", {}, name),
          h("small", {}, about),
          error ? h("span", { class: "wb-input-error" }, icon("warn", 13), error) : h("span", {}, reads),
        ),
      ),
    );
  }

  function drawClasses(names: string[], counts: number[]): void {
    const more = names.length - CLASSES_SHOWN;
    text(classesHead, names.length ? `${names.length} ${names.length === 1 ? "class" : "classes"}` : "");
    classes.replaceChildren(
      ...names
        .slice(0, CLASSES_SHOWN)
        .map((name, at) =>
          h(
            "li",
            { class: "wb-chip" },
            name,
            counts[at] !== undefined && h("small", {}, thousands(counts[at])),
          ),
        ),
      ...(more > 0 ? [h("li", { class: "wb-muted" }, `and ${more} more`)] : []),
    );
  }

  function drawFiles({ checked, bad = 0, damaged = 0, findings = [], count = 0 }: Partial<Folder>): void {
    attr(verdict, "data-bad", bad + damaged ? "true" : null);
    verdict.replaceChildren(
      ...(checked ? [icon(bad + damaged ? "warn" : "check", 14), verdictOf(bad, damaged, count)] : []),
    );
    show(table, findings.length > 0);
    const heads = ["File", "Level", "Found", "Reason"];
    table.replaceChildren(
      h("thead", {}, h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head)))),
      h(
        "tbody",
        {},
        ...findings.map(({ file, level, kind, reason }) =>
          h(
            "tr",
            { "data-level": level },
            h("td", {}, file),
            h("td", {}, level),
            h("td", {}, kind),
            h("td", {}, reason),
          ),
        ),
      ),
    );
  }
});

function verdictOf(bad: number, damaged: number, count: number): string {
  if (!bad && !damaged) return `all ${thousands(count)} files can be decoded`;
  const found = [bad && `${thousands(bad)} bad`, damaged && `${thousands(damaged)} damaged`];
  return `of ${thousands(count)} files ${found.filter(Boolean).join(", ")}`;
}

function factsOf(folder: Partial<Folder>): HTMLElement[] {
  const formats = Object.entries(folder.formats ?? {})
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${thousands(count)}`)
    .join(", ");
  const facts: [string, string][] = [
    ["kind", folder.kind ?? ""],
    ["images", folder.count === undefined ? "" : thousands(folder.count)],
    ["size", folder.megabytes ? `${thousands(folder.megabytes)} MB` : ""],
    ["pixels", folder.sizes ?? ""],
    ["formats", formats],
  ];
  return facts
    .filter(([, value]) => value)
    .map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value)));
}
