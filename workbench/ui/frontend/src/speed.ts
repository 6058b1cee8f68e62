// imgs/s, CPU against mixed decoding.

import type { SpeedRow } from "./views";
import { Bars, ratio } from "./speed/bars";
import { component } from "./lib/component";
import { attr, focused, h, show, text } from "./lib/dom";
import { numberIn } from "./lib/number";
import css from "./styles/speed.css";

export default component("speed", css, (root, link) => {
  root.classList.add("wb-panel");
  const field = (name: "batch_size" | "threads", label: string): HTMLInputElement => {
    const el = h("input", {
      class: "wb-val",
      type: "number",
      min: 1,
      step: 1,
      "aria-label": label,
      "data-wb": name,
    });
    el.addEventListener("change", () => {
      const value = numberIn(el);
      if (value !== null && value >= 1) link.set(name, Math.floor(value));
      else el.value = String(link.get(name, 1));
    });
    return el;
  };
  const batch = field("batch_size", "Batch size");
  const threads = field("threads", "Threads");
  const measure = h(
    "button",
    {
      class: "wb-btn",
      type: "button",
      "data-wb": "measure",
      onclick: () => link.ask("measure", {}),
    },
    "Measure",
  );
  const cancel = h(
    "button",
    {
      class: "wb-quiet",
      type: "button",
      "data-wb": "cancel",
      onclick: () => link.ask("cancel", {}),
    },
    "Cancel",
  );
  const message = h("span", { class: "wb-speed-message", role: "status", "data-wb": "message" });
  const done = h("i");
  const progress = h(
    "div",
    {
      class: "wb-progress",
      role: "progressbar",
      "aria-label": "Measurement",
      "aria-valuemin": 0,
      "aria-valuemax": 100,
    },
    done,
  );
  const verdict = h("p", { class: "wb-verdict", "data-wb": "ratio" });
  const bars = new Bars();
  const empty = h(
    "p",
    { class: "wb-empty" },
    "Nothing measured yet. Measure runs the exported script with each decoder on this machine.",
  );
  root.append(
    h(
      "div",
      { class: "wb-controls" },
      h("label", { class: "wb-control" }, "batch size", batch),
      h("label", { class: "wb-control" }, "threads", threads),
      measure,
      cancel,
      progress,
      message,
      h("span", { class: "wb-grow" }),
      verdict,
    ),
    bars.el,
    empty,
  );

  link.watch(["batch_size", "threads"], () => {
    const values = [
      [batch, link.get("batch_size", 64)],
      [threads, link.get("threads", 4)],
    ] as const;
    for (const [el, value] of values) if (focused(el) !== el || !el.value) el.value = String(value);
  });
  link.watch(["running", "progress", "message"], () => {
    const running = link.get("running", false);
    const percent = Math.round(Math.min(1, Math.max(0, link.get("progress", 0))) * 100);
    attr(root, "data-running", running ? "true" : null);
    show(measure, !running);
    show(cancel, running);
    show(progress, running);
    for (const el of [batch, threads]) el.disabled = running;
    done.style.width = `${percent}%`;
    attr(progress, "aria-valuenow", percent);
    text(message, running ? `${percent} % · ${link.get("message", "")}` : link.get("message", ""));
  });
  link.watch(["rows"], () => {
    const rows: SpeedRow[] = link.get("rows", []);
    bars.draw(rows);
    root.dataset["rows"] = String(rows.length);
    show(empty, rows.length === 0);
    text(verdict, ratio(rows));
  });
});
