"""Define the data types of fixes: a fault with its graph, and the resulting graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Concatenate, ParamSpec

from workbench.catalog.spec import Catalog, OpSpec, Value
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import new_node, reset_arg
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.faults import Fault, FaultCode
from workbench.graph.types.typed_graph import TypedGraph
from workbench.names import shortened

P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix: the label of its button, and the resulting graph."""

    label: str
    graph: Graph


Make = Callable[[], Graph | None]
"""Function that creates the graph of a fix, or returns None if the fix is not possible."""
FixCandidate = tuple[str, Make]
"""A button label, and the function that creates the fixed graph."""


@dataclass(frozen=True, slots=True)
class Case:
    """A fault, with the body of the graph that contains the faulty node."""

    typed: TypedGraph
    fault: Fault

    @property
    def graph(self) -> Graph:
        """The body with the faulty node, as a graph."""
        return self.typed.graph

    @property
    def catalog(self) -> Catalog:
        return self.typed.catalog

    @property
    def node_id(self) -> str:
        """Id of the faulty node; empty for a fault of the whole graph."""
        return self.fault.node

    @property
    def node(self) -> Node:
        return self.graph.node(self.fault.node)

    @property
    def spec(self) -> OpSpec:
        return self.catalog[self.node.op]

    @property
    def arg(self) -> str:
        return self.fault.arg

    @property
    def about(self) -> str:
        """Name of an additional object that the fault concerns, such as an output."""
        return self.fault.about

    # Creation of graphs

    def edit(
        self,
        function: Callable[Concatenate[Graph, Catalog, P], Graph | None],
        *args: P.args,
        **options: P.kwargs,
    ) -> Make:
        """Return a function that applies an edit to the graph."""
        return partial(function, self.graph, self.catalog, *args, **options)

    def change(self, **fields: Any) -> Make:
        """Return a function that replaces fields of the faulty node."""
        return partial(self.graph.replace_node, replace(self.node, **fields))

    def set(self, name: str, value: Value) -> Make:
        """Return a function that sets an argument to a fixed value, replacing any link."""
        args = {**self.node.args, name: value}
        return self.change(args=args, inputs=self.node.without({name}).inputs)

    def reset(self) -> Make:
        """Return a function that resets the faulty argument to its initial value."""
        return self.edit(reset_arg, self.node_id, self.arg)

    def without(self, *names: str) -> Make:
        """Return a function that removes the values and links of arguments and inputs."""
        return partial(self.graph.replace_node, self.node.without(names))

    def insert(self, op: str, wanted_id: str | None = None, **fields: Any) -> Make:
        """Return a function that inserts a new node into the edge of the faulty input."""
        spec, node = self.catalog[op], self.node
        new = new_node(self.graph, self.catalog, op, wanted_id)
        new = replace(new, inputs={spec.inputs[0].name: node.inputs[self.arg]}, **fields)
        fed = node.fed({self.arg: Port(new.id, spec.outputs[0].name)})
        return partial(self.graph.substitute, node.id, new, fed)

    def removal(self, node_id: str | None = None) -> FixCandidate:
        """Return a fix that removes a node (by default the faulty one) and reconnects its edges."""
        node = node_id or self.node_id
        return f"Remove {node}", self.edit(remove_nodes, [node])


Remedies = Callable[[Case], Iterator[FixCandidate]]
REMEDIES: dict[FaultCode, Remedies] = {}
"""Functions that yield fix candidates, by fault code."""


def remedy(*codes: FaultCode) -> Callable[[Remedies], Remedies]:
    """Decorator that registers a function that yields fixes for faults with the given codes."""

    def register(function: Remedies) -> Remedies:
        if twice := REMEDIES.keys() & codes:
            raise RuntimeError(f"Two functions offer fixes for {', '.join(sorted(twice))}.")
        REMEDIES.update(dict.fromkeys(codes, function))
        return function

    return register


def short_value_text(value: Value) -> str:
    """Format a value for a button label: shortened, and without brackets around lists."""
    items = value if isinstance(value, tuple) else (value,)
    text = ", ".join(f"{i:g}" if isinstance(i, float) else str(i) for i in items)
    return shortened(text, 30)
