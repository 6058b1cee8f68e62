// What the last picture took, and what is kept for the next one.

import { attr, h, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import type { SheetHeader } from "../views";

export function statusLine(link: Link<"preview">): { el: HTMLElement; say(header: SheetHeader): void } {
  const fold = h(
    "button",
    { class: "wb-fold", type: "button", "data-wb": "measure-values" },
    icon("right", 11),
    "Values: histogram, mean, deviation",
  );
  fold.addEventListener("click", () => link.set("show_statistics", !link.get("show_statistics", false)));
  link.watch(["show_statistics"], () => attr(fold, "aria-expanded", String(link.get("show_statistics", false))));
  const took = h("span", { class: "wb-took", "data-wb": "memory", tabindex: 0 });
  const el = h("div", { class: "wb-foot" }, fold, took);
  const say = (header: SheetHeader): void => {
    const { memory } = header;
    const kept = memory ? ` · ${bytes(memory.host + memory.gpu)} kept` : "";
    text(took, `${header.milliseconds.toFixed(1)} ms${kept}`);
    const lines = memory
      ? [
          `Host: ${bytes(memory.host)} of ${bytes(memory.host_budget)}`,
          memory.gpu_budget
            ? `GPU: ${bytes(memory.gpu)} of ${bytes(memory.gpu_budget)}`
            : "GPU: there is none",
          `The worker takes ${bytes(memory.resident)} in all`,
        ]
      : [];
    const ran = header.reran.length ? `Ran again: ${header.reran.join(", ")}` : "Nothing ran again";
    attr(took, "data-tip", `Kept between changes\n\n${[...lines, ran].join("\n")}`);
    attr(took, "aria-label", [took.textContent, ...lines].join(", "));
    attr(took, "role", "note");
  };
  return { el, say };
}

function bytes(count: number): string {
  return count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${(count / 1e9).toFixed(1)} GB`;
}
