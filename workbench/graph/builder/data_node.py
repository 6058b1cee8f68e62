"""What one node gives, as a value in code: DALI's operators, arithmetic and indexing make others.

As in DALI a ``DataNode`` stands for a batch that is not there yet. It holds the graph in which it
is made, which never changes: each call gives a new one. Where values of two graphs meet, the nodes
that both have are one node, so a coin that flips an image and its mask is tossed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NoReturn

from workbench.arguments import WHOLE, shown
from workbench.catalog import load_catalog
from workbench.catalog.familiar_names import nearest_arguments
from workbench.catalog.spec import Catalog, OpSpec, Value
from workbench.errors import GraphEditError, GraphFaultsError
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.edit import free_id, free_seed, usual_id
from workbench.graph.edits.merge import merged
from workbench.graph.model import Graph, Node, Port, block_of, is_name
from workbench.graph.model.operators import Operators
from workbench.graph.model.ports import output_ports
from workbench.graph.model.subscript_index import index_text
from workbench.graph.types.typed_graph import TypedGraph


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

    Raises GraphEditError for what cannot be combined or is no index, AttributeError for what is no
    operator, GraphFaultsError for what the operator cannot take, and TypeError where it is asked
    for a truth or iterated::

        mixed = graph.images * 0.7 + graph.images.flip() * 0.3
        part = graph.images[0:100, :, 0]
        made = wb.outputs(mixed=mixed, part=part, labels=graph.labels)
    """

    graph: Graph
    port: Port

    def __repr__(self) -> str:
        return f"<{self.port} of {self.graph.whole.node(self.port.node).op}>"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self.port} has a value for each sample, none for all. Use if_else in place of if."
        )

    def __iter__(self) -> NoReturn:
        raise TypeError(f"{self.port} cannot be iterated. Take its parts by index: [0], [:, 3:9].")

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

    def __add__(self, other: Any) -> DataNode:
        return _arithmetic("add", self, other)

    def __radd__(self, other: Any) -> DataNode:
        return _arithmetic("add", other, self)

    def __sub__(self, other: Any) -> DataNode:
        return _arithmetic("sub", self, other)

    def __rsub__(self, other: Any) -> DataNode:
        return _arithmetic("sub", other, self)

    def __mul__(self, other: Any) -> DataNode:
        return _arithmetic("mul", self, other)

    def __rmul__(self, other: Any) -> DataNode:
        return _arithmetic("mul", other, self)

    def __truediv__(self, other: Any) -> DataNode:
        return _arithmetic("truediv", self, other)

    def __rtruediv__(self, other: Any) -> DataNode:
        return _arithmetic("truediv", other, self)

    def __floordiv__(self, other: Any) -> DataNode:
        return _arithmetic("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> DataNode:
        return _arithmetic("floordiv", other, self)

    def __mod__(self, other: Any) -> DataNode:
        return _arithmetic("mod", self, other)

    def __pow__(self, other: Any) -> DataNode:
        return _arithmetic("pow", self, other)

    def __and__(self, other: Any) -> DataNode:
        return _arithmetic("bitand", self, other)

    def __or__(self, other: Any) -> DataNode:
        return _arithmetic("bitor", self, other)

    def __xor__(self, other: Any) -> DataNode:
        return _arithmetic("bitxor", self, other)

    def __lshift__(self, other: Any) -> DataNode:
        return _arithmetic("lshift", self, other)

    def __rshift__(self, other: Any) -> DataNode:
        return _arithmetic("rshift", self, other)

    def __neg__(self) -> DataNode:
        return single(call_operator("math.neg", (self,), {}))

    def __lt__(self, other: Any) -> DataNode:
        return _arithmetic("lt", self, other)

    def __le__(self, other: Any) -> DataNode:
        return _arithmetic("le", self, other)

    def __gt__(self, other: Any) -> DataNode:
        return _arithmetic("gt", self, other)

    def __ge__(self, other: Any) -> DataNode:
        return _arithmetic("ge", self, other)

    def __eq__(self, other: object) -> DataNode:  # type: ignore[override]  # as DALI has it
        return _arithmetic("eq", self, other)

    def __ne__(self, other: object) -> DataNode:  # type: ignore[override]
        return _arithmetic("ne", self, other)

    __hash__ = object.__hash__


def _arithmetic(name: str, left: Any, right: Any) -> DataNode:
    """``left <sign> right``, of which one may be a number."""
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
    spec = catalog[op]
    if spec.unusable:
        raise GraphEditError(f"{op} cannot be added: {spec.unusable}.")
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
        return flow(value, catalog)[1]
    raise GraphEditError(
        f"{op}: input {place} is {shown(value)}. Give what a node gives, such as graph.images; "
        "values are arguments, given by name."
    )


def _require_known(spec: OpSpec, given: Mapping[str, Any]) -> None:
    for key in given:
        if key in spec.args:
            continue
        near = nearest_arguments(key, spec.args)
        hint = f"Did you mean {near[0]}?" if near else f"It has {', '.join(spec.args) or 'none'}."
        raise GraphEditError(f"{spec.name} has no argument {key!r}. {hint}")


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


def flow(graph: Graph, catalog: Catalog) -> tuple[str, DataNode]:
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


def joined(graph: Graph, catalog: Catalog, given: DataNode, wanted: str = "") -> tuple[Graph, Port]:
    """The graph with all that a value depends on, and the port there: see ``graph.merge``."""
    return merged(graph, catalog, given.graph, given.port, wanted)
