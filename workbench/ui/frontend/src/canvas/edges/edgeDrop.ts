// What happens when the dragged end of an edge is dropped.

import type { ConnectTargets } from "../../payloads";
import type { CanvasStore } from "../state/canvasStore";
import { connectTo } from "../state/actions";
import { isOutput, type Point } from "../layout/geometry";
import { feedTo, acceptingPorts, nodeRefusal, refusal, type Linking } from "../state/edgeDrag";

export interface DropTarget {
  /** Node and port at the pointer; empty if there is none. */
  node: string;
  port: string;
  /** The box under the pointer. */
  under: string;
  /** True if a drop here adds a graph output. */
  out: boolean;
  /** Screen coordinates. */
  at: Point;
}

export function dropTargetAt(store: CanvasStore, node: string, port: string, at: Point): DropTarget {
  const root = store.dom.root.getRootNode() as Document | ShadowRoot;
  const el = root.elementFromPoint(at.x, at.y);
  const id = el?.closest<HTMLElement>(".react-flow__node")?.dataset["id"] ?? "";
  const under = store.node(id) || isOutput(id) ? id : "";
  return { node, port, under, out: !!el?.closest("[data-wb=new-output]"), at };
}

interface Outcome {
  text: string;
  refused: boolean;
}

/** Return the text next to the pointer that describes the drop. */
export function previewDrop(store: CanvasStore, linking: Linking, connectTargets: Partial<ConnectTargets>, aim: DropTarget): Outcome {
  if (aim.node) {
    if (aim.node === linking.node && aim.port === linking.port) return { text: "", refused: false };
    const feed = feedTo(linking, aim.node, aim.port);
    const reason = refusal(connectTargets, feed);
    if (reason) return { text: reason, refused: true };
    const to = feed.target ? `${feed.target}.${feed.input}` : `output ${feed.input}`;
    return { text: `${feed.source}.${feed.output} → ${to}`, refused: false };
  }
  if (aim.out) return { text: "drop here to add an output", refused: false };
  const { under } = aim;
  const node = store.node(under);
  if (node) {
    if (linking.fixed === "source" && connectTargets.source !== `${linking.node}.${linking.port}`) {
      return { text: "", refused: false };
    }
    const free = acceptingPorts(connectTargets, linking, node);
    if (!free.length || under === linking.node) {
      return { text: nodeRefusal(connectTargets, linking, node), refused: true };
    }
    return {
      text: free.length === 1 ? `→ ${under}.${free[0]}` : "drop here to choose the port",
      refused: false,
    };
  }
  if (linking.edge) return { text: "drop here to remove the edge", refused: false };
  return { text: linking.fixed === "source" ? "drop here to add an operator" : "", refused: false };
}

/** Apply the drop. */
export function drop(store: CanvasStore, linking: Linking, aim: DropTarget): void {
  const { connect_targets: connectTargets } = store.get();
  if (aim.node) {
    const own = aim.node === linking.node && aim.port === linking.port;
    if (own) return;
    const feed = feedTo(linking, aim.node, aim.port);
    const reason = refusal(connectTargets, feed);
    if (reason) store.say(`Not connected: ${reason}`);
    else connectTo(store, feed, linking.edge);
    return;
  }
  if (linking.fixed === "source" && aim.out) {
    connectTo(
      store,
      { source: linking.node, output: linking.port, target: "", input: "" },
      linking.edge,
    );
    return;
  }
  const { under } = aim;
  const node = store.node(under);
  if (node) {
    const free = under === linking.node ? [] : acceptingPorts(connectTargets, linking, node);
    if (free.length === 1) connectTo(store, feedTo(linking, under, free[0]!), linking.edge);
    else if (free.length) store.set({ popup: { kind: "drop", node: under, linking, at: aim.at } });
    else store.say(`Not connected: ${nodeRefusal(connectTargets, linking, node)}`);
  } else if (under) {
    connectTo(store, feedTo(linking, under, ""), linking.edge);
  } else if (linking.edge) {
    store.link.ask("disconnect", { edges: [linking.edge] });
    store.say("edge removed");
  } else if (linking.fixed === "source") {
    const place = { do: "branch", node: linking.node, output: linking.port } as const;
    store.set({ popup: { kind: "search", place, at: aim.at } });
  }
}
