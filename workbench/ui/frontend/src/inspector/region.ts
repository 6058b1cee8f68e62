// What the inspector says of a region: what decides, and its bodies to be opened or kept.

import type { BodyEntry, InspectorView } from "../views";
import { h, Keyed, show, text } from "../lib/dom";
import { icon } from "../lib/icons";
import type { Link } from "../lib/link";

export class Region {
  readonly el: HTMLElement;
  private decides = h("span");
  private show = h("button", { class: "wb-quiet", type: "button", "data-wb": "condition" }, "Show");
  private bodies = h("div", { class: "wb-region-bodies" });
  private list: Keyed<BodyEntry & { region: string }>;

  constructor(link: Link<"inspector">) {
    this.show.addEventListener("click", () => {
      link.ask("select", { node: link.get("node", {}).condition_node ?? "" });
    });
    this.list = new Keyed<BodyEntry & { region: string }>(
      this.bodies,
      (body) => `${body.scope} ${body.nodes} ${body.faulty}`,
      ({ region, name, scope, nodes, faulty }) =>
        h(
          "div",
          { class: "wb-region-body", role: "group", "aria-label": `${name} of ${region}` },
          h("b", {}, name),
          faulty
            ? h("span", { class: "wb-arg-error" }, icon("warn", 12), "has a fault")
            : h("span", { class: "wb-muted" }, nodes === 0 ? "passes on" : counted(nodes)),
          h(
            "button",
            {
              class: "wb-quiet",
              type: "button",
              "data-wb": "open-body",
              "data-scope": scope,
              "aria-label": `Open ${name} of ${region}`,
              onclick: () => link.ask("open_scope", { scope }),
            },
            "Open",
          ),
          h(
            "button",
            {
              class: "wb-quiet",
              type: "button",
              "data-wb": "keep-body",
              "data-tip": `Replace ${region} by what stands in ${name}`,
              "aria-label": `Keep only ${name} of ${region}`,
              onclick: () => link.ask("unwrap", { node: region, body: name }),
            },
            "Keep only",
          ),
        ),
    );
    this.el = h(
      "div",
      { class: "wb-region", "data-wb": "region", hidden: true },
      h("div", { class: "wb-region-condition" }, h("b", {}, "condition"), this.decides, this.show),
      this.bodies,
    );
  }

  draw(view: Partial<InspectorView>): void {
    const { bodies = [], condition = "", condition_node: node = "", id = "" } = view;
    show(this.el, bodies.length > 0);
    text(this.decides, condition ? `${condition}${node ? `, from ${node}` : ""}` : "fed by nothing");
    show(this.show, node !== "");
    this.list.draw(bodies.map((body) => ({ ...body, region: id })));
  }
}

function counted(nodes: number): string {
  return `${nodes} ${nodes === 1 ? "operator" : "operators"}`;
}
