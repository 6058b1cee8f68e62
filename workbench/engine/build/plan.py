"""What a run of a graph consists of: the nodes, the parts they run in, and the key of each.

The key is made of a node's emitted call, of where it stands in the data, and of the keys of its
inputs: an output under the same key is the same bits.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.catalog.own_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.spec import Catalog, Device
from workbench.emit.core.naming import unique_names
from workbench.emit.core.own_code import nodes_calling, nodes_within
from workbench.emit.core.policies import has_policy
from workbench.emit.emitter import Emitter
from workbench.emit.templates.automatic_draws import Draws
from workbench.engine.build.auto_augment import automatic_draws
from workbench.graph.execution.dataset_parameters import parameter_of
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.model.ports import output_ports, variables_read
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import decodes, is_decoder
from workbench.sources import Dataset, Datasets

# Where a run is cut into pipelines.
#
# At a source, which runs by itself so that bad files can be told apart; at a decoder, because
# building a mixed one costs 1.6 s (measured with 2.4.0) and it can stay built while the others
# change; at a block, whose pipeline DALI makes from its Python source (38 ms); and at an automatic
# augmentation, which runs without one (``augmenter.py``). What lies between runs as one.

PartKind = Literal["source", "decoder", "block", "automatic", "operators"]


def kind_of(node: Node, catalog: Catalog) -> PartKind:
    """What kind of part a node runs in."""
    if isinstance(node, Source):
        return "source"
    if node.bodies:
        return "block"
    if node.op in AUTO_AUGMENT:
        return "automatic"
    spec = catalog[node.op]
    sound = decodes(spec) and spec.outputs[0].kind == "sound"
    return "decoder" if sound or is_decoder(spec) else "operators"


def partition(nodes: Sequence[Node], catalog: Catalog) -> tuple[tuple[Node, ...], ...]:
    """Nodes in running order, as parts in running order: each needs only those before it.

    Decoders that can run together do, and so do operators; a source, a block or an automatic
    augmentation is alone. An operator waits for the part in which it is first needed.
    """
    kinds = {node.id: kind_of(node, catalog) for node in nodes}
    level: dict[str, int] = {}
    for node in nodes:
        before = [
            level[port.node] + (not _joined(kinds[port.node], kinds[node.id]))
            for port in node.inputs.values()
            if port.node in level
        ]
        level[node.id] = max(before, default=0)
    last = max((level[id_] for id_, kind in kinds.items() if kind == "operators"), default=0)
    latest: dict[str, int] = {}
    for node in reversed(nodes):
        if kinds[node.id] == "operators":
            level[node.id] = max(level[node.id], latest.get(node.id, last))
        for port in node.inputs.values():
            if port.node in kinds:
                most = level[node.id] - (not _joined(kinds[port.node], kinds[node.id]))
                latest[port.node] = min(latest.get(port.node, most), most)
    parts: dict[tuple[int, str, str], list[Node]] = {}
    for node in nodes:
        kind = kinds[node.id]
        alone = node.id if kind in ("source", "block", "automatic") else ""
        parts.setdefault((level[node.id], kind, alone), []).append(node)
    ordered = sorted(parts.items(), key=lambda item: item[0][0])
    return tuple(tuple(part) for _, part in ordered)


def _joined(kind: PartKind, other: PartKind) -> bool:
    """Whether a node may run in the part of what feeds it."""
    return kind == other == "operators"


@dataclass(frozen=True, slots=True)
class Plan:
    """The first ``count`` samples of batch ``batch`` (from 0), up to some outputs of a graph.

    ``count`` is the whole batch where a node looks across samples; ``wanted`` are asked for.
    ``nodes`` are those of the graph that the outputs depend on, in running order; ``keys`` has an
    entry for each by id. ``parts`` are the nodes that run together, in order.
    """

    resolved: ResolvedGraph
    data: Datasets
    batch: int
    count: int
    wanted: int
    repeat: int | None
    """The place in the batch whose file stands at every place, or None."""
    versions: Mapping[str, str]
    """What each dataset was like when it was read."""
    nodes: tuple[Node, ...]
    parts: tuple[tuple[Node, ...], ...]
    keys: dict[str, str]
    draws: Mapping[str, Draws]
    """What automatic augmentation draws, by the node's id."""

    @property
    def graph(self) -> Graph:
        """The graph that runs."""
        return self.resolved.graph

    @property
    def devices(self) -> Mapping[str, Device]:
        """Where each node of the graph runs, by id."""
        return self.resolved.devices

    @property
    def position(self) -> int:
        """How many samples come before this batch: where random operators stand."""
        return self.batch * self.graph.settings.batch_size

    @property
    def version(self) -> str:
        """What all data were like together."""
        return " ".join(f"{name}={version}" for name, version in self.versions.items())

    def feeds_alone(self, port: Port) -> str:
        """The operator to which encoded data go, where it is one and no other; else empty."""
        decoder = self.decoder_of(port)
        return "" if decoder is None else decoder.op

    def decoder_of(self, port: Port) -> Node | None:
        """The first node that encoded data feed, if all that they feed have the same operator."""
        fed = [node for node in self.nodes if port in node.inputs.values()]
        return fed[0] if len({node.op for node in fed}) == 1 else None

    def dataset(self, source: Source) -> Dataset | None:
        """What a source reads; None for one that names its data itself."""
        name = parameter_of(source)
        return None if name is None else self.data[name]


