"""Plan a run: its nodes, the parts in which they run together, and each node's cache key.

The key is computed from a node's generated call, its position in the data, and the keys of its
inputs. Outputs with equal keys are bit-identical.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.catalog.extra_operators.auto_augment import AUTO_AUGMENT
from workbench.catalog.extra_operators.user_functions import PYTHON_SOURCE
from workbench.catalog.spec import Catalog, Device
from workbench.emit.core.naming import unique_names
from workbench.emit.core.policies import has_policy
from workbench.emit.core.user_functions import nodes_calling, nodes_within
from workbench.emit.emitter import Emitter
from workbench.emit.templates.auto_augment_random import UniformCalls
from workbench.engine.build.auto_augment import auto_augment_random_values
from workbench.graph.execution.dataset_parameters import parameter_of
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.model.ports import output_ports, variables_read
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.types.devices import decodes, is_decoder
from workbench.sources import Dataset, Datasets

# Partition of a run into pipelines.
#
# Cut at a source, which runs alone so that bad files can be identified; at a decoder, because
# building a mixed one costs 1.6 s (measured with 2.4.0) and it stays built while the others change;
# at a block, whose pipeline DALI builds from its Python source (38 ms); and at an automatic
# augmentation, which runs without a pipeline (``augmenter.py``). Everything in between runs as one.

PartKind = Literal["source", "decoder", "block", "automatic", "operators"]


def kind_of(node: Node, catalog: Catalog) -> PartKind:
    """Return the kind of part (group of nodes that run together) that a node belongs to."""
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
    """Divide nodes, in topological order, into parts: groups of nodes that run together.

    Each part depends only on previous parts. Decoders that can run together share a part, and so do
    operators. Each source, block and automatic augmentation has a part of its own. An operator is
    in the first part that needs it.
    """
    kinds = {node.id: kind_of(node, catalog) for node in nodes}
    level: dict[str, int] = {}
    for node in nodes:
        before = [
            level[port.node] + (not _shares_part(kinds[port.node], kinds[node.id]))
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
                most = level[node.id] - (not _shares_part(kinds[port.node], kinds[node.id]))
                latest[port.node] = min(latest.get(port.node, most), most)
    parts: dict[tuple[int, str, str], list[Node]] = {}
    for node in nodes:
        kind = kinds[node.id]
        alone = node.id if kind in ("source", "block", "automatic") else ""
        parts.setdefault((level[node.id], kind, alone), []).append(node)
    ordered = sorted(parts.items(), key=lambda item: item[0][0])
    return tuple(tuple(part) for _, part in ordered)


def _shares_part(kind: PartKind, other: PartKind) -> bool:
    """Return True if a node of kind ``other`` can be in one part with an input of kind ``kind``."""
    return kind == other == "operators"


@dataclass(frozen=True, slots=True)
class Plan:
    """Plan for the first ``count`` samples of batch ``batch`` (from 0).

    ``count`` is the whole batch if a node depends on other samples. ``wanted`` are the requested
    ports. ``nodes`` are the nodes that the requested ports depend on, in topological order, and
    ``keys`` maps their ids to cache keys. ``parts`` are the groups of nodes that run together.
    """

    resolved: ResolvedGraph
    data: Datasets
    batch: int
    count: int
    wanted: int
    repeat: int | None
    """Index of a file that is used for every sample, or None."""
    versions: Mapping[str, str]
    """Version of each dataset at the time it was read, by data parameter."""
    nodes: tuple[Node, ...]
    parts: tuple[tuple[Node, ...], ...]
    keys: dict[str, str]
    draws: Mapping[str, UniformCalls]
    """Calls that sample the random values of each automatic augmentation, by node id."""
    first: int | None = None
    """Number of samples before this batch, if a Python source returns batches of varying sizes."""

    @property
    def graph(self) -> Graph:
        """The graph that runs."""
        return self.resolved.graph

    @property
    def devices(self) -> Mapping[str, Device]:
        """Device of each node, by node id."""
        return self.resolved.devices

    @property
    def position(self) -> int:
        """Number of samples before this batch, which determines the state of random operators."""
        return self.batch * self.graph.settings.batch_size if self.first is None else self.first

    @property
    def version(self) -> str:
        """Combined version of all datasets."""
        return " ".join(f"{name}={version}" for name, version in self.versions.items())

    def feeds_alone(self, port: Port) -> str:
        """Return the name of the operator that all consumers of a port use, or an empty string."""
        decoder = self.decoder_of(port)
        return "" if decoder is None else decoder.op

    def decoder_of(self, port: Port) -> Node | None:
        """Return the first consumer of a port, or None unless all consumers use one operator."""
        fed = [node for node in self.nodes if port in node.inputs.values()]
        return fed[0] if len({node.op for node in fed}) == 1 else None

    def dataset(self, source: Source) -> Dataset | None:
        """Return the dataset that a source reads, or None if the source itself names its data."""
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
    """Plan a run that computes the ports ``taps``. ``count`` is limited to the batch size."""
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
        auto_augment_random_values(resolved)
        if any(catalog[node.op].module for node in emitter.every_node())
        else {},
    )
    for node in nodes:
        # Inputs appear in the call as their keys, because node names do not change the bits.
        ports = output_ports(node, catalog[node.op])
        emitter.names |= {port: port.output for port in ports}
        emitter.names |= {
            inner: emitter.names[outer] for inner, outer in variables_read(node, catalog[node.op])
        }
        key = plan.keys[node.id] = _key(plan, emitter, node)
        emitter.names |= {port: f"{key}.{port.output}" for port in ports}
    return plan


class _KeyEmitter(Emitter):
    """Emitter of code that is only hashed, and therefore needs no readable names."""

    def name_ports(self) -> None:
        self.names = unique_names(self.every_node(), self.catalog)


def depends_on_whole_batch(node: Node, catalog: Catalog) -> bool:
    """Return True if a node's output for one sample depends on other samples of the batch."""
    by_value = node.op == "normalize" and bool(node.args.get("batch", False))
    return catalog[node.op].whole_batch or by_value


def uses_random_numbers(node: Node, catalog: Catalog) -> bool:
    """Return True if a node, or a node inside it, uses random numbers."""
    inner = (each for body in node.bodies.values() for each in body.nodes)
    spec = catalog[node.op]
    return (
        spec.seeded
        or spec.module != ""
        or any(uses_random_numbers(each, catalog) for each in inner)
    )


def _key(plan: Plan, emitter: Emitter, node: Node) -> str:
    settings = plan.graph.settings
    parts = [*emitter.node_lines(node).text, plan.devices[node.id], str(plan.count)]
    if not node.inputs or uses_random_numbers(node, plan.resolved.catalog):
        parts += [str(settings.seed), str(plan.batch), str(settings.batch_size)]
    if not node.inputs:  # the batches of Python sources may have other sizes
        fed = [each.id for each in plan.nodes if each.op == PYTHON_SOURCE.name]
        parts += [plan.keys[each] for each in fed if each in plan.keys]
    parts += [repr(plan.draws[each.id]) for each in nodes_within([node]) if each.id in plan.draws]
    parts += [repr(each.args) for each in nodes_within([node]) if has_policy(each)]
    parts += [str(each.args.get("source", "")) for each in nodes_calling([node])]
    if isinstance(node, Source):
        dataset = plan.dataset(node)
        parts += [repr(dataset.identity) if dataset else "", str(plan.repeat), plan.version]
    parts += [f"{name}={plan.keys[p.node]}.{p.output}" for name, p in node.inputs.items()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
