// A batch, original and augmented.

import { Decoder, type Sheet } from "./preview/sheet";
import { Tiles, type Mode } from "./preview/tiles";
import { component } from "./lib/component";
import { attr, focused, h, show, text } from "./lib/dom";
import { dice, icon } from "./lib/icons";
import { numberIn } from "./lib/number";
import { segmented } from "./lib/segmented";
import css from "./styles/preview.css";

const MODES = [
  { id: "original", label: "Original" },
  { id: "augmented", label: "Augmented" },
  { id: "both", label: "Both" },
];
const COUNTS = [4, 8, 16, 32, 64];
const SEEDS = 100_000;

export default component("preview", css, (root, link) => {
  root.classList.add("wb-panel");
  const mode = (): Mode => link.get("mode", "both");
  const modes = segmented("What is shown", (id) => link.set("mode", id as Mode));
  const field = (name: "batch" | "seed", label: string): HTMLInputElement => {
    const el = h("input", {
      class: "wb-val",
      type: "number",
      min: 0,
      step: 1,
      "aria-label": label,
      "data-wb": name,
    });
    el.addEventListener("change", () => {
      const value = numberIn(el);
      if (value !== null && value >= 0) link.set(name, Math.floor(value));
      else el.value = String(link.get(name, 0));
    });
    return el;
  };
  const batch = field("batch", "Batch, from 0");
  const seed = field("seed", "Seed");
  const button = (label: string, name: string, shape: Node, run: () => void): HTMLButtonElement =>
    h(
      "button",
      {
        class: "wb-ico",
        type: "button",
        "aria-label": label,
        "data-tip": label,
        "data-wb": name,
        onclick: run,
      },
      shape,
    );
  const turn = (by: number): void => link.set("batch", Math.max(0, link.get("batch", 0) + by));
  const back = button("Previous batch", "batch-back", icon("left", 13), () => turn(-1));
  const next = button("Next batch", "batch-next", icon("right", 13), () => turn(1));
  const reseed = button("Another seed", "reseed", dice(13), () =>
    link.set("seed", Math.floor(Math.random() * SEEDS)),
  );
  const count = h("select", { class: "wb-val", "aria-label": "Samples shown", "data-wb": "count" });
  count.addEventListener("change", () => link.set("tiles", Number(count.value)));
  const sides = h("span", { class: "wb-sides" });
  const remark = h("span", { "data-wb": "note" });
  const shown = h("span", { "data-wb": "shown" });
  const stale = h("p", { class: "wb-stale", role: "status", "data-wb": "stale", hidden: true });
  const waiting = h("p", { class: "wb-empty" }, "The first batch is on its way.");
  const tiles = new Tiles();

  root.append(
    h(
      "div",
      { class: "wb-controls" },
      modes.el,
      h("span", { class: "wb-control" }, "batch", back, batch, next),
      h("span", { class: "wb-control" }, "seed", seed, reseed),
      h("label", { class: "wb-control" }, "tiles", count),
      h("span", { class: "wb-said" }, h("span", {}, sides, remark), shown),
    ),
    stale,
    tiles.el,
    waiting,
  );

  let painted = 0;
  let unreadable = "";
  const warn = (): void => {
    const reason = link.get("stale", "");
    const words = unreadable
      ? `The picture could not be read: ${unreadable}`
      : painted
        ? `This picture is of an earlier graph: ${reason}`
        : reason;
    const due = unreadable !== "" || reason !== "";
    attr(root, "data-stale", due ? "true" : null);
    show(stale, due);
    stale.replaceChildren(...(due ? [icon("warn", 14), words] : []));
    show(waiting, !painted && !due);
  };
  const paint = (sheet: Sheet): void => {
    const { header } = sheet;
    tiles.draw(sheet, mode());
    const good = header.tiles.filter((tile) => !tile.error).length;
    text(
      shown,
      good === header.tiles.length ? `${good} shown` : `${good} of ${header.tiles.length} shown`,
    );
    text(sides, mode() === "both" ? "original left, augmented right" : "");
    text(remark, header.note);
    attr(
      shown,
      "data-tip",
      header.milliseconds ? `Computed in ${header.milliseconds.toFixed(1)} ms` : null,
    );
    unreadable = "";
    attr(root, "data-failed", null);
    root.dataset["batch"] = String(header.batch);
    root.dataset["mode"] = mode();
    root.dataset["sheet"] = String(++painted);
    warn();
  };
  const failed = (reason: string): void => {
    unreadable = reason;
    attr(root, "data-failed", reason);
    warn();
  };
  const decoder = new Decoder(paint, failed);
  link.watch(["picture", "mode"], () => decoder.push(link.get("picture", new ArrayBuffer(0))));

  link.watch(["mode"], () => modes.draw(MODES, mode()));
  link.watch(["batch", "seed"], () => {
    const values = [
      [batch, link.get("batch", 0)],
      [seed, link.get("seed", 0)],
    ] as const;
    for (const [el, value] of values) {
      if (focused(el) !== el || numberIn(el) === null) el.value = String(value);
    }
    back.disabled = link.get("batch", 0) <= 0;
  });
  link.watch(["tiles"], () => {
    const now = link.get("tiles", 16);
    const offered = [...new Set([...COUNTS, now])].sort((a, b) => a - b);
    if (count.children.length !== offered.length || !offered.includes(Number(count.value))) {
      count.replaceChildren(...offered.map((n) => h("option", { value: n }, String(n))));
    }
    count.value = String(now);
  });
  link.watch(["stale"], warn);
});
