// One sample through every node, in the order in which they run.

import { iconButton } from "./lib/button";
import { component } from "./lib/component";
import { attr, h, Keyed, show, text } from "./lib/dom";
import { icon } from "./lib/icons";
import { numberField, UNBOUNDED } from "./lib/numberInputs";
import { undoKey } from "./lib/keyboard";
import { Decoder, type Sheet } from "./lib/contactSheet";
import { makeCard, updateCard } from "./steps/card";
import css from "./styles/steps.css";
import type { StepEntry, StepsHeader } from "./views";

export default component("steps", css, (root, link) => {
  root.classList.add("wb-panel");
  const go = (by: number): void => choose(link.get("sample", 0) + by);
  const last = (): number => Math.max(0, (sheet?.header.samples ?? 1) - 1);
  const choose = (sample: number): void =>
    link.set("sample", Math.min(last(), Math.max(0, sample)));
  const back = iconButton("Previous sample", "sample-back", icon("left", 13), () => go(-1));
  const next = iconButton("Next sample", "sample-next", icon("right", 13), () => go(1));
  const field = numberField(
    "Sample, from 0",
    { ...UNBOUNDED, whole: true, minimum: 0 },
    (value) => take(value),
    () => take(null),
    null,
  );
  const refused = h("p", { class: "wb-refused", role: "alert", "data-wb": "refused" });
  const refuse = (reason: string): void => {
    attr(field, "aria-invalid", reason ? "true" : null);
    refused.replaceChildren(...(reason ? [icon("warn", 12), reason] : []));
  };
  /** What it refuses stays in the field, with the reason under it. */
  const take = (value: number | string | null): void => {
    const fits = Number.isInteger(value) && Number(value) >= 0 && Number(value) <= last();
    const tiles = "as many as the preview shows tiles";
    const words = `${value ?? "Nothing"} is no sample here. Give 0 to ${last()}: ${tiles}.`;
    refuse(fits ? "" : words);
    if (fits) link.set("sample", Number(value));
  };
  field.dataset["wb"] = "sample";
  const file = h("b", { "data-wb": "file" });
  const odd = h("span", { class: "wb-odd" });
  const total = h("span", { class: "wb-muted", "data-wb": "total" });
  const stale = h("p", { class: "wb-stale", role: "status", "data-wb": "stale", hidden: true });
  const list = h("ol", { class: "wb-steps-list", "aria-label": "Steps", "data-wb": "steps-list" });
  const waiting = h("p", { class: "wb-empty" }, "The steps are on their way.");
  root.append(
    h(
      "div",
      { class: "wb-controls" },
      h("span", { class: "wb-control" }, "sample", back, field, next),
      h("p", { class: "wb-steps-file" }, file, " ", odd),
      h("span", { class: "wb-said" }, total),
    ),
    refused,
    stale,
    list,
    waiting,
  );

  let sheet: Sheet<StepsHeader> | null = null;
  /** Each node's last time, for as long as a new one is being measured. */
  const times = new Map<string, number>();
  const cards = new Keyed<StepEntry>(
    list,
    (step) => step.node,
    (step) => makeCard(step, (node) => link.ask("select", { node })),
    (el, step) => {
      if (!sheet) return;
      const chosen = link.get("selected", []).includes(step.node);
      updateCard(el, step, sheet, { chosen, before: times.get(step.node) ?? null, most: longest() });
    },
  );
  const longest = (): number => Math.max(0, ...times.values());
  const draw = (): void => {
    if (!sheet) return;
    const folded = new Set(link.get("folded", []));
    cards.draw(sheet.header.steps.filter((step) => !folded.has(step.node)));
  };
  const paint = (painted: Sheet<StepsHeader>): void => {
    sheet = painted;
    const { header } = painted;
    for (const step of header.steps) {
      if (step.milliseconds !== null) times.set(step.node, step.milliseconds);
      else if (step.untimed) times.delete(step.node);
    }
    text(file, header.file);
    text(odd, header.error || header.warning);
    attr(odd, "data-error", header.error ? "true" : null);
    text(total, header.timing ? `times for ${header.samples} samples` : "measuring the times …");
    attr(
      total,
      "data-tip",
      header.timing &&
        `How the times were measured\n\n${header.timing}` +
          (header.floor === null
            ? ""
            : ` A pipeline that does nothing takes ${header.floor.toFixed(2)} ms.`),
    );
    attr(total, "tabindex", header.timing ? 0 : null);
    back.disabled = header.index <= 0;
    next.disabled = header.index >= header.samples - 1;
    draw();
    root.dataset["sample"] = String(header.index);
    root.dataset["timed"] = String(header.timing !== "");
    root.dataset["sheet"] = String(Number(root.dataset["sheet"] ?? 0) + 1);
    warn();
  };
  const warn = (): void => {
    const reason = link.get("stale", "");
    attr(root, "data-stale", reason ? "true" : null);
    show(stale, reason !== "");
    const words = sheet ? `Still the last good steps: ${reason}` : reason;
    const retry = h(
      "button",
      { class: "wb-link", type: "button", "data-wb": "retry", onclick: () => link.ask("retry", {}) },
      "Try again",
    );
    stale.replaceChildren(
      ...(reason ? [icon("warn", 14), h("span", {}, words)] : []),
      ...(reason && link.get("retryable", false) ? [retry] : []),
    );
    show(waiting, !sheet && !reason);
  };
  const decoder = new Decoder<StepsHeader>(paint, (reason) => {
    attr(root, "data-failed", reason);
    text(waiting, `The pictures could not be read: ${reason}`);
    show(waiting, true);
  });
  link.watch(["sheet"], () => decoder.push(link.get("sheet", new ArrayBuffer(0))));
  link.watch(["selected", "folded"], draw);
  link.watch(["stale", "retryable"], warn);
  link.watch(["sample"], () => {
    field.value = String(link.get("sample", 0));
    refuse("");
  });

  list.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    const buttons = [...list.querySelectorAll<HTMLElement>(".wb-step-pick")];
    const at = buttons.findIndex((button) => button.matches(":focus"));
    if (at < 0) return;
    event.preventDefault();
    event.stopPropagation();
    buttons[at + by]?.focus();
  });
  root.addEventListener("keydown", (event) => {
    if (undoKey(event, (action) => link.ask(action, {}))) return;
    const by = { PageDown: 1, PageUp: -1 }[event.key];
    if (!by || event.target === field) return;
    event.preventDefault();
    go(by);
  });

  // Python computes the steps only while they are on the screen.
  let inView = false;
  const observer = new IntersectionObserver((entries) => {
    const now = entries.some((entry) => entry.isIntersecting);
    if (now !== inView) link.set("in_view", (inView = now));
  });
  observer.observe(root);
  return () => {
    observer.disconnect();
    if (inView) link.set("in_view", false);
  };
});
