// The graph as code for a target, live, with the lines of the selected node highlighted.

import { Listing } from "./code/listing";
import { readable } from "./code/readableText";
import { targets } from "./code/targets";
import { wordButton } from "./lib/button";
import { component } from "./lib/component";
import { attr, h, show, text } from "./lib/dom";
import { copyText, download } from "./lib/files";
import { icon } from "./lib/icons";
import { segmented } from "./lib/segmented";
import css from "./styles/code.css";
import type { Bytes, CodeFile } from "./views";

const NOTHING: CodeFile = { path: "", text: "" };

export default component("code", css, (root, link) => {
  root.classList.add("wb-panel");
  let chosen = "";
  const files = (): CodeFile[] => link.get("files", []);
  const file = (): CodeFile =>
    files().find(({ path }) => path === chosen) ?? files()[0] ?? NOTHING;
  /** What the whole is called: the one file, or a folder of the target's name. */
  const usual = (): string =>
    files().length > 1 ? link.get("target", "script") : (files()[0]?.path ?? "");

  const said = h("span", {
    class: "wb-code-message",
    role: "status",
    "aria-live": "polite",
    "data-wb": "message",
  });
  const path = h("input", {
    class: "wb-val",
    type: "text",
    spellcheck: "false",
    "aria-label": "Save in the working folder as",
    "data-wb": "path",
  });
  const save = (event: Event): void => {
    event.preventDefault();
    if (path.value.trim()) link.ask("save", { path: path.value.trim() });
    else path.focus();
  };
  const copy = async (): Promise<void> => {
    const done = await copyText(file().text);
    const what = files().length > 1 ? `${file().path} copied.` : "Copied.";
    text(said, done ? what : "The browser did not allow copying.");
  };
  const fetch = (): void => {
    const name = path.value.trim() || usual();
    if (files().length > 1) {
      const archive: Bytes = link.get("archive", new ArrayBuffer(0));
      download(`${name}.zip`, archive as BlobPart, "application/zip");
    } else download(name, file().text, "text/plain");
  };
  const copies = wordButton("Copy", "copy", icon("copy", 13), () => void copy());
  const downloads = wordButton("Download", "download", icon("download", 13), fetch);
  const switcher = segmented("Files", (id) => {
    chosen = id;
    draw();
  });
  const listing = new Listing();
  const note = h("p", { class: "wb-stale", role: "note", "data-wb": "bad-files", hidden: true });
  const stale = h("p", { class: "wb-stale", role: "status", "data-wb": "stale", hidden: true });
  const several = h("div", { class: "wb-code-files", hidden: true }, switcher.el);
  root.append(
    h(
      "div",
      { class: "wb-controls" },
      targets(link),
      h("span", { class: "wb-grow" }),
      said,
      h(
        "span",
        { class: "wb-code-acts" },
        copies,
        downloads,
        h(
          "form",
          { class: "wb-code-save", onsubmit: save },
          path,
          h("button", { class: "wb-quiet", type: "submit", "data-wb": "save" }, "Save as"),
        ),
      ),
    ),
    stale,
    note,
    several,
    listing.el,
  );

  const draw = (): void => {
    const now = file();
    show(several, files().length > 1);
    switcher.draw(
      files().map(({ path: id }) => ({ id, label: id.split("/").pop() ?? id })),
      now.path,
    );
    listing.show(now.path, readable(now.path, now.text));
    listing.highlight(link.get("highlighted", {})[now.path] ?? []);
    show(listing.el, now.path !== "");
    copies.disabled = downloads.disabled = now.path === "";
    attr(downloads, "data-tip", files().length > 1 ? "All files, as a ZIP archive" : null);
  };
  let named = "";
  link.watch(["files", "target"], () => {
    draw();
    // What was typed stays until another target has another name.
    if (usual() === named) return;
    path.value = named = usual();
  });
  link.watch(["highlighted"], () => listing.highlight(link.get("highlighted", {})[file().path] ?? []));
  link.watch(["note"], () => {
    const words = link.get("note", "");
    show(note, words !== "");
    note.replaceChildren(...(words ? [icon("warn", 14), words] : []));
  });
  link.watch(["message"], () => text(said, link.get("message", "")));
  link.watch(["fault", "files"], () => {
    const { message = "", node = "" } = link.get("fault", {});
    const old = message !== "" && files().length > 0;
    attr(root, "data-stale", old ? "true" : null);
    show(stale, message !== "");
    if (!message) return stale.replaceChildren();
    const head = old ? "This code is of an earlier graph" : "There is no code for this target";
    const go = wordButton(`Show ${node}`, "select", null, () => link.ask("select", { node }));
    attr(go, "class", "wb-link");
    stale.replaceChildren(
      icon("warn", 14),
      h("span", {}, `${head}: ${message}`),
      ...(node ? [go] : []),
    );
  });

  // Python sends the source only while it is on the screen.
  let inView = false;
  const observer = new IntersectionObserver((entries) => {
    const now = entries.some((entry) => entry.isIntersecting);
    if (now !== inView) link.set("in_view", (inView = now));
  });
  observer.observe(root);
  return () => {
    observer.disconnect();
    listing.end();
    if (inView) link.set("in_view", false);
  };
});
