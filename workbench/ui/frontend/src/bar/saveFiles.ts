// Where to write: the graph to save, the script to export.

import { h, show, text } from "../lib/dom";
import { popover } from "../lib/popover";
import type { OverwriteQuestion } from "../views";

interface PathButton {
  label: string;
  /** What the path is for. */
  field: string;
  /** Where a plain name leads. */
  folder: () => string;
  look: "wb-link" | "wb-btn";
  path: () => string;
  save: (path: string, overwrite: boolean) => void;
  /** Let the browser keep the content under a name. */
  download: (name: string) => void;
  /** What else can be done, below. */
  more?: HTMLElement[];
}

interface PathForm {
  parts: HTMLElement[];
  open: () => void;
  close: () => void;
  /** Ask whether a file that is there may be overwritten. */
  ask: (question: Partial<OverwriteQuestion>) => void;
}

/** A button that asks where to write, with the usual name filled in. */
export function pathButton(options: PathButton): PathForm {
  const name = options.label.toLowerCase();
  const button = h(
    "button",
    { class: options.look, type: "button", "data-wb": name },
    options.label,
  );
  const input = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
    autofocus: true,
    "aria-label": options.field,
    "data-wb": `${name}-path`,
  });
  const form = h(
    "form",
    {
      class: "wb-ask",
      onsubmit: (event: Event) => {
        event.preventDefault();
        const path = input.value.trim();
        if (!path) return input.focus();
        pop.hidePopover();
        options.save(path, false);
      },
    },
    input,
    h("button", { class: "wb-btn", type: "submit", "data-wb": `${name}-now` }, options.label),
  );
  const keep = (): void => {
    pop.hidePopover();
    options.download(input.value.trim() || options.path());
  };
  form.append(
    h(
      "button",
      { class: "wb-quiet", type: "button", onclick: keep, "data-wb": `${name}-download` },
      "Download",
    ),
  );
  const folder = h("div", { class: "wb-ask-head", "data-wb": `${name}-folder` });
  const question = overwriteQuestion((path) => {
    pop.hidePopover();
    options.save(path, true);
  });
  const pop = popover(
    button,
    {
      label: options.field,
      align: "end",
      opening: () => {
        input.value ||= options.path();
        text(folder, `In ${options.folder()}`);
      },
      opened: () => input.setSelectionRange(0, input.value.lastIndexOf(".")),
    },
    h("div", { class: "wb-ask-head" }, options.field),
    form,
    folder,
    question.el,
    ...(options.more ?? []),
  );
  pop.addEventListener("toggle", (event) => {
    if ((event as ToggleEvent).newState === "closed") question.draw(null);
  });
  return {
    parts: [button, pop],
    open: () => pop.showPopover(),
    close: () => pop.hidePopover(),
    ask: (asked) => {
      question.draw(asked);
      pop.showPopover();
    },
  };
}

/** What asks before a file is overwritten; hidden while there is nothing to ask. */
export function overwriteQuestion(overwrite: (path: string) => void): {
  el: HTMLElement;
  draw: (question: Partial<OverwriteQuestion> | null) => void;
} {
  let path = "";
  const message = h("span");
  const el = h(
    "div",
    { class: "wb-ask wb-overwrite", role: "alert", hidden: true },
    message,
    h(
      "button",
      { class: "wb-btn", type: "button", "data-wb": "overwrite", onclick: () => overwrite(path) },
      "Overwrite",
    ),
  );
  return {
    el,
    draw(question) {
      path = question?.path ?? "";
      text(message, question?.message ?? "");
      show(el, path !== "");
    },
  };
}
