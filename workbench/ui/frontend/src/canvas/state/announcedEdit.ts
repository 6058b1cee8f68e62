// The edit that a screen reader's words are about: once the graph changes by another, they go.

import type { Link } from "../../lib/link";
import type { EdgeEntry, NodeEntry } from "../../payloads";

/** Milliseconds in which an edit that was asked for and announced is on the canvas. */
const OWN = 1000;

export class AnnouncedEdit {
  private startedAt = -Infinity;
  /** The nodes and edges after the edit; empty until Python has answered. */
  private result = "";

  constructor(private readonly link: Link<"canvas">) {}

  /** Notes that the words are about what is asked of Python now. */
  start(): void {
    this.startedAt = performance.now();
    this.result = "";
    this.settle();
  }

  /** Notes the result, if Python has answered: nodes and edges arrive before the answer does. */
  settle(): void {
    const { link } = this;
    if (!this.result && !link.waiting) this.result = ids(link.get("nodes", []), link.get("edges", []));
  }

  /** Whether these nodes and edges come from another edit. */
  isOver(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): boolean {
    const own = this.link.waiting || performance.now() - this.startedAt < OWN;
    return !own || (this.result !== "" && this.result !== ids(nodes, edges));
  }
}

function ids(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): string {
  return JSON.stringify([nodes.map((node) => node.id), edges.map(({ id, source }) => [id, source])]);
}
