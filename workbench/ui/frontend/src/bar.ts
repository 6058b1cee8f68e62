// Title, data, device switch, undo and redo, state of the worker, files.

import { faultsButton } from "./bar/faults";
import { pathButton } from "./bar/saveFiles";
import { recipeGallery } from "./bar/recipeGallery";
import { takeDrops, type Incoming } from "./bar/importGraph";
import { openButton } from "./bar/openGraph";
import { insertCell } from "./bar/notebookCell";
import { recentWork } from "./bar/recentWork";
import { restoredLine } from "./bar/restored";
import { attachTab, followAddress } from "./bar/tabSession";
import { shareButton } from "./bar/share";
import { editableTitle } from "./bar/title";
import { component } from "./lib/component";
import { attr, h, show, text } from "./lib/dom";
import { icon } from "./lib/icons";
import { download } from "./lib/files";
import { chord, keyScope, undoKey } from "./lib/keyboard";
import { isPage } from "./lib/fullPage";
import { segmented } from "./lib/segmented";
import css from "./styles/bar.css";

const NO_QUESTION = { number: 0, do: "", path: "", message: "" };
const NO_SCRIPT = { number: 0, text: "" };
function afterNextPaint(then: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(then)));
}

export default component("bar", css, (root, link) => {
  const title = editableTitle((name) => link.ask("title", { name }));
  const folderName = h("span");
  const folderCount = h("span", { class: "wb-bar-count" });
  const folder = h(
    "span",
    { class: "wb-chip wb-bar-folder" },
    icon("folder", 13),
    h("span", {}, folderName, folderCount),
  );
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

  const say = (words: string): void => {
    text(message, words);
    text(strip, words);
    attr(message, "data-tip", words || null);
    fit();
  };
  // In the row where it has room, else in a line of its own.
  const fit = (): void => attr(root, "data-long", message.scrollWidth > message.clientWidth);
  const incoming: Incoming = {
    text: (content) => link.ask("open", { text: content }),
    picture: (data) => link.ask("open_picture", { data }),
    refuse: say,
  };

  const stem = (): string =>
    link
      .get("title", "")
      .slice(0, 80)
      .replace(/[^\w.-]+/g, "-")
      .replace(/^[-.]+|-+$/g, "") || "graph";
  const faults = faultsButton({
    select: (node) => link.ask("select", { node }),
    fix: ({ node, arg }, fix) => link.ask("fix", { node, arg, fix }),
  });
  const recipes = recipeGallery(
    (name) => link.ask("recipe", { name }),
    () => link.ask("new", {}),
  );
  const recent = recentWork((owner) => {
    open.close();
    link.ask("open_recent", { owner });
  });
  const open = openButton(incoming, recent.el, () => link.ask("list_recent", {}));
  let describing = false;
  const toCell = h(
    "button",
    {
      class: "wb-quiet wb-bar-cell",
      type: "button",
      hidden: true,
      "data-wb": "to-cell",
      "data-tip": "Put code below that shows this graph when it is run",
      onclick: () => {
        save.close();
        describing = link.ask("describe_cell", {});
      },
    },
    "Turn into a cell",
  );
  const restored = restoredLine(
    () => link.ask("start_afresh", {}),
    () => link.ask("dismiss_restored", {}),
  );
  const share = shareButton({
    ask: () => link.ask("share", {}),
    graph: () => link.get("saved", ""),
    stem,
    linked: () => isPage(root),
  });
  const saveFolder = (): string => link.get("save_folder", "");
  const save = pathButton({
    label: "Save",
    field: "Save the graph on the computer that runs the workbench as",
    folder: saveFolder,
    look: "wb-link",
    path: () => `${stem()}.json`,
    save: (path, overwrite) => link.ask("save", { path, overwrite }),
    download: (name) => download(name, link.get("saved", ""), "application/json"),
    more: [toCell],
  });
  let downloadName = "pipe.py";
  const ship = pathButton({
    label: "Export",
    field: "Export the script to the computer that runs the workbench as",
    folder: saveFolder,
    look: "wb-btn",
    path: () => "pipe.py",
    save: (path, overwrite) => link.ask("export", { path, overwrite }),
    download: (name) => {
      downloadName = name;
      link.ask("download_script", {});
    },
  });

  const strip = h("p", { class: "wb-bar-strip", "aria-hidden": "true" });
  root.append(
    h(
      "div",
      { class: "wb-bar-row", role: "toolbar", "aria-label": "Workbench" },
      title.el,
      folder,
      device.el,
      h("span", { class: "wb-bar-undo" }, undo, redo),
      message,
      ...faults,
      h(
        "span",
        { class: "wb-bar-files" },
        ...recipes.parts,
        ...open.parts,
        ...save.parts,
        ...share.parts,
        ...ship.parts,
      ),
    ),
    strip,
    restored.el,
  );

  link.watch(["title", "folder"], () => {
    title.draw(link.get("title", ""));
    const chip = link.get("folder", "");
    const at = chip.lastIndexOf(" · ");
    text(folderName, at < 0 ? chip : chip.slice(0, at));
    text(folderCount, at < 0 ? "" : chip.slice(at));
    attr(folder, "data-tip", chip || null);
    show(folder, chip !== "");
  });
  link.watch(["device", "devices"], () =>
    device.draw(link.get("devices", []), link.get("device", "cpu")),
  );
  link.watch(["message"], () => say(link.get("message", "")));
  const drawStatus = (): void => {
    const away = link.connection.loss !== null;
    faults.draw(
      away ? { state: "dead", text: "offline" } : link.get("status", {}),
      away ? [] : link.get("faults", []),
    );
    undo.disabled = away || !link.get("can_undo", false);
    redo.disabled = away || !link.get("can_redo", false);
  };
  link.watch(["status", "faults", "can_undo", "can_redo"], drawStatus);
  link.watch(["restored"], () => restored.draw(link.get("restored", {}).text ?? ""));
  link.watch(["recent"], () => recent.draw(link.get("recent", [])));
  // After the frame in which the canvas, a component of its own, has drawn it too.
  link.watch(["opened"], () => {
    const opened = link.get("opened", 0);
    if (opened) afterNextPaint(() => link.ask("shown", { opened }));
  });
  link.watch(["cell"], () => {
    const cell = link.get("cell", {});
    show(toCell, cell.after !== undefined);
    if (!describing || !cell.source) return;
    describing = false;
    void insertCell(link.host.widget_manager, cell).then(say);
  });
  link.watch(["recipes"], () => recipes.draw(link.get("recipes", [])));
  let asked = link.get("overwrite", NO_QUESTION).number;
  link.watch(["overwrite"], () => {
    const question = link.get("overwrite", NO_QUESTION);
    if (!question.path || question.number === asked) return;
    asked = question.number;
    (question.do === "save" ? save : ship).ask(question);
  });
  let kept = link.get("script", NO_SCRIPT).number;
  link.watch(["script"], () => {
    const script = link.get("script", NO_SCRIPT);
    if (!script.text || script.number === kept) return;
    kept = script.number;
    download(downloadName, script.text, "text/x-python");
  });
  link.watch(["shared"], () => share.draw(link.get("shared", new ArrayBuffer(0))));

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
  const resized = new ResizeObserver(fit);
  resized.observe(message);
  const ends = [
    link.connection.watch(drawStatus),
    () => scope.removeEventListener("keydown", onKey as EventListener),
    () => resized.disconnect(),
    () => faults.end(),
    takeDrops(root, incoming),
  ];
  if (isPage(root)) {
    const broken = (): void => say("The link is damaged: it holds no graph. Nothing was opened.");
    attachTab(link);
    ends.push(followAddress(incoming.text, broken));
  }
  return () => ends.forEach((end) => end());
});