def make_plan(
    resolved: ResolvedGraph,
    data: Datasets,
    batch: int,
    count: int,
    taps: Sequence[Port],
    repeat: int | None = None,
    versions: Mapping[str, str] | None = None,
) -> Plan:
    """The plan for a graph. ``count`` is cut to the batch size."""
    graph, catalog = resolved.graph, resolved.catalog
    ordered, _ = topological(graph)
    needed = ancestors(graph, list(taps))
    nodes = tuple(node for node in ordered if node.id in needed)
    size = graph.settings.batch_size
    wanted = min(count, size)
    emitter = _KeyEmitter(resolved, nodes)
    plan = Plan(
        resolved,
        data,
        batch,
        size
        if any(depends_on_whole_batch(node, catalog) for node in emitter.every_node())
        else wanted,
        wanted,
        repeat,
        versions or {},
        nodes,
        partition(nodes, catalog),
        {},
        automatic_draws(resolved)
        if any(catalog[node.op].module for node in emitter.every_node())
        else {},
    )
    for node in nodes:
        # Inputs stand in the call as their keys: what a node is called changes no bits.
        ports = output_ports(node, catalog[node.op])
        emitter.names |= {port: port.output for port in ports}
        emitter.names |= {
            inner: emitter.names[outer] for inner, outer in variables_read(node, catalog[node.op])
        }
        key = plan.keys[node.id] = _key(plan, emitter, node)
        emitter.names |= {port: f"{key}.{port.output}" for port in ports}
    return plan


class _KeyEmitter(Emitter):
    """Writes lines that are only hashed: names for a reader would be found in vain."""

    def name_ports(self) -> None:
        self.names = unique_names(self.every_node(), self.catalog)


def depends_on_whole_batch(node: Node, catalog: Catalog) -> bool:
    """Whether what a node gives for one sample depends on the others of the batch."""
    by_value = node.op == "normalize" and bool(node.args.get("batch", False))
    return catalog[node.op].whole_batch or by_value


def draws_random_numbers(node: Node, catalog: Catalog) -> bool:
    """Whether a node, or one inside it, draws random numbers."""
    inner = (each for body in node.bodies.values() for each in body.nodes)
    spec = catalog[node.op]
    return (
        spec.seeded
        or spec.module != ""
        or any(draws_random_numbers(each, catalog) for each in inner)
    )


def _key(plan: Plan, emitter: Emitter, node: Node) -> str:
    settings = plan.graph.settings
    parts = [*emitter.node_lines(node).text, plan.devices[node.id], str(plan.count)]
    if not node.inputs or draws_random_numbers(node, plan.resolved.catalog):
        parts += [str(settings.seed), str(plan.batch), str(settings.batch_size)]
    parts += [repr(plan.draws[each.id]) for each in nodes_within([node]) if each.id in plan.draws]
    parts += [repr(each.args) for each in nodes_within([node]) if has_policy(each)]
    parts += [str(each.args.get("source", "")) for each in nodes_calling([node])]
    if isinstance(node, Source):
        dataset = plan.dataset(node)
        parts += [repr(dataset.identity) if dataset else "", str(plan.repeat), plan.version]
    parts += [f"{name}={plan.keys[p.node]}.{p.output}" for name, p in node.inputs.items()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
