// CPU against mixed decoding, decode alone and the whole pipeline; another record's bars beside it.

import { attr, h, show, text } from "../lib/dom";
import { copyText } from "../lib/files";
import { icon } from "../lib/icons";
import { Bars } from "./bars";
import { effort, head, startButton, type Speed } from "./controls";
import { openButton } from "./openRecord";

export function comparePart(link: Speed): HTMLElement {
  const bars = new Bars();
  const empty = h(
    "p",
    { class: "wb-empty" },
    "Nothing measured yet. Measure runs the exported script with each decoder, in turns, in fresh processes.",
  );
  link.watch(["compare"], () => {
    const view = link.get("compare", {});
    bars.draw(view);
    show(empty, !view.on?.length);
  });
  return h(
    "div",
    {},
    head(
      "CPU against mixed decoding, decoding alone and the whole pipeline.",
      besideField(link),
      effort(link),
      startButton(link, "Measure", () => link.ask("measure", { what: "compare" })),
    ),
    bars.el,
    empty,
    elsewhere(link),
  );
}

/** Another record whose bars stand among those of this one. */
function besideField(link: Speed): HTMLElement {
  const select = h("select", { class: "wb-val", "aria-label": "Record beside it", "data-wb": "overlay" });
  select.addEventListener("change", () => link.set("overlay", select.value));
  const el = h("label", { class: "wb-control wb-speed-beside" }, "beside it", select);
  link.watch(["records", "overlay", "compare"], () => {
    const shown = link.get("compare", {}).on?.[0]?.id;
    const others = link.get("records", []).filter(({ part, id }) => part === "compare" && id !== shown);
    show(el, !!shown && others.length > 0);
    select.replaceChildren(
      h("option", { value: "" }, "no other"),
      ...others.map(({ id, name, machine }) => h("option", { value: id }, `${name} · ${machine}`)),
    );
    select.value = link.get("overlay", "");
  });
  return el;
}

/** What to do on a machine that has a GPU, where this one has none. */
function elsewhere(link: Speed): HTMLElement {
  const reason = h("span");
  const code = h("code", { "data-wb": "command" });
  const said = h("span", { class: "wb-muted", role: "status" });
  const hint = h("p", { class: "wb-muted" });
  const copy = h(
    "button",
    {
      class: "wb-ico",
      type: "button",
      "aria-label": "Copy the command",
      "data-tip": "Copy the command",
      "data-wb": "copy-command",
    },
    icon("copy", 14),
  );
  copy.addEventListener("click", () => {
    void copyText(code.textContent ?? "").then((done) =>
      text(said, done ? "Copied." : "The browser did not allow copying."),
    );
  });
  const el = h(
    "section",
    { class: "wb-speed-elsewhere", "data-wb": "elsewhere" },
    h("p", {}, icon("warn", 13), h("span", {}, "No mixed decoding on this machine: ", reason, ". On a machine with a GPU run")),
    h("div", { class: "wb-speed-command" }, code, copy, said),
    hint,
    h("p", { class: "wb-speed-after" }, "and open its record here, beside this one: ", openButton(link)),
  );
  link.watch(["limits"], () => {
    const { mixed = "", command = "", hint: words = "" } = link.get("limits", {});
    show(el, !!command);
    text(reason, mixed);
    if (code.textContent !== command) text(said, "");
    text(code, command);
    text(hint, words);
    attr(hint, "hidden", words ? null : "");
  });
  return el;
}
