// Whether the preview is what the exported script gives, bit for bit: asked, found out, and said.

import { arrange, attr, h } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";
import { popover } from "../lib/popover";
import type { VerifiedEntry } from "../views";

export function verificationControl(link: Link<"preview">): HTMLElement {
  const start = (): void => {
    pop.hidePopover();
    link.ask("verify", {});
  };
  const ask = h(
    "button",
    {
      class: "wb-quiet",
      type: "button",
      "data-wb": "verify",
      "data-tip":
        "Compare with the exported script\n\nRuns the script in a process of its own and compares " +
        "three whole batches with the preview, sample by sample, bit for bit.",
      onclick: start,
    },
    "Verify",
  );
  const stop = h(
    "button",
    { class: "wb-link", type: "button", "data-wb": "stop", onclick: () => link.ask("stop_verification", {}) },
    "Stop",
  );
  const meter = h("span", { class: "wb-meter", role: "progressbar", "aria-label": "Comparison" });
  const doing = h("span", { class: "wb-muted" });
  const found = h("button", { class: "wb-found", type: "button", "data-wb": "found" });
  const lines = h("div", { class: "wb-found-lines" });
  const again = h("button", { class: "wb-quiet", type: "button", onclick: start }, "Verify again");
  const pop = popover(found, { label: "The comparison", align: "end" }, lines, again);
  const status = h("span", { class: "wb-hidden", role: "status" });
  const el = h("span", { class: "wb-verify", "data-wb": "verification" });

  link.watch(["verification"], () => {
    const entry = { ...NOTHING, ...link.get("verification", {}) };
    const { state, stale } = entry;
    attr(el, "data-state", state);
    attr(el, "data-stale", stale ? "true" : null);
    const running = state === "running";
    attr(meter, "aria-valuenow", Math.round(entry.share * 100));
    meter.style.setProperty("--share", String(entry.share));
    const glyph = state === "identical" ? icon("check", 14) : icon("warn", 13);
    const words = stale && state === "identical" ? "identical before the last edit" : entry.text;
    found.replaceChildren(...(state === "stopped" ? [] : [glyph]), words);
    attr(found, "data-tip", entry.detail[0] ?? null);
    lines.replaceChildren(
      ...(stale ? [h("p", {}, "The graph or the data have changed since.")] : []),
      ...entry.detail.map((line) => h("p", {}, line)),
    );
    const told = state !== "none" && !running;
    const parts = running
      ? [meter, doing, stop]
      : [...(told ? [found, pop] : []), ...(!told || stale || state === "stopped" ? [ask] : [])];
    doing.textContent = entry.text;
    arrange(el, ...parts, status);
    status.textContent = told && !stale ? words : "";
  });
  return el;
}

const NOTHING: VerifiedEntry = { state: "none", text: "", detail: [], share: 0, stale: false };
