"""What a run of a graph consists of: the nodes, the pipeline each runs in, and the key of each.

The key is made of a node's emitted call, of where it stands in the data, and of the keys of its
inputs: an output under the same key is the same bits.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.catalog.spec import Catalog, Device
from workbench.emit.emitter import Emitter
from workbench.graph.devices import infer_devices, is_decoder
from workbench.graph.model import Graph, Node, Port, Source, ancestors, topological

READ, BEFORE, DECODE, AFTER = range(4)
"""The pipelines of a run, in order. The decoder has one of its own because building a mixed one
costs 1.6 s (measured with 2.4.0): it can stay built while the others change."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The first ``count`` samples of batch ``batch`` (from 0), up to some outputs of a graph.

    ``count`` is the whole batch where a node looks across samples; ``wanted`` are asked for.
    ``nodes`` are those that the outputs depend on, in running order; ``devices``, ``pipelines`` and
    ``keys`` have an entry for each by id.
    """

    graph: Graph
    data: str
    batch: int
    count: int
    wanted: int
    repeat: int | None
    """The place in the batch whose file stands at every place, or None."""
    version: str
    """What the data folder was like when it was read."""
    nodes: tuple[Node, ...]
    devices: Mapping[str, Device]
    pipelines: dict[str, int]
    keys: dict[str, str]

    @property
    def position(self) -> int:
        """How many samples come before this batch: where random operators stand."""
        return self.batch * self.graph.settings.batch_size


def make_plan(
    graph: Graph,
    catalog: Catalog,
    data: str,
    batch: int,
    count: int,
    taps: Sequence[Port],
    repeat: int | None = None,
    version: str = "",
) -> Plan:
    """The plan for a sound graph. ``count`` is cut to the batch size."""
    ordered, _ = topological(graph)
    needed = ancestors(graph, list(taps))
    nodes = tuple(node for node in ordered if node.id in needed)
    size = graph.settings.batch_size
    wanted = min(count, size)
    plan = Plan(
        graph,
        data,
        batch,
        size if any(looks_across(node, catalog) for node in nodes) else wanted,
        wanted,
        repeat,
        version,
        nodes,
        infer_devices(graph, catalog),
        _pipelines(nodes, catalog),
        {},
    )
    emitter = Emitter(graph, catalog, nodes)
    for node in nodes:
        # Inputs stand in the call as their keys: what a node is called changes no bits.
        emitter.names.update({Port(node.id, o.name): o.name for o in catalog[node.op].outputs})
        key = plan.keys[node.id] = _key(plan, catalog, emitter, node)
        emitter.names.update(
            {Port(node.id, o.name): f"{key}.{o.name}" for o in catalog[node.op].outputs}
        )
    return plan


def is_reader(node: Node) -> bool:
    """Whether a node reads the data."""
    return node.op.startswith("readers.")


def looks_across(node: Node, catalog: Catalog) -> bool:
    """Whether what a node gives for one sample depends on the others of the batch."""
    by_value = node.op == "normalize" and bool(node.args.get("batch", False))
    return catalog[node.op].whole_batch or by_value


def _key(plan: Plan, catalog: Catalog, emitter: Emitter, node: Node) -> str:
    settings = plan.graph.settings
    parts = [*emitter.node_lines(node), plan.devices[node.id], str(plan.count)]
    if not node.inputs or catalog[node.op].seeded:
        parts += [os.path.abspath(plan.data), str(settings.seed), str(plan.batch)]
        parts.append(str(settings.batch_size))
    if isinstance(node, Source):
        parts += [str(plan.repeat), plan.version]
    parts += [f"{name}={plan.keys[p.node]}.{p.output}" for name, p in node.inputs.items()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _pipelines(nodes: Sequence[Node], catalog: Catalog) -> dict[str, int]:
    """Pipeline of each node. Those without inputs go where they are first needed."""
    found: dict[str, int] = {}
    for node in nodes:
        fed = [found[p.node] for p in node.inputs.values() if p.node in found]
        if isinstance(node, Source):
            found[node.id] = READ
        elif is_decoder(catalog[node.op]):
            found[node.id] = DECODE
        elif fed:
            found[node.id] = AFTER if max(fed) >= DECODE else BEFORE
    for node in reversed(nodes):
        if node.id not in found:
            fed = [found[n.id] for n in nodes if node.id in {p.node for p in n.inputs.values()}]
            found[node.id] = BEFORE if DECODE in fed else min(fed, default=AFTER)
    return found
