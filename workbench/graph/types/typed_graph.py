"""Combine a graph with its catalogue, and infer types and devices once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from workbench.catalog.spec import SHOWN_KINDS, Catalog, Device, OpSpec, PortKind
from workbench.graph.model import Graph, Node, Port
from workbench.graph.types.devices import infer_devices, port_kind
from workbench.graph.types.shapes import infer_types
from workbench.graph.types.tensor_type import TensorType


@dataclass(frozen=True)
class TypedGraph:
    """A graph, possibly with faults, and its catalogue. Inferred properties are cached.

    If the graph is a body (``at_scope``), devices and types are inferred from the whole graph.
    """

    graph: Graph
    catalog: Catalog

    @cached_property
    def whole(self) -> Self:
        """The typed graph of the whole graph that contains this body, or this object itself."""
        return self.for_graph(self.graph.whole)

    @cached_property
    def devices(self) -> Mapping[str, Device]:
        """The device of each node: see ``infer_devices``."""
        if self.whole is not self:
            return self.whole.devices
        return infer_devices(self.graph, self.catalog)

    @cached_property
    def types(self) -> Mapping[Port, TensorType]:
        """The type of each port: see ``infer_types``."""
        if self.whole is not self:
            return self.whole.types
        return infer_types(self.graph, self.catalog)

    @cached_property
    def images(self) -> Mapping[str, Port]:
        """Outputs that can be displayed as images or, for sounds, as waveforms, by name."""
        return {
            name: port
            for name, port in self.graph.outputs.items()
            if self.kind(port) in SHOWN_KINDS and self.types[port].may_be_shown
        }

    def spec(self, node: Node) -> OpSpec:
        return self.catalog[node.op]

    def kind(self, port: Port) -> PortKind:
        """Return the kind of data at a port, which may be in any body."""
        return port_kind(self.graph, self.catalog, port)

    def for_graph(self, graph: Graph) -> Self:
        """Return a typed graph for ``graph`` with the same catalogue."""
        return self if graph is self.graph else replace(self, graph=graph)

    def at_scope(self, scope: str) -> Self:
        """Return the typed graph of one body, which shares the inferred types and devices."""
        taken = self.for_graph(self.graph.at_scope(scope))
        if taken is not self:
            vars(taken)["whole"] = self.whole
        return taken
