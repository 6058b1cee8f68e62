// The speed lab: a few parts, each with what it was measured on.

import type { Components } from "./views";
import { comparePart } from "./speed/compare";
import { controls } from "./speed/controls";
import { peersPart } from "./speed/peers";
import { recordsPart } from "./speed/records";
import { scalingPart } from "./speed/scaling";
import { stagesPart } from "./speed/stages";
import { takeRecords } from "./speed/openRecord";
import { tunePart } from "./speed/tune";
import { component } from "./lib/component";
import { attr, h, show } from "./lib/dom";
import { download } from "./lib/files";
import { undoKey } from "./lib/keyboard";
import { parsePayload } from "./lib/binaryPayload";
import type { FileHeader } from "./views";
import css from "./styles/speed.css";

type Part = Components["speed"]["fields"]["part"];

export default component("speed", css, (root, link) => {
  root.classList.add("wb-panel");
  const parts: Record<Part, HTMLElement> = {
    compare: comparePart(link),
    stages: stagesPart(link),
    tune: tunePart(link),
    scaling: scalingPart(link),
    peers: peersPart(link),
    records: recordsPart(link),
  };
  const body = h("div", { class: "wb-speed-body" });
  for (const [name, el] of Object.entries(parts)) {
    attr(el, "data-part", name);
    el.classList.add("wb-speed-part");
    body.append(el);
  }
  root.append(...controls(link), body);
  root.addEventListener("keydown", (event) => undoKey(event, (action) => link.ask(action, {})));
  const endDrops = takeRecords(root, link);

  link.watch(["part"], () => {
    const open = link.get("part", "compare");
    root.dataset["part"] = open;
    for (const [name, el] of Object.entries(parts)) show(el, name === open);
  });
  link.watch(["running"], () => attr(root, "data-running", link.get("running", false) ? "true" : null));
  link.on("file", () => {
    const file = parsePayload<FileHeader>(link.get("file", new ArrayBuffer(0)));
    // Another view of the same panel may have asked for it.
    if (file?.header.view === link.view) download(file.header.name, file.payload, file.header.mime);
  });
  return endDrops;
});
