// Other libraries at the same work, where they are installed.

import { attr, h, show } from "../lib/dom";
import { Bars } from "./bars";
import { effort, head, startButton, type Speed } from "./controls";

export function peersPart(link: Speed): HTMLElement {
  const bars = new Bars();
  const list = h("dl", { class: "wb-speed-peers", "data-wb": "peers" });
  const start = startButton(link, "Measure", () => link.ask("measure", { what: "peers" }));
  const lead = head(
    "torchvision and OpenCV on the same files, sizes and workers, in turns with DALI.",
    effort(link),
    start,
  );
  link.watch(["peers"], () => bars.draw(link.get("peers", {})));
  link.watch(["limits", "running"], () => {
    const peers = link.get("limits", {}).peers ?? [];
    const none = peers.every(({ value }) => value);
    start.disabled = none || link.get("running", false);
    attr(start, "data-tip", none ? "No peer is installed" : null);
    show(list, peers.some(({ value }) => value));
    list.replaceChildren(
      ...peers
        .filter(({ value }) => value)
        .map(({ name, value }) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    );
  });
  return h("div", {}, lead, bars.el, list);
}
