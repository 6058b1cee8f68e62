// What becomes of an edge's loose end where it is dropped.

import type { Offers } from "../views";
import type { Desk } from "./desk";
import { connectTo } from "./edits";
import { isOutput, type Point } from "./geometry";
import { feedTo, fitting, nodeRefusal, refusal, type Linking } from "./linking";

export interface Aim {
  /** The port at the pointer, and its box; empty where there is none. */
  node: string;
  port: string;
  /** The box under the pointer. */
  under: string;
  /** Whether that is where a port is given out. */
  out: boolean;
  /** On the screen. */
  at: Point;
}

export function aimed(desk: Desk, node: string, port: string, at: Point): Aim {
  const root = desk.root.getRootNode() as Document | ShadowRoot;
  const el = root.elementFromPoint(at.x, at.y);
  const id = el?.closest<HTMLElement>(".react-flow__node")?.dataset["id"] ?? "";
  const under = desk.node(id) || isOutput(id) ? id : "";
  return { node, port, under, out: !!el?.closest("[data-wb=new-output]"), at };
}

interface Outcome {
  text: string;
  refused: boolean;
}

/** What the words by the pointer say. */
export function foretell(desk: Desk, linking: Linking, offers: Partial<Offers>, aim: Aim): Outcome {
  if (aim.node) {
    if (aim.node === linking.node && aim.port === linking.port) return { text: "", refused: false };
    const feed = feedTo(linking, aim.node, aim.port);
    const reason = refusal(offers, feed);
    if (reason) return { text: reason, refused: true };
    const to = feed.target ? `${feed.target}.${feed.input}` : `output ${feed.input}`;
    return { text: `${feed.source}.${feed.output} → ${to}`, refused: false };
  }
  if (aim.out) return { text: "give it out", refused: false };
  const { under } = aim;
  const node = desk.node(under);
  if (node) {
    if (linking.fixed === "source" && offers.source !== `${linking.node}.${linking.port}`) {
      return { text: "", refused: false };
    }
    const free = fitting(offers, linking, node);
    if (!free.length || under === linking.node) {
      return { text: nodeRefusal(offers, linking, node), refused: true };
    }
    return {
      text: free.length === 1 ? `→ ${under}.${free[0]}` : "drop here to choose the port",
      refused: false,
    };
  }
  if (linking.edge) return { text: "drop here to cut the edge", refused: false };
  return { text: linking.fixed === "source" ? "drop here to add an operator" : "", refused: false };
}

/** Carries it out. */
export function drop(desk: Desk, linking: Linking, aim: Aim): void {
  const { offers } = desk.get();
  if (aim.node) {
    const own = aim.node === linking.node && aim.port === linking.port;
    if (own) return;
    const feed = feedTo(linking, aim.node, aim.port);
    const reason = refusal(offers, feed);
    if (reason) desk.say(`Not connected: ${reason}`);
    else connectTo(desk, feed, linking.edge);
    return;
  }
  if (linking.fixed === "source" && aim.out) {
    connectTo(
      desk,
      { source: linking.node, output: linking.port, target: "", input: "" },
      linking.edge,
    );
    return;
  }
  const { under } = aim;
  const node = desk.node(under);
  if (node) {
    const free = under === linking.node ? [] : fitting(offers, linking, node);
    if (free.length === 1) connectTo(desk, feedTo(linking, under, free[0]!), linking.edge);
    else if (free.length) desk.set({ popup: { kind: "drop", node: under, linking, at: aim.at } });
    else desk.say(`Not connected: ${nodeRefusal(offers, linking, node)}`);
  } else if (under) {
    connectTo(desk, feedTo(linking, under, ""), linking.edge);
  } else if (linking.edge) {
    desk.link.ask("disconnect", { edges: [linking.edge] });
    desk.say("edge cut");
  } else if (linking.fixed === "source") {
    const place = { do: "branch", node: linking.node, output: linking.port } as const;
    desk.set({ popup: { kind: "search", place, at: aim.at } });
  }
}
