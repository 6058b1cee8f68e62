// What must be known to read the pictures: which is which, how values are shown, whose draws.

import { h, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { PreviewFields, SheetHeader } from "../views";

export function remarks(link: Link<"preview">): {
  el: HTMLElement;
  /** With `showingOriginal` the originals stand in place of all else. */
  say(header: SheetHeader, showingOriginal: boolean): void;
} {
  const words = h("span", { "data-wb": "note" });
  const photo = h("span", {});
  const one = h(
    "button",
    {
      class: "wb-one",
      type: "button",
      "data-wb": "one",
      "data-tip": "Back to many photos",
      onclick: () => link.set("repeat", -1),
    },
    photo,
    icon("close", 10),
  );
  const el = h("p", { class: "wb-remarks" }, one, words);
  const say = (header: SheetHeader, showingOriginal: boolean): void => {
    one.hidden = header.repeat < 0;
    text(photo, `${header.tiles.length} draws of ${header.tiles[0]?.file ?? "one photo"}`);
    // A line that grew or went while a key is held would move the pictures.
    el.style.minHeight = showingOriginal ? `${el.offsetHeight}px` : "";
    const mixed = header.tiles.some((tile) => tile.original.length && tile.augmented.length);
    const sides = showingOriginal ? "originals" : besides(header, link.get("mode", "both"));
    text(words, [sides, showingOriginal && mixed ? "" : header.note].filter(Boolean).join(" · "));
  };
  return { el, say };
}

/** What stands beside what. */
function besides(header: SheetHeader, mode: PreviewFields["mode"]): string {
  const { outputs } = header;
  const several = outputs.length > 1;
  switch (mode) {
    case "original":
      return "";
    case "augmented":
      return several ? `${outputs.join(", ")} side by side` : "";
    case "both":
      return several
        ? `original, ${outputs.join(", ")} side by side`
        : "original left, augmented right";
    case "difference":
      return difference(header);
  }
}

function difference(header: SheetHeader): string {
  const from = header.outputs.map((output, at) => {
    const base = header.baseline[at];
    return base ? `${output} from ${base}` : `${output}: no step of its size`;
  });
  return `difference of ${from.join(", ")}: black is the same`;
}
