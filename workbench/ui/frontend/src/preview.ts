// A batch, original and augmented: the tiles or one of them closely, and what their values are.

import { component } from "./lib/component";
import { attr, h, show } from "./lib/dom";
import { icon } from "./lib/icons";
import { heldKey, undoKey } from "./lib/keyboard";
import { Decoder, type Sheet } from "./lib/contactSheet";
import { Closeup } from "./preview/closeup";
import { controls } from "./preview/controls";
import { statusLine } from "./preview/statusLine";
import { remarks } from "./preview/sheetRemarks";
import { statistics } from "./preview/statistics";
import { Tiles } from "./preview/tiles";
import css from "./styles/preview.css";
import type { SheetHeader } from "./views";

export default component("preview", css, (root, link) => {
  root.classList.add("wb-panel");
  const tiles = new Tiles({
    look: (tile) => {
      const of = link.get("mode", "both") === "original" ? "original" : "";
      link.ask("open_closeup", { index: tile.index, of });
    },
    steps: (tile) => link.ask("show_steps", { index: tile.index }),
    repeat: (tile) => link.set("repeat", link.get("repeat", -1) < 0 ? tile.index : -1),
  });
  const closeup = new Closeup(link);
  const bar = controls(link, (on) => showOriginal(on));
  const said = remarks(link);
  const below = statusLine(link);
  const figures = statistics(link);
  const stale = h("p", { class: "wb-stale", role: "status", "data-wb": "stale", hidden: true });
  const waiting = h("p", { class: "wb-empty" }, "The first batch is on its way.");
  root.append(bar.el, stale, said.el, tiles.el, closeup.el, waiting, below.el, figures.el);

  let painted = 0;
  let unreadable = "";
  let last: Sheet<SheetHeader> | null = null;
  const warn = (): void => {
    const reason = link.get("stale", "");
    const words = unreadable
      ? `The picture could not be read: ${unreadable}`
      : painted
        ? `Still the last good picture: ${reason}`
        : reason;
    const due = unreadable !== "" || reason !== "";
    attr(root, "data-stale", due ? "true" : null);
    show(stale, due);
    const retry = h(
      "button",
      { class: "wb-link", type: "button", "data-wb": "retry", onclick: () => link.ask("retry", {}) },
      "Try again",
    );
    const again = unreadable !== "" || link.get("retryable", false);
    stale.replaceChildren(
      ...(due ? [icon("warn", 14), h("span", {}, words)] : []),
      ...(due && again ? [retry] : []),
    );
    show(waiting, !painted && !due);
  };
  const draw = (): void => {
    if (!last) return;
    attr(tiles.el, "data-sized", link.get("tile_size", 0) ? "true" : null);
    tiles.draw(last, link.get("mode", "both"), bar.showingOriginal());
  };
  const remark = (): void => {
    if (last) said.say(last.header, tiles.showsOriginal());
  };
  const paint = (sheet: Sheet<SheetHeader>): void => {
    last = sheet;
    draw();
    remark();
    closeup.know(sheet.header);
    bar.say(sheet.header);
    below.say(sheet.header);
    unreadable = "";
    attr(root, "data-failed", null);
    root.dataset["batch"] = String(sheet.header.batch);
    root.dataset["mode"] = link.get("mode", "both");
    root.dataset["mime"] = sheet.header.mime;
    root.dataset["sheet"] = String(++painted);
    warn();
  };
  const showOriginal = (on: boolean): void => {
    const near = !closeup.el.hidden;
    const has = last?.header.tiles.some((tile) => tile.original.length === 4) ?? false;
    // The originals come from Python where they are not in the sheet, and go with it again.
    if (on ? !has && !near : link.get("show_original", false)) link.set("show_original", on);
    if (near) closeup.showOriginal(on);
    attr(root, "data-show-original", on ? "true" : null);
    draw();
    remark();
  };
  const decoder = new Decoder<SheetHeader>(paint, (reason) => {
    unreadable = reason;
    attr(root, "data-failed", reason);
    warn();
  });
  link.watch(["picture"], () => decoder.push(link.get("picture", new ArrayBuffer(0))));
  link.watch(["mode"], () => {
    draw();
    if (painted) root.dataset["mode"] = link.get("mode", "both");
  });
  link.watch(["stale", "retryable"], warn);
  link.watch(["closeup"], () => {
    const near = closeup.draw();
    show(tiles.el, !near);
    attr(root, "data-closeup", near ? "true" : null);
    bar.near(near);
    if (bar.showingOriginal()) showOriginal(true);
    const left = closeup.wasLeft();
    if (!near && left !== null) tiles.focus(left);
  });

  root.addEventListener("keydown", (event) => undoKey(event, (action) => link.ask(action, {})));
  return heldKey(root, "o", bar.hold);
});
