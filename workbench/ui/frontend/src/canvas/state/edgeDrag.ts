// An edge that is being drawn: where it may end, and why not elsewhere.

import type { EdgeEntry, NodeEntry, ConnectTargets } from "../../payloads";
import { isOutput, outputOf } from "../layout/geometry";

export interface Linking {
  /** The end that stays where it is. */
  fixed: "source" | "target";
  node: string;
  port: string;
  /** The edge whose other end is being moved; empty for a new one. */
  edge: string;
}

export interface Feed {
  source: string;
  output: string;
  target: string;
  input: string;
}

/** The ids of handles: `in:data`, `out:images`. */
export const portOf = (handle: string | null | undefined): string =>
  (handle ?? "").replace(/^(in|out):/, "");

/** The edge there would be if the loose end were put on this port. */
export function feedTo(linking: Linking, node: string, port: string): Feed {
  const [source, output] = linking.fixed === "source" ? [linking.node, linking.port] : [node, port];
  const [target, input] = linking.fixed === "source" ? [node, port] : [linking.node, linking.port];
  return isOutput(target)
    ? { source, output, target: "", input: outputOf(target).name }
    : { source, output, target, input };
}

/** Why an edge cannot be: empty where it can, undefined while that is not known yet. */
export function refusal(connectTargets: Partial<ConnectTargets>, feed: Feed): string | undefined {
  if (!feed.target) return "";
  if (connectTargets.source !== `${feed.source}.${feed.output}`) return undefined;
  return (
    connectTargets.reasons?.[`${feed.target}:${feed.input}`] ?? `${feed.output} does not fit ${feed.input}`
  );
}

/** The ports and arguments of a node that may be fed. */
export function fitting(connectTargets: Partial<ConnectTargets>, linking: Linking, node: NodeEntry): string[] {
  if (linking.fixed === "target") return node.outputs.map((output) => output.name);
  if (connectTargets.source !== `${linking.node}.${linking.port}`) return [];
  const prefix = `${node.id}:`;
  const free = Object.entries(connectTargets.reasons ?? {})
    .filter(([id, reason]) => id.startsWith(prefix) && !reason)
    .map(([id]) => id.slice(prefix.length));
  // A port on the left is meant, unless only arguments are left.
  const ports = free.filter((name) =>
    node.inputs.some((port) => port.name === name && !port.argument),
  );
  return ports.length ? ports : free;
}

/** The first reason why nothing of a node may be fed. */
export function nodeRefusal(connectTargets: Partial<ConnectTargets>, linking: Linking, node: NodeEntry): string {
  if (node.id === linking.node) return "an operator cannot feed itself";
  if (linking.fixed === "target") return `${node.id} gives nothing out`;
  const reasons = Object.entries(connectTargets.reasons ?? {});
  return (
    reasons.find(([id]) => id.startsWith(`${node.id}:`))?.[1] ?? `${node.id} takes nothing of it`
  );
}

export function edgeName(edge: EdgeEntry): string {
  const to = edge.target ? `${edge.target}.${edge.input}` : `the output ${edge.input}`;
  return `${edge.source}.${edge.output} feeds ${to}`;
}
