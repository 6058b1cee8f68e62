"""What one node gives, as a value in code: DALI's operators, arithmetic and indexing make others.

As in DALI a ``DataNode`` stands for a batch that is not there yet. It holds the graph in which it
is made, which never changes: each call gives a new one. Where values of two graphs meet, the nodes
that both have are one node, so a coin that flips an image and its mask is tossed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NoReturn

from workbench.arguments import WHOLE, shown
from workbench.catalog import load_catalog
from workbench.catalog.familiar_names import nearest_arguments
from workbench.catalog.spec import Catalog, OpSpec, Value
from workbench.errors import (
    GraphEditError,
    GraphFaultsError,
    UnknownNameError,
    UnsupportedUseError,
)
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.compose import origin_of, route_into_body
from workbench.graph.edits.edit import free_id, free_seed, usable_spec, usual_id
from workbench.graph.edits.fragment import add_nodes
from workbench.graph.model import Graph, Node, Port, block_of, is_name
from workbench.graph.model.operators import Operators
from workbench.graph.model.ports import output_ports
from workbench.graph.model.values import index_text
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph


def _arithmetic(name: str, left: Any, right: Any) -> DataNode:
    """``left <sign> right``; one of them may be a number."""
    if isinstance(left, DataNode) and isinstance(right, DataNode):
        return single(call_operator(f"math.{name}", (left, right), {}))
    node, side, number = (left, "right", right) if isinstance(left, DataNode) else (
        right, "left", left)  # fmt: skip
    if not isinstance(number, Real):
        raise GraphEditError(
            f"{node.port} and {shown(number)} cannot be combined. Give a number or what another "
            "node gives."
        )
    value = plain_value(number)
    kind = {bool: "BOOL", int: "INT32"}.get(type(value), "FLOAT")
    return single(call_operator(f"math.{name}", (node,), {side: value, "constant_type": kind}))


def _binary(name: str) -> Callable[[Any, Any], DataNode]:
    """The method of an arithmetic sign, called on its left operand."""
    return lambda value, other: _arithmetic(name, value, other)


def _reflected(name: str) -> Callable[[Any, Any], DataNode]:
    """The method of a sign with a number on its left."""
    return lambda value, other: _arithmetic(name, other, value)


@dataclass(frozen=True, eq=False)
class DataNode(Operators["DataNode"]):
    """One output of one node.

    Every operator of DALI is a method, the value its first input: ``images.rotate(angle=5)``.
    Numbers, lists and other values may stand on the other side of ``+ - * / // % ** & | ^ << >>``
    and of comparisons, and ``images[:, 3:9]`` is a part. Shapes and element types follow DALI's
    rules: of ``uint8`` and a whole number comes ``int32``, of a float ``float``.

    Attributes
    ----------
    graph:
        The graph in which it is made.
    port:
        The node and its output.

    Raises GraphEditError for what cannot be combined or is no index, UnknownNameError for what is
    no operator, GraphFaultsError for what the operator cannot take, and UnsupportedUseError if it
    is used as an array: asked for its truth or length, or iterated::

        mixed = graph.images * 0.7 + graph.images.flip() * 0.3
        part = graph.images[0:100, :, 0]
        made = wb.outputs(mixed=mixed, part=part, labels=graph.labels)
    """

    graph: Graph
    port: Port

    def __repr__(self) -> str:
        return f"<{self.port} of {self.graph.whole.node(self.port.node).op}>"

    def __bool__(self) -> NoReturn:
        raise UnsupportedUseError(
            f"{self.port} has a value for each sample, none for all. Use if_else in place of if."
        )

    def __iter__(self) -> NoReturn:
        raise UnsupportedUseError(
            f"{self.port} cannot be iterated. Take its parts by index: [0], [:, 3:9]."
        )

    __array_ufunc__ = None  # numpy's numbers leave arithmetic to this class

    def _no_array(self, *_: object, **__: object) -> NoReturn:
        raise UnsupportedUseError(
            f"{self.port} is no array: it stands for a batch that has not run. "
            "graph.batch(0) has the arrays."
        )

    __len__ = __float__ = __int__ = __index__ = __array__ = _no_array

    def __getitem__(self, key: Any) -> DataNode:
        items = key if isinstance(key, tuple) else (key,)
        for item in items:
            ends = (item.start, item.stop, item.step) if isinstance(item, slice) else (item,)
            if not all(end is None or isinstance(end, Integral) for end in ends):
                raise GraphEditError(
                    f"{self.port}[{item!r}]: an index is made of whole numbers and ranges of "
                    "these. For a place that differs from sample to sample use slice."
                )
        return single(call_operator("subscript", (self,), {"index": index_text(items)}))

    def __neg__(self) -> DataNode:
        return single(call_operator("math.neg", (self,), {}))

    __add__, __radd__ = _binary("add"), _reflected("add")
    __sub__, __rsub__ = _binary("sub"), _reflected("sub")
    __mul__, __rmul__ = _binary("mul"), _reflected("mul")
    __truediv__, __rtruediv__ = _binary("truediv"), _reflected("truediv")
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _reflected("floordiv")
    __mod__, __pow__ = _binary("mod"), _binary("pow")
    __and__, __or__, __xor__ = _binary("bitand"), _binary("bitor"), _binary("bitxor")
    __lshift__, __rshift__ = _binary("lshift"), _binary("rshift")
    __lt__, __le__, __gt__, __ge__ = _binary("lt"), _binary("le"), _binary("gt"), _binary("ge")
    __eq__, __ne__ = _binary("eq"), _binary("ne")  # type: ignore[assignment]  # as DALI has it
    __hash__ = object.__hash__


def single(found: DataNode | tuple[DataNode, ...]) -> DataNode:
    """The one output of an operator that has one."""
    assert isinstance(found, DataNode)
    return found


def call_operator(
    op: str, inputs: Sequence[Any], arguments: Mapping[str, Any], onto: Graph | None = None
) -> DataNode | tuple[DataNode, ...]:
    """One more node, in the graph of the first value, or behind ``onto``: what it gives.

    ``arguments`` are DALI's, fixed or from nodes, with ``seed`` and ``device``, and ``name`` for
    its id. Raises GraphEditError for what is no operator, argument or value, with the nearest name,
    and GraphFaultsError for what the node cannot take.
    """
    catalog = load_catalog()
    spec = usable_spec(catalog, op)
    given = dict(arguments)
    name, seed, device = given.pop("name", None), given.pop("seed", None), given.pop("device", None)
    if name is not None and not (isinstance(name, str) and is_name(name)):
        raise GraphEditError(f"{op}: name is {shown(name)}. Give a Python name, such as turned.")
    if seed is not None and not WHOLE.fits(seed):
        raise GraphEditError(f"{op}: seed is {shown(seed)}. Give a whole number, or none.")
    nodes = [_as_node(op, index, value, catalog) for index, value in enumerate(inputs)]
    fed = {spec.input(index).name: value for index, value in enumerate(nodes)}
    if len(nodes) > max(spec.max_inputs, len(spec.inputs)):
        raise GraphEditError(
            f"{op} has {spec.max_inputs} inputs, and {len(nodes)} values were given. Give its "
            f"arguments by name: {', '.join(spec.args)}."
        )
    ports = {port.name for port in spec.inputs}
    for key in [key for key in given if key in ports and key not in spec.args]:
        fed[key] = _as_node(op, key, given.pop(key), catalog)
    _require_known(spec, given)
    linked = {key: value for key, value in given.items() if isinstance(value, DataNode)}
    fixed = {key: plain_value(v) for key, v in given.items() if key not in linked and v is not None}
    graph = onto or _common_graph([value.graph for value in (*fed.values(), *linked.values())])
    found: dict[str, Port] = {}
    for key, value in fed.items():
        graph, found[key] = joined(graph, catalog, value)
    node = Node(
        free_id(graph, name or usual_id(op)),
        op,
        fixed,
        found,
        device=device,
        seed=(free_seed(graph) if seed is None else seed) if spec.seeded else seed,
    )
    graph = replace(graph, nodes=(*graph.nodes, node))
    for key, value in linked.items():
        graph, found[key] = joined(graph, catalog, value, key)
    node = replace(node, inputs=found)
    others = [each for each in graph.nodes if each.id != node.id]
    graph = replace(graph, nodes=(*others, node))
    require_sound_node(graph, catalog, node.id)
    made = tuple(DataNode(graph, port) for port in output_ports(graph.node(node.id), spec))
    return made[0] if len(made) == 1 else made


def _common_graph(graphs: Sequence[Graph]) -> Graph:
    """The first graph; where another one is a body inside it that is still being made, the body.

    There the new node is to stand, in whatever order its inputs are given.
    """
    inner = max(graphs, key=lambda each: each.scope.count("."), default=Graph())
    if inner.scope:
        others = [each for each in graphs if each.scope != inner.scope]
        if any(each.whole.has(block_of(inner.scope)) for each in others):
            return graphs[0]  # the block is done, and gives what its bodies give
    return inner


def _as_node(op: str, place: int | str, value: Any, catalog: Catalog) -> DataNode:
    if isinstance(value, DataNode):
        return value
    if isinstance(value, Graph):
        return main_output(value, catalog)[1]
    named = next(iter(catalog[op].args), "")
    fix = f"Give arguments by name: {op}({named}=...)" if named and place else "Give an image"
    raise GraphEditError(
        f"{op}: input {place} is {shown(value)}. {fix}, and inputs as outputs of nodes, such as "
        "graph.images."
    )


def _require_known(spec: OpSpec, given: Mapping[str, Any]) -> None:
    for key in given:
        if key in spec.args:
            continue
        near = nearest_arguments(key, spec.args)
        hint = f"Did you mean {near[0]}?" if near else f"It has {', '.join(spec.args) or 'none'}."
        raise UnknownNameError(f"{spec.name} has no argument {key!r}. {hint}")


_DEFERRED = ContextVar("deferred", default=False)


@contextmanager
def deferred_checks() -> Iterator[None]:
    """Within it nodes are made unchecked; who makes them checks the whole graph in the end.

    A check of each node looks at the whole graph, which takes long where there are hundreds.
    """
    token = _DEFERRED.set(True)
    try:
        yield
    finally:
        _DEFERRED.reset(token)


def require_sound_node(graph: Graph, catalog: Catalog, node_id: str) -> None:
    """Raise GraphFaultsError where a node that was just made cannot run as it is."""
    if _DEFERRED.get():
        return
    faults = [fault for fault in check_graph(graph.whole, catalog) if fault.node == node_id]
    if faults:
        raise GraphFaultsError(faults)


def plain_value(value: Any) -> Value:
    """A value as a graph holds it: of NumPy's numbers and arrays Python's, of enums the name."""
    if isinstance(value, bool | str):
        return value
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain_value(item) for item in value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    name = getattr(value, "name", None)  # a member of nvidia.dali.types
    if isinstance(name, str):
        return name
    raise GraphEditError(
        f"{shown(value)} is no value of an argument. Give a number, a text, a list of these, a "
        "member of nvidia.dali.types, or what a node gives."
    )


def main_output(graph: Graph, catalog: Catalog) -> tuple[str, DataNode]:
    """The output along which a graph goes on, by name: its image, or what is to be decoded.

    Raises GraphEditError where there are several images, or none.
    """
    names = list(TypedGraph(graph, catalog).images)
    if len(names) > 1:
        raise GraphEditError(
            f"The graph gives out several images: {', '.join(names)}. Go on with one of them, "
            f"for example graph.{names[0]}, and bring them together with workbench.outputs."
        )
    if not names:
        names = [name for name, port in graph.outputs.items() if port.output == "jpegs"]
    if not names:
        known = ", ".join(graph.outputs) or "nothing"
        raise GraphEditError(f"The graph gives out no image: it gives {known}.")
    return names[0], DataNode(graph, graph.outputs[names[0]])


# A value of one graph brought into another: the nodes that both have are one node. Two nodes are
# the same where code made them in one call (``Graph.origins``) and what they do and depend on is
# still the same. So a draw that feeds two calls is drawn once, and two calls that look alike draw
# for themselves.


def joined(graph: Graph, catalog: Catalog, given: DataNode, wanted: str = "") -> tuple[Graph, Port]:
    """The graph with all that a value depends on, and the port there.

    A draw that is new to the graph and has no name of its own is called ``wanted``, after the
    argument that it feeds; its seed stays where no other node has it. What stands around a block
    is led into it. Raises GraphEditError for what is made inside another block.
    """
    if given.graph is graph:
        return graph, given.port
    merger = _Merger(graph, catalog, given.graph)
    taken = merger.take(given.port, graph.scope, wanted)
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
            outer = self._other.feeding(port)
            if outer is None:
                raise GraphEditError(
                    f"{port} changes from turn to turn, and can be used there alone."
                )
            return self.take(outer, scope)
        node = self._other.node(port.node)
        node_id = self._found(node) or self._add(node, scope, wanted)
        self.whole, led = route_into_body(
            self.whole, self._catalog, Port(node_id, port.output), scope
        )
        return led

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
            made = origin_of(self._other, self._catalog, port, through_changes=True)
            found = origin_of(self.whole, self._catalog, here.inputs[name], through_changes=True)
            if not self._other.has(made.node):
                if made != found:
                    return False
            elif Port(self._found(self._other.node(made.node)), made.output) != found:
                return False
        return True

    def _add(self, node: Node, scope: str, wanted: str) -> str:
        """Add a node of the other graph with all that feeds it; gives its id here.

        It goes to where it stands there; what reads nothing, to where it is used.
        """
        there = self._other.scope_of(node.id)
        place = there if self._other.sources else scope
        if not _encloses(self.whole, place, scope):
            raise GraphEditError(
                f"{node.id} is inside {block_of(there)} and cannot be used outside. Use an "
                "output of the block."
            )
        spec = self._catalog.find(node.op)
        unnamed = node.id.rstrip("0123456789_") == usual_id(node.op)
        draws = spec is not None and is_generator(spec)
        named = replace(node, id=wanted) if wanted and unnamed and draws else node
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
