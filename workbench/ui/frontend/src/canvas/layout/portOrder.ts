// Order of the ports of a card, chosen to avoid edge crossings.

import type { EdgeEntry, PortEntry } from "../../payloads";
import { inputSocket, outputSocket, type DrawnNode, type Point } from "./geometry";

/** Return the nodes with ordered ports; nodes in the right order remain the same objects. */
export function orderPorts(
  nodes: readonly DrawnNode[],
  edges: readonly EdgeEntry[],
  spots: ReadonlyMap<string, Point>,
  lanes: ReadonlyMap<string, number>,
): DrawnNode[] {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const arrivals = new Map<string, number[]>();
  const departures = new Map<string, number[]>();
  for (const edge of edges) {
    const source = known.get(edge.source);
    const [from, to] = [spots.get(edge.source), spots.get(edge.target || edge.id)];
    if (!source || !from || !to) continue;
    const target = known.get(edge.target);
    const lane = lanes.get(edge.id);
    const start = lane ?? from.x + outputSocket(source, edge.output).x;
    const end = lane ?? to.x + (target ? inputSocket(target, edge.input).x : 0);
    if (edge.target) add(arrivals, `${edge.target} ${edge.input}`, start);
    add(departures, `${edge.source} ${edge.output}`, end);
  }
  return nodes.map((node) => {
    const inputs = sortedPorts(node.inputs, ({ name }) => mean(arrivals.get(`${node.id} ${name}`)));
    const outputs = sortedPorts(node.outputs, ({ name }) => mean(departures.get(`${node.id} ${name}`)));
    return inputs === node.inputs && outputs === node.outputs ? node : { ...node, inputs, outputs };
  });
}

function add(found: Map<string, number[]>, key: string, x: number): void {
  found.set(key, [...(found.get(key) ?? []), x]);
}

/** Return the mean position; infinity for unconnected ports, so that they are last. */
function mean(xs: readonly number[] | undefined): number {
  return xs ? xs.reduce((sum, x) => sum + x, 0) / xs.length : Infinity;
}

function sortedPorts(ports: PortEntry[], x: (port: PortEntry) => number): PortEntry[] {
  const sorted = [...ports].sort((a, b) => (x(a) === x(b) ? 0 : x(a) - x(b)));
  return sorted.every((port, at) => port === ports[at]) ? ports : sorted;
}
