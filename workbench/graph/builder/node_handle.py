"""Access one node of a graph in code: ``graph["rotate"]``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NoReturn

from workbench.arguments import FLAG, TEXT, WHOLE, checked, format_value
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.errors import (
    GraphEditError,
    GraphFaultsError,
    UnknownNameError,
    UnsupportedUseError,
)
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.builder.data_node import DataNode, merged_graph, plain_value
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import free_id, generator_of, rename_node, reset_arg, set_arg
from workbench.graph.execution.active import set_muted
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.frozen_dict import FrozenDict
from workbench.graph.model.ports import output_ports


class NodeHandle:
    """A node of a graph, accessed by its id: ``graph["rotate"]``.

    The node's arguments are attributes: fixed values, or handles of the nodes that generate them.
    Edits return a new graph. Raises GraphEditError for an unknown id, and AttributeError for an
    unknown argument::

        assert graph["rotate"].angle == 5
        turned = graph["rotate"].set(angle=wb.random.uniform(range=(-10, 10)))
        assert turned["rotate"].angle.range == (-10, 10)
    """

    _written = "graph[node]"

    def __init__(self, graph: Graph, node_id: str) -> None:
        self._graph = graph
        self._id = node_id

    @property
    def node(self) -> Node:
        """The ``Node`` object, with id, operator, arguments and inputs.

        ::

            assert graph["rotate"].node.op == "rotate"
        """
        return self._graph.node(self._id)

    @property
    def args(self) -> Mapping[str, Value]:
        """The node's fixed argument values.

        ::

            assert graph["rotate"].args["angle"] == 5
        """
        return self.node.args

    @property
    def output(self) -> DataNode:
        """The node's only output. Raises GraphEditError if there is not exactly one.

        ::

            before = graph["resize"].output
        """
        given = self.outputs
        if len(given) != 1:
            raise GraphEditError(
                f"{self._id} outputs {', '.join(given) or 'nothing'}. Select one: outputs[name]."
            )
        return next(iter(given.values()))

    @property
    def outputs(self) -> Mapping[str, DataNode]:
        """The node's outputs by name.

        ::

            labels = graph["reader"].outputs["labels"]
        """
        inside = self._graph.at_scope(self._graph.scope_of(self._id))
        ports = output_ports(self.node, load_catalog()[self.node.op])
        return FrozenDict({port.output: DataNode(inside, port) for port in ports})

    @checked()
    def set(self, **arguments: Any) -> Graph:
        """Return the graph with arguments of this node set to values, or to outputs of nodes.

        Random nodes also accept ``seed``. Raises GraphEditError for an unknown argument, with the
        nearest name, and GraphFaultsError for an unsupported value.

        ::

            graph["rotate"].set(angle=10, fill_value=0)
        """
        catalog, graph = load_catalog(), self._graph
        for name, value in arguments.items():
            if name == "seed" and catalog[self.node.op].seeded and WHOLE.fits(value):
                graph = graph.replace_node(replace(graph.node(self._id), seed=int(value)))
                continue
            if not isinstance(value, DataNode):
                graph = set_arg(
                    graph, catalog, self._id, name, plain_value(value, f"{self._id}.{name}")
                )
                continue
            if name not in catalog[self.node.op].args:
                graph = set_arg(graph, catalog, self._id, name, 0)  # raises with the nearest name
            inside = graph.at_scope(graph.scope_of(self._id))
            inside, port = merged_graph(inside, catalog, value, name)
            is_new = not graph.whole.has(port.node)
            graph = connect(
                _moved_before(inside, self._id, port), catalog, port, self._id, name
            ).whole
            named = port.node.rstrip("_0123456789") == name
            if is_new and named and free_id(graph, name) == name:  # the former generator is gone
                graph = rename_node(graph, port.node, name)
        faults = [f for f in check_graph(graph.whole, catalog) if f.node == self._id]
        if faults:
            raise GraphFaultsError(faults)
        return graph

    def reset(self, *names: str) -> Graph:
        """Return the graph with the given arguments, or all, reset to the values of a new node.

        Raises GraphEditError for an unknown argument.

        ::

            graph["rotate"].reset("angle")
        """
        graph, catalog = self._graph, load_catalog()
        if unknown := [name for name in names if name not in catalog[self.node.op].args]:
            set_arg(graph, catalog, self._id, unknown[0], 0)  # raises with the nearest name
        for name in names or tuple(self.node.args):
            graph = reset_arg(graph, catalog, self._id, name)
        return graph

    def remove(self) -> Graph:
        """Return the graph without this node. The node's consumers use its input instead.

        ::

            assert not graph["rotate"].remove().has("rotate")
        """
        catalog = load_catalog()
        removed = remove_nodes(self._graph, catalog, (self._id,))
        return with_followers(self._graph, removed, catalog)

    @checked(muted=FLAG)
    def mute(self, muted: bool = True) -> Graph:
        """Return the graph with this node muted (excluded from runs) or unmuted.

        ::

            graph["rotate"].mute()
        """
        return set_muted(self._graph, (self._id,), muted)

    @checked(new_id=TEXT)
    def rename(self, new_id: str) -> Graph:
        """Return the graph with this node renamed. Raises GraphEditError if the id is in use.

        ::

            graph["rotate"].rename("turned")["turned"].angle
        """
        return rename_node(self._graph, self._id, new_id)

    def __getitem__(self, name: object) -> NoReturn:
        raise UnsupportedUseError(
            f"{self._id} has no item {format_value(name)}. Arguments are attributes: "
            f"{self._written.replace('node', repr(self._id))}.ARGUMENT."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        catalog, node = load_catalog(), self.node
        if name in node.args:
            return node.args[name]
        if name in node.inputs:
            fed_by = generator_of(self._graph, catalog, self._id, name)
            port = node.inputs[name]
            return NodeHandle(self._graph, fed_by.id) if fed_by else DataNode(self._graph, port)
        spec = catalog.find(node.op)
        if spec is not None and name in spec.args:
            return spec.args[name].default
        hint = spec.argument_hint(name) if spec else ""
        hint = "Use mute(False)." if name == "unmute" else hint
        where = self._id if self._id == node.op else f"{self._id} ({node.op})"
        raise UnknownNameError(f"{where} has no argument {name!r}. {hint}")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise GraphEditError(
                "A graph is immutable. Use the result of set: "
                f"graph[{self._id!r}].set({name}={value!r})."
            )
        super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        spec = load_catalog().find(self.node.op)
        return sorted({*super().__dir__(), *(spec.args if spec else ())})

    def __repr__(self) -> str:
        values = [f"{name}={_text(value)}" for name, value in self.node.args.items()]
        values += [f"{name}=<{port}>" for name, port in self.node.inputs.items()]
        return f"{self._id}: {self.node.op}({', '.join(values)})"


def _text(value: Value) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _moved_before(graph: Graph, node_id: str, port: Port) -> Graph:
    """Move the node of ``port`` in front of the node ``node_id`` in node order."""
    if not graph.has(port.node) or graph.scope_of(port.node) != graph.scope_of(node_id):
        return graph
    if port.node == node_id:
        raise GraphEditError(
            f"{node_id!r} cannot be its own input. Use an output of an earlier node."
        )
    order = [node.id for node in graph.nodes]
    if order.index(port.node) < order.index(node_id):
        return graph
    moved = graph.node(port.node)
    rest = [node for node in graph.nodes if node.id != port.node]
    at = next(i for i, node in enumerate(rest) if node.id == node_id)
    return replace(graph, nodes=(*rest[:at], moved, *rest[at:]))
