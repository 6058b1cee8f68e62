// Long chains shown as one card each, such as "4 colour operators". Pure functions, tested without
// a browser.

import type { EdgeEntry, NodeEntry, PortEntry } from "../../payloads";

export interface Group {
  /** Id that differs from all node ids. */
  id: string;
  title: string;
  /** Ids of the group's nodes from top to bottom. */
  members: readonly string[];
}

/** A node, or a group in place of its nodes. */
export type DrawnEntry = NodeEntry & { group?: Group };

/** Number of nodes above which chains are collapsed when a graph is opened. */
const LONG = 12;
/** Shortest chain that is collapsed. */
const SHORTEST_CHAIN = 3;
const ROLES = new Set<string>(["geometry", "colour", "arithmetic"]);
const ENDS = new Set<string>(["read", "decode", "output"]);

/**
 * Return chains of operators with the same role in a long graph, without faults and the nodes
 * `kept`.
 */
export function findGroups(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
  kept: readonly string[],
  longer = LONG,
): Group[] {
  if (nodes.filter((node) => !node.generator).length <= longer) return [];
  const like = (node: NodeEntry): boolean => !node.bodies.length && ROLES.has(node.role);
  const same = (from: NodeEntry, to: NodeEntry): boolean => from.role === to.role;
  return chainsOf(nodes, edges, kept, like, same).map((members) => {
    const { role } = nodes.find(({ id }) => id === members[0])!;
    return { id: `${members[0]!}+`, title: `${members.length} ${role} operators`, members };
  });
}

/** Return all chains, also of different operators and with collapsed blocks. */
export function findAllGroups(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
  kept: readonly string[],
): Group[] {
  const outs = countBy(edges, "source");
  const deciding = new Map(nodes.filter(({ id, generator }) => generator && outs.get(id) === 1).map((n) => [n.id, n]));
  const rest = edges.filter(({ source }) => !deciding.has(source));
  const any = ({ role, expanded }: NodeEntry): boolean => !expanded && !ENDS.has(role);
  return chainsOf(nodes, rest, kept, any, () => true).map((members) => {
    const inside = new Set(members);
    const own = edges.filter(({ source, target }) => deciding.has(source) && inside.has(target));
    const [first, ...others] = members;
    const all = [first!, ...own.map(({ source }) => source), ...others];
    return { id: `${first!}+`, title: `${members.length} operators`, members: all };
  });
}

/** Return chains of nodes that have one input and one output and that a filter accepts. */
function chainsOf(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
  kept: readonly string[],
  accepted: (node: NodeEntry) => boolean,
  joined: (from: NodeEntry, to: NodeEntry) => boolean,
): string[][] {
  const [outs, ins] = [countBy(edges, "source"), countBy(edges, "target")];
  const free = new Map(
    nodes
      .filter((node) => node.op && !node.fault && !node.generator && !node.muted && accepted(node))
      .filter(({ id }) => ins.get(id) === 1 && outs.get(id) === 1 && !kept.includes(id))
      .map((node) => [node.id, node]),
  );
  const next = new Map<string, string>();
  for (const { source, target } of edges) {
    const [from, to] = [free.get(source), free.get(target)];
    if (from && to && joined(from, to) && from.scope === to.scope) next.set(source, target);
  }
  const inside = new Set(next.values());
  const chains: string[][] = [];
  for (const { id } of free.values()) {
    if (inside.has(id)) continue;
    const members = [id];
    for (let at = next.get(id); at; at = next.get(at)) members.push(at);
    if (members.length >= SHORTEST_CHAIN) chains.push(members);
  }
  return chains;
}

function countBy(edges: readonly EdgeEntry[], end: "source" | "target"): Map<string, number> {
  const counts = new Map<string, number>();
  for (const edge of edges) counts.set(edge[end], (counts.get(edge[end]) ?? 0) + 1);
  return counts;
}

/** Return the visible nodes and edges, with groups (and their outer edges) in place of nodes. */
export function withGroups(
  nodes: readonly NodeEntry[],
  edges: readonly EdgeEntry[],
  groups: readonly Group[],
): { nodes: readonly DrawnEntry[]; edges: readonly EdgeEntry[] } {
  if (!groups.length) return { nodes, edges };
  const known = new Map(nodes.map((node) => [node.id, node]));
  const groupOf = new Map(groups.flatMap((group) => group.members.map((id) => [id, group] as const)));
  const drawnEdges = edges.flatMap((edge) => {
    const [from, to] = [groupOf.get(edge.source), groupOf.get(edge.target)];
    if (from && from === to) return [];
    if (!from && !to) return [edge];
    return [
      {
        ...edge,
        ...(from && { source: from.id, output: portName(edge.source, edge.output) }),
        ...(to && { target: to.id, input: portName(edge.target, edge.input) }),
      },
    ];
  });
  const drawnNodes = nodes.flatMap((node): DrawnEntry[] => {
    const group = groupOf.get(node.id);
    if (!group) return [node];
    const present = group.members.filter((id) => known.has(id));
    return node.id === present[0] ? [entryOf(group, present, known, drawnEdges)] : [];
  });
  return { nodes: drawnNodes, edges: drawnEdges };
}

/** Return the positions including groups; a group has the position of its first node. */
export function withGroupPositions(
  positions: Record<string, number[]>,
  groups: readonly Group[],
): Record<string, number[]> {
  const placed = groups.filter(({ members }) => positions[members[0]!]);
  if (!placed.length) return positions;
  return { ...positions, ...Object.fromEntries(placed.map(({ id, members }) => [id, positions[members[0]!]!])) };
}

const portName = (node: string, port: string): string => `${node} ${port}`;

function entryOf(
  group: Group,
  present: readonly string[],
  known: ReadonlyMap<string, NodeEntry>,
  edges: readonly EdgeEntry[],
): DrawnEntry {
  const last = known.get(present.at(-1)!)!;
  const port = (name: string, kind: EdgeEntry["kind"]): PortEntry => ({
    ...{ name, kind, argument: false, fed: true, optional: false, flows: "" },
  });
  const unique = (ports: PortEntry[]): PortEntry[] => [
    ...new Map(ports.map((each) => [each.name, each])).values(),
  ];
  return {
    ...last,
    id: group.id,
    op: group.id, // no operator, so that its id is not shown next to its title
    title: group.title,
    label: "",
    values: present.map((id) => known.get(id)!.title).join(", "),
    draws: [],
    inputs: unique(edges.filter(({ target }) => target === group.id).map((e) => port(e.input, e.kind))),
    outputs: unique(edges.filter(({ source }) => source === group.id).map((e) => port(e.output, e.kind))),
    movable: false,
    twin: false,
    note: "",
    group: { ...group, members: present },
  };
}
