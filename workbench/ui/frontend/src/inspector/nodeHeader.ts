// What the inspector says of the whole node: its name, where it runs, what is wrong with it.

import type { InspectorView } from "../views";
import { attr, h, show, text } from "../lib/dom";
import { Region } from "./region";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";

const SIDES: Record<string, string> = { cpu: "CPU", gpu: "GPU", mixed: "mixed (CPU and GPU)" };

export class NodeHeader {
  readonly el: HTMLElement;
  private title = h("h3");
  private id = h("span", { class: "wb-inspector-id" });
  private many = h("p", { class: "wb-inspector-many", "data-wb": "many", hidden: true });
  private doc = h("p", { class: "wb-inspector-doc" });
  private feeds = h("p", { class: "wb-inspector-doc", "data-wb": "feeds" });
  private errors = h("ul", { class: "wb-inspector-errors" });
  private side = h("select", { class: "wb-dist wb-side", "data-wb": "device" });
  private runs = h("label", { class: "wb-runs" }, "runs on", this.side);
  private device = "";
  private region: Region;

  constructor(link: Link<"inspector">) {
    this.side.addEventListener("change", () => {
      const { id = "" } = link.get("node", {});
      link.ask("device", { node: id, device: this.side.value });
      this.side.value = this.device;
    });
    this.region = new Region(link);
    this.el = h(
      "div",
      { class: "wb-inspector-head" },
      this.many,
      h("div", { class: "wb-inspector-title" }, this.title, this.id),
      this.doc,
      this.feeds,
      this.region.el,
      this.runs,
      this.errors,
    );
  }

  draw(view: Partial<InspectorView>): void {
    const { op = "", id = "", label = "", doc = "", devices = [], selected = 0 } = view;
    text(this.title, op.startsWith("opaque.") ? label : op);
    text(this.id, id === op ? "" : id);
    attr(this.title, "data-tip", label && label !== op ? `${id} · ${label}` : id);
    text(this.doc, doc);
    attr(this.doc, "data-tip", doc.length > 150 ? doc : null);
    show(this.many, selected > 1);
    text(this.many, selected > 1 ? `${selected} selected: this is the last` : "");
    const feeds = view.feeds ?? [];
    show(this.feeds, feeds.length > 0);
    text(this.feeds, feeds.length ? `Feeds ${feeds.join(", ")}.` : "");
    this.region.draw(view);
    this.runsOn(devices, view);
    this.errors.replaceChildren(
      ...(view.errors ?? []).map((error) =>
        h("li", { class: "wb-arg-error" }, icon("warn", 12), error),
      ),
    );
  }

  private runsOn(devices: readonly string[], view: Partial<InspectorView>): void {
    show(this.runs, devices.length > 0);
    const { device = "", device_set: told = "", follows = "" } = view;
    this.device = told;
    const side = SIDES[device] ?? device;
    const usual = follows === "on the CPU" ? side : `${side}: ${follows}`;
    const free = told ? follows : usual;
    const options = [["", free], ...devices.map((name) => [name, SIDES[name] ?? name])];
    this.side.replaceChildren(...options.map(([value, word]) => h("option", { value }, word)));
    this.side.value = told;
    attr(this.side, "data-set", told ? "true" : null);
  }
}
