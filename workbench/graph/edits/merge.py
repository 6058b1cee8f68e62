"""A value of one graph brought into another: the nodes that both have are one node.

Two nodes are the same where code made them in one call (``Graph.origins``) and what they do and
depend on is still the same. So a draw that feeds two calls is drawn once, and two calls that look
alike draw for themselves.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.edits.edit import usual_id
from workbench.graph.edits.fragment import add_nodes
from workbench.graph.edits.lead_in import lead_in, origin_of
from workbench.graph.model import Graph, Node, Port, block_of
from workbench.graph.types.devices import is_generator


def merged(
    graph: Graph, catalog: Catalog, other: Graph, port: Port, wanted: str = ""
) -> tuple[Graph, Port]:
    """The graph with all that a port of another depends on, and that port there.

    A draw that is new to the graph and has no name of its own is called ``wanted``, after the
    argument that it feeds; its seed stays where no other node has it. What stands around a block
    is led into it. Raises GraphEditError for what is made inside another
    block.
    """
    if other is graph:
        return graph, port
    merger = _Merger(graph, catalog, other)
    taken = merger.take(port, graph.scope, wanted)
    return merger.whole.at_scope(graph.scope), taken


class _Merger:
    """Brings ports of one graph into another, which is ``whole``, with all that they depend on."""

    def __init__(self, graph: Graph, catalog: Catalog, other: Graph) -> None:
        self.whole = graph.whole
        self._other = other.whole
        self._catalog = catalog
        self._ids: dict[str, str] = {}
        """Nodes of the other graph, and which they are here; empty: none."""

    def take(self, port: Port, scope: str, wanted: str = "") -> Port:
        """The port here, as the body of that scope can read it."""
        if not self._other.has(port.node):
            if port.node == scope and port.output in self.whole.body_at(scope).inputs:
                return port
            port = self._outer(port)
            return self.take(port, scope)
        node = self._other.node(port.node)
        node_id = self._found(node) or self._add(node, scope, wanted)
        self.whole, led = lead_in(self.whole, self._catalog, Port(node_id, port.output), scope)
        return led

    def _outer(self, port: Port) -> Port:
        """What feeds that which a body of the other graph takes in."""
        outer = self._other.node(block_of(port.node)).inputs.get(port.output)
        if outer is None:
            raise GraphEditError(f"{port} changes from turn to turn, and can be used there alone.")
        return outer

    def _found(self, node: Node) -> str:
        """The id of the node here that is this one of the other graph, or an empty text."""
        if node.id not in self._ids:
            made = origin(self._other, node.id)
            ids = [node.id, *self.whole.origins]
            same = (
                each
                for each in dict.fromkeys(ids)
                if self.whole.has(each)
                and origin(self.whole, each) is made
                and self._alike(self.whole.node(each), node)
            )
            self._ids[node.id] = next(same, "")
        return self._ids[node.id]

    def _alike(self, here: Node, there: Node) -> bool:
        same = (here.op, here.args, here.device, here.muted, here.bodies) == (
            *(there.op, there.args, there.device, there.muted, there.bodies),
        )
        if not same or here.inputs.keys() != there.inputs.keys():
            return False
        for name, port in there.inputs.items():
            made = self._outermost(self._other, port)
            found = self._outermost(self.whole, here.inputs[name])
            if not self._other.has(made.node):
                if made != found:
                    return False
            elif Port(self._found(self._other.node(made.node)), made.output) != found:
                return False
        return True

    def _outermost(self, graph: Graph, port: Port) -> Port:
        """The port outside all blocks around of which a body takes in a port."""
        return origin_of(graph, self._catalog, port, through_changes=True)

    def _add(self, node: Node, scope: str, wanted: str) -> str:
        """Add a node of the other graph with all that feeds it; gives its id here.

        It goes to where it stands there; what reads nothing, to where it is used.
        """
        there = self._other.scope_of(node.id)
        place = there if self._other.sources else scope
        if not _encloses(self.whole, place, scope):
            raise GraphEditError(
                f"{node.id} is made inside {block_of(there)}, which alone can use it. Take what "
                "the block gives."
            )
        spec = self._catalog.find(node.op)
        unnamed = node.id.rstrip("0123456789_") == usual_id(node.op)
        if wanted and unnamed and spec is not None and is_generator(spec):
            named = replace(node, id=wanted)
        else:
            named = node
        free = node.seed not in {each.seed for each in self.whole.walk()}
        body, ids = add_nodes(self.whole.at_scope(place), Graph(nodes=(named,)))
        node_id = self._ids[node.id] = ids[named.id]
        if free:  # as the caller may have given it
            body = body.replace_node(replace(body.node(node_id), seed=node.seed))
        origins = {**body.origins, node_id: origin(self._other, node.id)}
        self.whole = replace(body, origins=origins).whole
        fed = {name: self.take(port, place) for name, port in node.inputs.items()}
        self.whole = self.whole.replace_node(replace(self.whole.node(node_id), inputs=fed))
        return node_id


def origin(graph: Graph, node_id: str) -> Node:
    """The node that code made, of which a node of this graph is a copy: itself, if it is none."""
    return graph.origins.get(node_id, graph.node(node_id))


def _encloses(graph: Graph, place: str, scope: str) -> bool:
    """Whether the body ``place`` is the body ``scope`` or holds it, at any depth."""
    while scope != place and scope:
        scope = graph.scope_of(block_of(scope))
    return scope == place
