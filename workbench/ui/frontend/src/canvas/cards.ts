// The cards of the nodes, the pills of their draws, and the lines between them.

import type { NodeEntry } from "../views";
import { attr, h, Keyed, svg, text } from "../lib/dom";
import { dice, icon } from "../lib/icons";
import { CARD, layout, PILL, pills, type Layout } from "./layout";

const SHORT = { cpu: "CPU", mixed: "MIX", gpu: "GPU" } as const;

interface Handlers {
  select(id: string): void;
  move(id: string, by: -1 | 1): void;
  remove(id: string): void;
  insert(after: string): void;
}

export class Cards {
  readonly el = h("div", { class: "wb-canvas-plane" });
  private lines = svg("svg", { class: "wb-canvas-lines", "aria-hidden": "true" });
  private list = h("ol", { "aria-label": "Operators, in order" });
  private plusses = h("div");
  private output = h("span", { class: "wb-pill wb-pill-out" }, "output");
  private keyed: Keyed<NodeEntry>;
  private nodes: readonly NodeEntry[] = [];
  private plan: Layout = { cards: [], joins: [], output: null, tall: 0, pitch: 0 };

  constructor(private handlers: Handlers) {
    this.el.append(this.lines, this.plusses, this.list, this.output);
    this.keyed = new Keyed<NodeEntry>(
      this.list,
      (node) => node.id,
      (node) => this.make(node),
      (el, node, index) => this.update(el, node, index),
    );
  }

  draw(nodes: readonly NodeEntry[], selected: string, wide: number): void {
    const held = this.list.querySelector("[data-wb=node]:focus") !== null;
    this.nodes = nodes;
    this.plan = layout(nodes, wide);
    this.el.style.height = `${this.plan.tall}px`;
    this.el.style.setProperty("--pill", `${this.plan.pitch - 6}px`);
    this.keyed.draw(nodes);
    const reached = nodes.some((node) => node.id === selected) ? selected : nodes[0]?.id;
    for (const node of nodes) {
      const el = this.keyed.get(node.id);
      const box = el?.querySelector<HTMLElement>("[data-wb=node]");
      if (!el || !box) continue;
      attr(el, "class", node.id === selected ? "wb-card wb-card-on" : "wb-card");
      attr(box, "aria-current", node.id === selected ? "true" : null);
      attr(box, "tabindex", node.id === reached ? 0 : -1);
      if (held && node.id === selected) box.focus({ preventScroll: true });
    }
    this.drawLines();
  }

  /** Where a card and the pills over it begin and end, in the plane. */
  place(id: string): { top: number; bottom: number } | undefined {
    const index = this.nodes.findIndex((node) => node.id === id);
    const [card, node] = [this.plan.cards[index], this.nodes[index]];
    if (!card || !node) return undefined;
    const over = pills(node).length * (PILL.height + PILL.gap);
    return { top: card.y - over, bottom: card.y + CARD.height };
  }

  /** Whether there is such a card. */
  focus(id: string): boolean {
    const box = this.keyed.get(id)?.querySelector<HTMLElement>("[data-wb=node]");
    box?.focus();
    return box !== undefined && box !== null;
  }

  private make(node: NodeEntry): HTMLElement {
    const { id } = node;
    const action = (label: string, shape: Node, run: () => void, name: string): HTMLElement =>
      h(
        "button",
        {
          type: "button",
          "aria-label": `${label} ${id}`,
          "data-tip": label,
          "data-wb": name,
          onclick: run,
        },
        shape,
      );
    return h(
      "li",
      { class: "wb-card", "data-id": id },
      h("div", { class: "wb-card-draws" }),
      h(
        "button",
        {
          type: "button",
          "data-wb": "node",
          "data-node": id,
          onclick: () => this.handlers.select(id),
        },
        h("b"),
        " ",
        h("span", { class: "wb-card-shape" }),
        " ",
        h("span", { class: "wb-card-device" }),
        " ",
        h("i", { class: "wb-port wb-port-in" }),
        h("i", { class: "wb-port wb-port-out" }),
        h("span", { class: "wb-card-fault" }),
      ),
      h(
        "div",
        { class: "wb-card-actions" },
        action("Move left", icon("left", 13), () => this.handlers.move(id, -1), "move-left"),
        action("Move right", icon("right", 13), () => this.handlers.move(id, 1), "move-right"),
        action("Remove", icon("close", 13), () => this.handlers.remove(id), "remove"),
      ),
    );
  }

  private update(el: HTMLElement, node: NodeEntry, index: number): void {
    const spot = this.plan.cards[index];
    el.style.transform = `translate(${spot?.x ?? 0}px, ${spot?.y ?? 0}px)`;
    attr(el, "data-device", node.device);
    attr(el, "data-fault", node.fault ? "true" : null);
    attr(el, "data-movable", node.movable ? "true" : null);
    const [draws, box] = el.children as unknown as [HTMLElement, HTMLElement];
    const [name, shape, device, , , fault] = box.children as unknown as HTMLElement[];
    attr(box, "aria-description", [node.id, ...node.draws].join(", "));
    const aside = node.label && node.label !== node.op ? `${node.id} · ${node.label}` : node.id;
    attr(
      box,
      "data-tip",
      [`${node.op}\n\n${aside}`, node.output, ...node.draws, node.fault].filter(Boolean).join("\n"),
    );
    text(name!, node.op);
    text(shape!, node.output);
    text(device!, SHORT[node.device]);
    fault!.replaceChildren(...(node.fault ? [icon("warn", 12), node.fault] : []));
    draws.replaceChildren(
      ...pills(node).map((draw) =>
        h(
          "span",
          { class: "wb-pill", "data-tip": node.draws.join("\n") },
          dice(12),
          h("span", {}, draw),
        ),
      ),
    );
  }

  private drawLines(): void {
    const { cards, joins, output, tall } = this.plan;
    const dotted = cards.flatMap((card, index) =>
      this.nodes[index]?.draws.length
        ? [svg("path", { class: "wb-line-draw", d: `M${card.x + 24} ${card.y - 10}v10` })]
        : [],
    );
    const lines = joins.map((join) => svg("path", { d: join.path }));
    attr(this.lines, "height", tall);
    this.lines.replaceChildren(...lines, ...dotted);

    // Nothing can stand before the last node that has its fixed place (the decoder).
    const fixed = this.nodes.findLastIndex((node) => !node.movable);
    this.plusses.replaceChildren(
      ...joins.flatMap((join, index) => {
        const node = this.nodes[index];
        if (!node || index < fixed) return [];
        const plus = h(
          "button",
          {
            class: "wb-plus",
            type: "button",
            tabindex: -1,
            "aria-label": `Add an operator after ${node.id}`,
            "data-wb": "plus",
            "data-after": node.id,
            onclick: () => this.handlers.insert(node.id),
          },
          icon("plus", 12),
        );
        plus.style.transform = `translate(${join.plus.x - 9}px, ${join.plus.y - 9}px)`;
        return [plus];
      }),
    );
    this.output.hidden = output === null;
    if (output)
      this.output.style.transform = `translate(${output.x}px, ${output.y - PILL.height / 2}px)`;
  }
}
