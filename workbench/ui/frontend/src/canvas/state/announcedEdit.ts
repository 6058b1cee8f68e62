// Edit described by the text for screen readers, which the next change of the graph clears.

import type { Link } from "../../lib/link";
import type { EdgeEntry, NodeEntry } from "../../payloads";

/** Maximum milliseconds until a requested edit appears on the canvas. */
const EDIT_TIMEOUT = 1000;

export class AnnouncedEdit {
  private startedAt = -Infinity;
  /** Nodes and edges after the edit; empty until Python has responded. */
  private result = "";

  constructor(private readonly link: Link<"canvas">) {}

  /** Record that the text describes the current request. */
  start(): void {
    this.startedAt = performance.now();
    this.result = "";
    this.settle();
  }

  /**
   * Record the result once Python has responded: nodes and edges arrive before the
   * acknowledgement.
   */
  settle(): void {
    const { link } = this;
    if (!this.result && !link.waiting) this.result = ids(link.get("nodes", []), link.get("edges", []));
  }

  /** Return whether nodes and edges result from another edit. */
  isOver(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): boolean {
    const own = this.link.waiting || performance.now() - this.startedAt < EDIT_TIMEOUT;
    return !own || (this.result !== "" && this.result !== ids(nodes, edges));
  }
}

function ids(nodes: readonly NodeEntry[], edges: readonly EdgeEntry[]): string {
  return JSON.stringify([nodes.map((node) => node.id), edges.map(({ id, source }) => [id, source])]);
}
