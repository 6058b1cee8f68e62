// The exported script, live, with the lines of the selected node lit.

import { tokenise } from "./code/python";
import { component } from "./lib/component";
import { attr, h, text } from "./lib/dom";
import { copyText, download } from "./lib/files";
import { icon } from "./lib/icons";
import css from "./styles/code.css";

export default component("code", css, (root, link) => {
  root.classList.add("wb-panel");
  const source = (): string => link.get("source", "");
  const said = h("span", {
    class: "wb-code-message",
    role: "status",
    "aria-live": "polite",
    "data-wb": "message",
  });
  const path = h("input", {
    class: "wb-val",
    type: "text",
    value: "pipe.py",
    spellcheck: "false",
    "aria-label": "Save the script in the working folder as",
    "data-wb": "path",
  });
  const save = (event: Event): void => {
    event.preventDefault();
    if (path.value.trim()) link.ask("save", { path: path.value.trim() });
    else path.focus();
  };
  const copy = async (): Promise<void> => {
    text(said, (await copyText(source())) ? "Copied." : "The browser did not allow copying.");
  };
  const pre = h("pre", {
    tabindex: 0,
    role: "region",
    "aria-label": "Exported script",
    "data-wb": "source",
  });
  root.append(
    h(
      "div",
      { class: "wb-controls" },
      h(
        "button",
        { class: "wb-quiet", type: "button", "data-wb": "copy", onclick: () => void copy() },
        icon("copy", 13),
        " Copy",
      ),
      h(
        "button",
        {
          class: "wb-quiet",
          type: "button",
          "data-wb": "download",
          onclick: () => download(path.value.trim() || "pipe.py", source(), "text/x-python"),
        },
        icon("download", 13),
        " Download",
      ),
      h("span", { class: "wb-grow" }),
      said,
      h(
        "form",
        { class: "wb-code-save", onsubmit: save },
        path,
        h("button", { class: "wb-quiet", type: "submit", "data-wb": "save" }, "Save as"),
      ),
    ),
    pre,
  );

  link.watch(["source"], () => {
    pre.replaceChildren(
      ...tokenise(source().trimEnd()).map((tokens, index) =>
        h(
          "div",
          { class: "wb-line", "data-line": index + 1 },
          h(
            "code",
            {},
            ...tokens.map(({ kind, text: words }) =>
              kind ? h("span", { class: `wb-${kind}` }, words) : words,
            ),
            "\n",
          ),
        ),
      ),
    );
    light();
  });
  link.watch(["lit"], () => light());
  // While its panel is closed nothing has a place: the lit lines are looked for when it opens.
  let open = false;
  const observer = new ResizeObserver(() => {
    if (pre.clientHeight > 0 && !open) light();
    open = pre.clientHeight > 0;
  });
  observer.observe(pre);
  link.watch(["message"], () => text(said, link.get("message", "")));

  function light(): void {
    const lit = new Set(link.get("lit", []));
    let first: HTMLElement | null = null;
    [...pre.children].forEach((line, index) => {
      attr(line, "data-lit", lit.has(index + 1) ? "true" : null);
      if (lit.has(index + 1)) first ??= line as HTMLElement;
    });
    if (first) reveal(first);
  }
  /** Scrolls the script, never the page. */
  function reveal(line: HTMLElement): void {
    const top = line.offsetTop - pre.offsetTop;
    const seen = top >= pre.scrollTop && top < pre.scrollTop + pre.clientHeight - 20;
    if (!seen) pre.scrollTop = Math.max(0, top - pre.clientHeight / 3);
  }
  return () => observer.disconnect();
});
