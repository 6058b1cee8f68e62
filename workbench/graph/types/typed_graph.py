"""A graph with its catalogue, and what is inferred from both: devices and types, each once."""

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
    """Any graph, also one with faults, and its catalogue. What is asked of it is inferred once.

    Of a body that was taken out of a graph, devices and types are those of the whole graph.
    """

    graph: Graph
    catalog: Catalog

    @cached_property
    def whole(self) -> Self:
        """That of the whole graph, of a body that was taken out."""
        return self.of(self.graph.whole)

    @cached_property
    def devices(self) -> Mapping[str, Device]:
        """Where each node runs: see ``infer_devices``."""
        if self.whole is not self:
            return self.whole.devices
        return infer_devices(self.graph, self.catalog)

    @cached_property
    def types(self) -> Mapping[Port, TensorType]:
        """What each port gives: see ``infer_types``."""
        if self.whole is not self:
            return self.whole.types
        return infer_types(self.graph, self.catalog)

    @cached_property
    def images(self) -> Mapping[str, Port]:
        """The outputs that can be shown as pictures, by name: sounds too."""
        return {
            name: port
            for name, port in self.graph.outputs.items()
            if self.kind(port) in SHOWN_KINDS and self.types[port].may_be_shown
        }

    def spec(self, node: Node) -> OpSpec:
        """What the catalogue says of a node's operator."""
        return self.catalog[node.op]

    def kind(self, port: Port) -> PortKind:
        """What flows out of a port, at any depth."""
        return port_kind(self.graph, self.catalog, port)

    def of(self, graph: Graph) -> Self:
        """The same of another graph; this one if it is the same graph."""
        return self if graph is self.graph else replace(self, graph=graph)

    def at_scope(self, scope: str) -> Self:
        """The same of one body, for which nothing is inferred again."""
        taken = self.of(self.graph.at_scope(scope))
        if taken is not self:
            vars(taken)["whole"] = self.whole
        return taken
