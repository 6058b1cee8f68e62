// What must be known to read the pictures: which is which, how values are shown, whose draws.

import { h, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/model";
import type { SheetHeader } from "../views";

export function remarks(link: Link<"preview">): {
  el: HTMLElement;
  say(header: SheetHeader): void;
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
  const el = h("p", { class: "wb-remarks", hidden: true }, one, words);
  const say = (header: SheetHeader): void => {
    const many = link.get("repeat", -1) >= 0;
    one.hidden = !many;
    text(photo, `${header.tiles.length} draws of ${header.tiles[0]?.file ?? "one photo"}`);
    const sides = {
      original: "",
      augmented: "",
      both: "original left, augmented right",
      difference: difference(header),
    }[link.get("mode", "both")];
    text(words, [sides, header.note].filter(Boolean).join(" · "));
    el.hidden = !many && !words.textContent;
  };
  return { el, say };
}

function difference(header: SheetHeader): string {
  const from = header.outputs.map((output, at) => {
    const base = header.against[at];
    return base ? `${output} from ${base}` : `${output}: no step of its size`;
  });
  return `difference of ${from.join(", ")}: black is the same`;
}
