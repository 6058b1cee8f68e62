"""Resolve a graph: infer devices, types and warnings, which are known without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from workbench.catalog.spec import Catalog, Device
from workbench.errors import GraphFaultsError
from workbench.graph.checks.check import all_faults, checked_faults
from workbench.graph.checks.check_warnings import active_warnings
from workbench.graph.execution.active import active_graph
from workbench.graph.model import DecodeDevice, Graph, Node
from workbench.graph.model.faults import Fault
from workbench.graph.model.graph import changed_settings
from workbench.graph.model.node_order import ancestors, topological
from workbench.graph.types.tensor_type import TensorType
from workbench.graph.types.typed_graph import TypedGraph
from workbench.sources import DataFacts


@dataclass(frozen=True)
class ResolvedGraph(TypedGraph):
    """A graph with the properties that are known without running it. They are cached.

    ``resolve`` creates a resolved graph and checks it; callers of the constructor must check the
    graph themselves. ``facts`` are the known properties of the data, by parameter. The warnings
    depend on them.
    """

    facts: Mapping[str, DataFacts] = field(default_factory=dict)
    beside: Mapping[str, str] = field(default_factory=dict)
    """Suffix for each constant in ``data_constants``. The exported program appends it to its own
    path without ``.py``: with ``.photos``, ``train.py`` reads ``train.photos``.
    """
    file: str = ""
    """File name of the exported program, or empty for the default name of the target."""
    hints: bool = False
    """Whether the exported code has a comment with the command that finds a bad file, on the line
    that DALI's error message quotes."""

    @cached_property
    def outputs(self) -> Mapping[str, TensorType]:
        """The type of one sample of each output, by output name."""
        return {name: self.types[port] for name, port in self.graph.outputs.items()}

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """Top-level nodes that the outputs depend on, in topological order."""
        wanted = ancestors(self.graph, list(self.graph.outputs.values()))
        return tuple(node for node in topological(self.graph)[0] if node.id in wanted)

    @cached_property
    def warnings(self) -> tuple[Fault, ...]:
        """Warnings about the graph, which do not prevent a run."""
        return active_warnings(self, self.facts)

    @cached_property
    def running(self) -> Self:
        """The part of the graph that runs, without muted nodes and nodes that no output needs."""
        return self.for_graph(active_graph(self.graph, self.catalog))

    @cached_property
    def stopping_faults(self) -> tuple[Fault, ...]:
        """Faults that prevent a run; faults of nodes that no output depends on are excluded."""
        return checked_faults(self.running, self.graph)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """All faults, as returned by ``check_graph``."""
        return self.stopping_faults if self.running is self else all_faults(self)

    @cached_property
    def loose_faults(self) -> tuple[Fault, ...]:
        """Faults of nodes that no output depends on. They do not prevent a run."""
        return tuple(fault for fault in self.faults if fault not in self.stopping_faults)

    @cached_property
    def mixed_devices(self) -> Mapping[str, Device]:
        """The device that each node would have if images were decoded on the GPU."""
        return self.decoding_on("mixed").devices

    def decoding_on(self, device: DecodeDevice) -> Self:
        """Return a copy whose graph decodes images on ``device``: ``cpu`` or ``mixed``."""
        if self.graph.settings.device == device:
            return self
        settings = changed_settings(self.graph.settings, {"device": device})
        return self.for_graph(replace(self.graph, settings=settings))

    def on_data(self, facts: Mapping[str, DataFacts]) -> Self:
        """Return a copy for the data that ``facts`` describes. Inferred types are shared."""
        made = replace(self, facts=facts)
        vars(made)["whole"] = self.whole
        return made

    def variant(self, graph: Graph) -> Self:
        """Resolve a second graph on the same data, for example the validation graph.

        Raises GraphFaultsError if the graph cannot run.
        """
        return self.for_graph(graph).sound()

    def sound(self) -> Self:
        """Return the active part of the graph. Raises GraphFaultsError if the graph cannot run."""
        if self.stopping_faults:
            raise GraphFaultsError(self.stopping_faults)
        return self.running


def resolve(
    graph: Graph, catalog: Catalog, facts: Mapping[str, DataFacts] | None = None
) -> ResolvedGraph:
    """Resolve the active part of a graph, which has no muted nodes and no unused nodes.

    Raises GraphFaultsError for a graph with faults.
    """
    return ResolvedGraph(graph, catalog, facts or {}).sound()
