// Drag of an edge: where the edge may end, and the reasons why it may not end elsewhere.

import type { EdgeEntry, NodeEntry, ConnectTargets } from "../../payloads";
import { isOutput, outputOf } from "../layout/geometry";

export interface Linking {
  /** The end that is not dragged. */
  fixed: "source" | "target";
  node: string;
  port: string;
  /** Edge whose other end is dragged; empty for a new edge. */
  edge: string;
}

export interface Feed {
  source: string;
  output: string;
  target: string;
  input: string;
}

/** Return the port of a React Flow handle, whose id is `in:data` or `out:images`. */
export const portOf = (handle: string | null | undefined): string =>
  (handle ?? "").replace(/^(in|out):/, "");

/** Return the edge that would result from dropping the dragged end on a port. */
export function feedTo(linking: Linking, node: string, port: string): Feed {
  const [source, output] = linking.fixed === "source" ? [linking.node, linking.port] : [node, port];
  const [target, input] = linking.fixed === "source" ? [node, port] : [linking.node, linking.port];
  return isOutput(target)
    ? { source, output, target: "", input: outputOf(target).name }
    : { source, output, target, input };
}

/** Return the reason why an edge is impossible; "" if it is possible, undefined if unknown. */
export function refusal(connectTargets: Partial<ConnectTargets>, feed: Feed): string | undefined {
  if (!feed.target) return "";
  if (connectTargets.source !== `${feed.source}.${feed.output}`) return undefined;
  return (
    connectTargets.reasons?.[`${feed.target}:${feed.input}`] ?? `${feed.output} does not fit ${feed.input}`
  );
}

/** Return the ports and arguments of a node that can be connected. */
export function acceptingPorts(connectTargets: Partial<ConnectTargets>, linking: Linking, node: NodeEntry): string[] {
  if (linking.fixed === "target") return node.outputs.map((output) => output.name);
  if (connectTargets.source !== `${linking.node}.${linking.port}`) return [];
  const prefix = `${node.id}:`;
  const free = Object.entries(connectTargets.reasons ?? {})
    .filter(([id, reason]) => id.startsWith(prefix) && !reason)
    .map(([id]) => id.slice(prefix.length));
  // Use the first port, unless only arguments are left.
  const ports = free.filter((name) =>
    node.inputs.some((port) => port.name === name && !port.argument),
  );
  return ports.length ? ports : free;
}

/** Return the first reason why a node cannot be connected. */
export function nodeRefusal(connectTargets: Partial<ConnectTargets>, linking: Linking, node: NodeEntry): string {
  if (node.id === linking.node) return "an operator cannot use its own output";
  if (linking.fixed === "target") return `${node.id} has no output`;
  const reasons = Object.entries(connectTargets.reasons ?? {});
  return (
    reasons.find(([id]) => id.startsWith(`${node.id}:`))?.[1] ?? `${node.id} has no matching input`
  );
}

export function edgeName(edge: EdgeEntry): string {
  const to = edge.target ? `${edge.target}.${edge.input}` : `the output ${edge.input}`;
  return `${edge.source}.${edge.output} feeds ${to}`;
}
