// Title, data, device switch, undo and redo, state of the worker, files.

import { faultsButton } from "./bar/faults";
import { openButton, pathButton, recipesButton } from "./bar/files";
import { component } from "./lib/component";
import { attr, h, show, text } from "./lib/dom";
import { icon } from "./lib/icons";
import { chord, keyScope, undoKey } from "./lib/keys";
import { segmented } from "./lib/segmented";
import css from "./styles/bar.css";

export default component("bar", css, (root, link) => {
  const title = h("b", { "data-wb": "title" });
  const folderName = h("span");
  const folder = h("span", { class: "wb-chip wb-bar-folder" }, icon("folder", 13), folderName);
  const device = segmented("Where images are decoded", (id) =>
    link.set("device", id === "mixed" ? "mixed" : "cpu"),
  );
  const edit = (action: "undo" | "redo", keys: string): HTMLButtonElement =>
    h(
      "button",
      {
        class: "wb-ico",
        type: "button",
        "aria-label": action === "undo" ? "Undo" : "Redo",
        "data-wb": action,
        "data-tip": `${action === "undo" ? "Undo" : "Redo"} (${keys})`,
        onclick: () => link.ask(action, {}),
      },
      icon(action, 17),
    );
  const undo = edit("undo", "Ctrl+Z");
  const redo = edit("redo", "Ctrl+Shift+Z");
  const message = h("span", {
    class: "wb-bar-message",
    role: "status",
    "aria-live": "polite",
    "data-wb": "message",
  });

  const stem = (): string =>
    link
      .get("title", "")
      .trim()
      .replace(/[^\w.-]+/g, "-") || "graph";
  const faults = faultsButton((node) => link.ask("select", { node }));
  const recipes = recipesButton((name) => link.ask("recipe", { name }));
  const open = openButton((content) => link.ask("open", { text: content }));
  const save = pathButton({
    label: "Save",
    field: "Save the graph in the working folder as",
    look: "wb-link",
    path: () => `${stem()}.json`,
    save: (path) => link.ask("save", { path }),
    copy: () => link.get("saved", ""),
  });
  const ship = pathButton({
    label: "Export",
    field: "Export the script into the working folder as",
    look: "wb-btn",
    path: () => "pipe.py",
    save: (path) => link.ask("export", { path }),
  });

  const strip = h("p", { class: "wb-bar-strip", "aria-hidden": "true" });
  root.append(
    h(
      "div",
      { class: "wb-bar-row", role: "toolbar", "aria-label": "Workbench" },
      title,
      folder,
      device.el,
      h("span", { class: "wb-bar-undo" }, undo, redo),
      message,
      ...faults,
      ...recipes,
      ...open,
      ...save.parts,
      ...ship.parts,
    ),
    strip,
  );

  link.watch(["title", "folder"], () => {
    text(title, link.get("title", "") || "untitled");
    text(folderName, link.get("folder", ""));
    attr(folder, "data-tip", link.get("folder", "") || null);
    show(folder, link.get("folder", "") !== "");
  });
  link.watch(["device", "devices"], () =>
    device.draw(link.get("devices", []), link.get("device", "cpu")),
  );
  link.watch(["can_undo", "can_redo"], () => {
    undo.disabled = !link.get("can_undo", false);
    redo.disabled = !link.get("can_redo", false);
  });
  link.watch(["message"], () => {
    text(message, link.get("message", ""));
    text(strip, link.get("message", ""));
    attr(message, "data-tip", link.get("message", "") || null);
  });
  link.watch(["status", "faults"], () =>
    faults.draw(link.get("status", {}), link.get("faults", [])),
  );
  link.watch(["recipes"], () => recipes.draw(link.get("recipes", [])));

  const onKey = (event: KeyboardEvent): void => {
    if (event.defaultPrevented) return;
    if (undoKey(event, (action) => link.ask(action, {}))) return;
    if (chord(event) === "Ctrl+S") {
      event.preventDefault();
      save.open();
    }
  };
  const scope = keyScope(root);
  scope.addEventListener("keydown", onKey as EventListener);
  return () => scope.removeEventListener("keydown", onKey as EventListener);
});
