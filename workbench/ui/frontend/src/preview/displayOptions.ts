// How many tiles, how large, how exact: behind the words that say how many are shown.

import { attr, h, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { popover } from "../lib/popover";
import type { SheetHeader } from "../views";

const COUNTS = [4, 8, 16, 32, 64];
const SIZES = [64, 96, 128, 160, 224, 320, 448];

export function displayOptions(link: Link<"preview">): { el: HTMLElement; say(header: SheetHeader): void } {
  const words = h("span", {}, "tiles");
  const button = h(
    "button",
    { class: "wb-shown", type: "button", "data-wb": "shown" },
    words,
    icon("down", 11),
  );
  const count = choice("Samples shown", "count", (value) => link.set("tiles", Number(value)));
  const size = choice("Size of a tile", "size", (value) => link.set("tile_size", Number(value)));
  const baseline = choice("Difference from", "baseline", (value) => link.set("baseline", value));
  const lossless = h("input", { type: "checkbox", id: "wb-lossless", "data-wb": "lossless" });
  lossless.addEventListener("change", () => link.set("lossless", lossless.checked));
  const differs = row("Difference from", baseline);
  const pop = popover(
    button,
    { label: "How they are shown", align: "end" },
    h(
      "div",
      { class: "wb-view" },
      row("Samples shown", count),
      row("Size of a tile", size),
      differs,
      h(
        "label",
        { class: "wb-check" },
        lossless,
        h("span", {}, "Lossless", h("small", {}, "Exact pixels in place of JPEG: more to send")),
      ),
    ),
  );

  link.watch(["tiles"], () => {
    const now = link.get("tiles", 16);
    const offered = [...new Set([...COUNTS, now])].sort((a, b) => a - b);
    fill(count, offered.map((n) => [String(n), String(n)]), String(now));
  });
  link.watch(["tile_size"], () => {
    const now = link.get("tile_size", 0);
    const offered = [...new Set([...SIZES, ...(now ? [now] : [])])].sort((a, b) => a - b);
    const sizes = offered.map((n): [string, string] => [String(n), `${n} × ${n}`]);
    fill(size, [["0", "as it fits"], ...sizes], String(now));
  });
  link.watch(["baselines", "baseline", "mode"], () => {
    differs.hidden = link.get("mode", "both") !== "difference";
    const baselines = link.get("baselines", []);
    const offered = baselines.map((id): [string, string] => [id, id]);
    fill(baseline, [["", "the first that fits"], ...offered], link.get("baseline", ""));
  });
  link.watch(["lossless"], () => (lossless.checked = link.get("lossless", false)));

  const say = (header: SheetHeader): void => {
    const bad = header.tiles.filter((tile) => tile.error).length;
    const left = bad ? ` · ${bad} left out` : "";
    text(words, `${header.tiles.length - bad} of ${header.of} shown${left}`);
    attr(button, "data-tip", "Number and size of tiles, lossless pictures");
  };
  return { el: h("span", {}, button, pop), say };
}

function choice(label: string, name: string, set: (value: string) => void): HTMLSelectElement {
  const el = h("select", { class: "wb-val", "aria-label": label, "data-wb": name });
  el.addEventListener("change", () => set(el.value));
  return el;
}

function row(label: string, control: Node): HTMLElement {
  return h("div", { class: "wb-view-row" }, h("span", { "aria-hidden": "true" }, label), control);
}

function fill(el: HTMLSelectElement, offered: [string, string][], now: string): void {
  const had = [...el.options].map((option) => option.value).join("\n");
  if (had !== offered.map(([value]) => value).join("\n")) {
    el.replaceChildren(...offered.map(([value, label]) => h("option", { value }, label)));
  }
  el.value = now;
}
