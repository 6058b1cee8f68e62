"""Represent a node's output as a value that supports operators, arithmetic and indexing.

As in DALI, a ``DataNode`` represents a future batch. It refers to its graph, which is immutable:
each operation returns a value of a new graph. When values of two graphs are combined, nodes that
both graphs contain are merged, so a coin flip for an image and its mask is sampled once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, NoReturn

from workbench.arguments import WHOLE, format_value, warn_caller
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators import FUSED_FORMS
from workbench.catalog.spec import Catalog, OpSpec, Value
from workbench.errors import (
    GraphEditError,
    GraphFaultsError,
    UnknownNameError,
    UnsupportedUseError,
)
from workbench.graph.checks.check import check_graph
from workbench.graph.edits.compose import origin_of, route_into_body
from workbench.graph.edits.edit import default_id, free_id, free_seed, usable_spec
from workbench.graph.edits.fragment import add_nodes
from workbench.graph.model import Graph, Node, Port, Source, block_of, is_name
from workbench.graph.model.operators import Operators
from workbench.graph.model.ports import output_ports
from workbench.graph.model.values import index_text
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.sources.dataset import Datasets, load_source


def _arithmetic(name: str, left: Any, right: Any) -> DataNode:
    """Apply an arithmetic operator to two values. At most one value is a number."""
    if isinstance(left, DataNode) and isinstance(right, DataNode):
        return single_output(call_operator(f"math.{name}", (left, right), {}))
    node, side, number = (left, "right", right) if isinstance(left, DataNode) else (
        right, "left", left)  # fmt: skip
    if not isinstance(number, Real):
        raise GraphEditError(
            f"{node.port} and {format_value(number)} cannot be combined. Use a number or the "
            "output of another node."
        )
    value = plain_value(number)
    kind = {bool: "BOOL", int: "INT32"}.get(type(value), "FLOAT")
    return single_output(
        call_operator(f"math.{name}", (node,), {side: value, "constant_type": kind})
    )


def _binary(name: str) -> Callable[[Any, Any], DataNode]:
    return lambda value, other: _arithmetic(name, value, other)


def _reflected(name: str) -> Callable[[Any, Any], DataNode]:
    return lambda value, other: _arithmetic(name, other, value)


@dataclass(frozen=True, eq=False)
class DataNode(Operators["DataNode"]):
    """One output of one node.

    Every DALI operator is a method whose first input is the value: ``images.rotate(angle=5)``.
    Numbers, lists and other values may be the other operand of ``+ - * / // % ** & | ^ << >>`` and
    of comparisons, and ``images[:, 3:9]`` is a slice. Shapes and element types follow DALI's rules:
    ``uint8`` becomes ``int32`` with an integer, and ``float`` with a float.

    Attributes
    ----------
    graph:
        The graph that contains the node.
    port:
        The node's id and the name of its output.

    Raises GraphEditError for invalid operands or indices, UnknownNameError for an unknown operator,
    GraphFaultsError for unsupported inputs, and UnsupportedUseError if code uses it like an array:
    ``bool``, ``len`` and iteration::

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
            f"{self.port} has one value per sample, so it has no single truth value. Use "
            "if_else instead of if."
        )

    def __iter__(self) -> NoReturn:
        raise UnsupportedUseError(f"{self.port} cannot be iterated. Use an index: [0], [:, 3:9].")

    __array_ufunc__ = None  # NumPy numbers defer arithmetic to this class

    def _no_array(self, *_: object, **__: object) -> NoReturn:
        raise UnsupportedUseError(
            f"{self.port} is not an array: it represents a batch that has not run. "
            "graph.batch(0) has the arrays."
        )

    __len__ = __float__ = __int__ = __index__ = __array__ = _no_array

    def __getitem__(self, key: Any) -> DataNode:
        items = key if isinstance(key, tuple) else (key,)
        for item in items:
            ends = (item.start, item.stop, item.step) if isinstance(item, slice) else (item,)
            if not all(end is None or isinstance(end, Integral) for end in ends):
                raise GraphEditError(
                    f"{self.port}[{item!r}]: an index consists of integers and ranges. For a "
                    "different position in each sample, use the operator slice."
                )
        return single_output(call_operator("subscript", (self,), {"index": index_text(items)}))

    def __neg__(self) -> DataNode:
        return single_output(call_operator("math.neg", (self,), {}))

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


def single_output(result: DataNode | tuple[DataNode, ...]) -> DataNode:
    """Return the result of an operator with one output, typed as ``DataNode``."""
    assert isinstance(result, DataNode)
    return result


def call_operator(
    op: str, inputs: Sequence[Any], arguments: Mapping[str, Any], onto: Graph | None = None
) -> DataNode | tuple[DataNode, ...]:
    """Add a node to the graph of the first value, or to ``onto``, and return its outputs.

    ``arguments`` are DALI's arguments, fixed or from nodes, plus ``seed``, ``device`` and ``name``
    (the node's id). Raises GraphEditError for an unknown operator, argument or value, with the
    nearest name, and GraphFaultsError for unsupported inputs.
    """
    catalog = load_catalog()
    spec = usable_spec(catalog, op)
    given = dict(arguments)
    name, seed, device = given.pop("name", None), given.pop("seed", None), given.pop("device", None)
    if name is not None and not (isinstance(name, str) and is_name(name)):
        raise GraphEditError(
            f"{op}: name is {format_value(name)}. Use a Python name, such as turned."
        )
    if seed is not None and not WHOLE.fits(seed):
        raise GraphEditError(f"{op}: seed is {format_value(seed)}. Use an integer, or omit it.")
    nodes = [_as_node(op, index, value, catalog) for index, value in enumerate(inputs)]
    fed = {spec.input(index).name: value for index, value in enumerate(nodes)}
    if len(nodes) > max(spec.max_inputs, len(spec.inputs)):
        raise GraphEditError(
            f"{op} received {len(nodes)} inputs; at most {spec.max_inputs} are allowed. "
            f"Pass its arguments by name: {', '.join(spec.args)}."
        )
    ports = {port.name for port in spec.inputs}
    for key in [key for key in given if key in ports and key not in spec.args]:
        fed[key] = _as_node(op, key, given.pop(key), catalog)
    _require_known(spec, given)
    linked = {key: value for key, value in given.items() if isinstance(value, DataNode)}
    if op == _BLUR:
        _warn_of_range(given.get("sigma"))
    fixed = {
        key: plain_value(value, f"{op}.{key}")
        for key, value in given.items()
        if key not in linked and value is not None
    }
    graph = onto or _common_graph([value.graph for value in (*fed.values(), *linked.values())])
    if name is not None and (graph.whole.has(name) or name in graph.outputs):
        what = "a node" if graph.whole.has(name) else "an output"
        raise GraphEditError(f"{op}: the graph already has {what} {name!r}. Use another name.")
    found: dict[str, Port] = {}
    for key, value in fed.items():
        graph, found[key] = merged_graph(graph, catalog, value)
    node = Node(
        free_id(graph, name or default_id(op)),
        op,
        fixed,
        found,
        device=device,
        seed=(free_seed(graph) if seed is None else seed) if spec.seeded else seed,
    )
    graph = replace(graph, nodes=(*graph.nodes, node))
    for key, value in linked.items():
        graph, found[key] = merged_graph(graph, catalog, value, key)
    node = replace(node, inputs=found)
    others = [each for each in graph.nodes if each.id != node.id]
    graph = replace(graph, nodes=(*others, node))
    require_sound_node(graph, catalog, node.id)
    names = neutral_arguments(node)
    if names and names.isdisjoint(node.args) and not _DEFERRED.get():
        warn_caller(f"{op} does not change the images. Set {' or '.join(names)}.")
    made = tuple(DataNode(graph, port) for port in output_ports(graph.node(node.id), spec))
    return made[0] if len(made) == 1 else made


def _common_graph(graphs: Sequence[Graph]) -> Graph:
    """Return the graph to which a node with inputs from ``graphs`` is added.

    This is the first graph or, if one of the graphs is an unfinished body, the innermost body.
    """
    inner = max(graphs, key=lambda each: each.scope.count("."), default=Graph())
    if inner.scope:
        others = [each for each in graphs if each.scope != inner.scope]
        if any(each.whole.has(block_of(inner.scope)) for each in others):
            return graphs[0]  # the block is finished, and outputs those of its bodies
    return inner


def _as_node(op: str, place: int | str, value: Any, catalog: Catalog) -> DataNode:
    if isinstance(value, DataNode):
        return value
    if isinstance(value, Graph):
        return main_output(value, catalog)[1]
    named = next(iter(catalog[op].args), "")
    fix = f"Pass arguments by name: {op}({named}=...)" if named else "Pass an image"
    if op.startswith("random."):
        raise GraphEditError(f"{op} received {format_value(value)} without a name. {fix}.")
    fix = fix if place else "Pass an image"
    raise GraphEditError(
        f"{op}: input {place} is {format_value(value)}. {fix}; inputs are "
        "outputs of nodes, such as graph.images."
    )


_BLUR = "gaussian_blur"


def _warn_of_range(sigma: object) -> None:
    """Warn about a tuple that may be meant as a range. DALI reads it as one value per axis."""
    if isinstance(sigma, tuple) and len(sigma) == 2 and sigma[0] != sigma[1]:
        warn_caller(
            f"{_BLUR}.sigma is {sigma}: {sigma[0]} vertically, {sigma[1]} horizontally. Use "
            f"wb.random.uniform(range={sigma}) for a random value, or a list if this is meant."
        )


def _require_known(spec: OpSpec, arguments: Mapping[str, Any]) -> None:
    for key in arguments:
        if key in spec.args:
            continue
        hint = spec.argument_hint(key)
        raise UnknownNameError(f"{spec.name} has no argument {key!r}. {hint}")


_CROPS = ("crop", "crop_h", "crop_w")
_TYPES = {"dtype", "output_dtype"}
_DEFERRED = ContextVar("deferred", default=False)


@contextmanager
def deferred_checks() -> Iterator[None]:
    """Context manager that skips checks of single nodes; the caller must check the whole graph.

    Checking one node processes the whole graph, which is slow with hundreds of nodes.
    """
    token = _DEFERRED.set(True)
    try:
        yield
    finally:
        _DEFERRED.reset(token)


def require_sound_node(graph: Graph, catalog: Catalog, node_id: str) -> None:
    """Raise GraphFaultsError if the node has faults."""
    if _DEFERRED.get():
        return
    faults = [fault for fault in check_graph(graph.whole, catalog) if fault.node == node_id]
    if faults:
        raise GraphFaultsError(faults)


def neutral_arguments(node: Node) -> KeysView[str]:
    """Return the arguments whose values make a node ineffective; empty if it has an effect."""
    spec, form = load_catalog()[node.op], FUSED_FORMS.get(node.op)
    crops = {name: spec.args[name].default for name in _CROPS} if node.op == "crop" else {}
    neutral = {**form.neutral} if form else crops
    known = {name: value for name, value in neutral.items() if name in spec.args}
    same = all(node.args.get(n, spec.args[n].default) == value for n, value in known.items())
    if not same or known.keys() & node.inputs.keys() or _TYPES & node.args.keys():
        known = {}
    return known.keys()


def warn_if_unchanged(block: Node, op: str) -> None:
    """Warn about a block whose bodies do not change the images.

    ``op`` is the operator to name in the message, or empty if the user passed functions.
    """
    nodes = [node for body in block.bodies.values() for node in body.nodes]
    names = [neutral_arguments(node) for node in nodes]
    if _DEFERRED.get() or not all(names):
        return
    if any(each.isdisjoint(node.args) for each, node in zip(names, nodes, strict=True)):
        return  # there is a warning for the operator itself
    fix = "Apply an operator in a function: lambda x: x.rotate(angle=5)."
    if op:
        fix = f"Set {' or '.join(names[0])} of {op}."
    warn_caller(f"{block.id} does not change the images. {fix}")


_DATA_TYPE = re.compile(r"u?int\d+|float\d+|bool")


def plain_value(value: Any, name: str = "") -> Value:
    """Convert NumPy numbers, arrays and enum members to the types that a graph stores.

    ``name`` is the argument's name in the error message.
    """
    if isinstance(value, bool | str):
        return value
    if "dtype" in {each.__name__ for each in type(value).__mro__} or isinstance(value, type):
        found = _DATA_TYPE.search(getattr(value, "__name__", str(value)))
        if found:
            return found[0].upper().replace("FLOAT32", "FLOAT")
    elif hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain_value(item, name) for item in value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if hasattr(type(value), "__members__"):  # a member of nvidia.dali.types
        return str(value.name)
    fix = "Use a number, a string, a list of these, or a node's output."
    if hasattr(value, "spec"):
        fix = f"Call it: {value.__name__}(...)."
    elif value is None:
        fix = f"Use reset({name.rpartition('.')[2]!r}) for the default."
    what = f"{name}: " if name else ""
    raise GraphEditError(f"{what}{format_value(value)} is not a valid argument value. {fix}")


def main_output(graph: Graph, catalog: Catalog) -> tuple[str, DataNode]:
    """Return the name and value of the output to which graph methods apply operators.

    Raises GraphEditError unless there is one image or, without images, encoded images.
    """
    typed = TypedGraph(graph, catalog)
    names = list(typed.images)
    if not names:
        encoded = {name for name, port in graph.outputs.items() if typed.kind(port) == "encoded"}
        names = [name for name in graph.outputs if name in encoded - {"encoded"}]
    if len(names) > 1:
        raise GraphEditError(
            f"The graph outputs several images: {', '.join(names)}. Call operators on one of "
            f"them, such as graph.{names[0]}, and combine the results with wb.outputs."
        )
    if not names:
        if "encoded" in graph.outputs:
            raise GraphEditError("The images are encoded. Call decode() first: graph.decode().")
        known = ", ".join(graph.outputs) or "nothing"
        raise GraphEditError(f"The graph outputs no image, only {known}. Add an image output.")
    return names[0], DataNode(graph, graph.outputs[names[0]])


# Merge a value of one graph into another, sharing the nodes that both contain.
#
# Two nodes are the same if one call created both (``Graph.origins``) and their operation and
# dependencies are still equal. So a random value used in two calls is sampled once, and two similar
# calls are sampled separately.


def merged_graph(
    graph: Graph, catalog: Catalog, value: DataNode, preferred: str = ""
) -> tuple[Graph, Port]:
    """Merge a value's dependencies into a graph; return the graph and the value's port in it.

    A new generator without an explicit name gets the id ``preferred``: the argument that it feeds.
    Its seed is preserved unless another node has the same seed. Values from outside a block are
    routed into it. Raises GraphEditError for values created inside another block, and for values
    read from other data.
    """
    if value.graph is graph:
        return graph, value.port
    merger = _Merger(graph, catalog, value.graph)
    merger.whole = replace(merger.whole, datasets=_joined_data(merger.whole, value.graph.whole))
    taken = merger.take(value.port, graph.scope, preferred)
    return merger.whole.at_scope(graph.scope), taken


def _joined_data(graph: Graph, other: Graph) -> Datasets | None:
    """Return the data of two graphs by parameter name.

    Raises GraphEditError if a parameter has different data in the two graphs.
    """
    datasets = graph.datasets or {}
    for name, dataset in (other.datasets or {}).items():
        kind = load_source(dataset.kind)
        if name in datasets and kind.identity(datasets[name]) != kind.identity(dataset):
            raise GraphEditError(
                f"Two data sets, {datasets[name]} and {dataset}, are both named {name!r}. To read "
                "both, name one of them: wb.read({'others': DATA})."
            )
    return {**(other.datasets or {}), **datasets} or None


class _Merger:
    """Merges ports of another graph, with their dependencies, into the graph ``whole``."""

    def __init__(self, graph: Graph, catalog: Catalog, other: Graph) -> None:
        self.whole = graph.whole
        self._other = other.whole
        self._catalog = catalog
        self._ids: dict[str, str] = {}
        """Maps ids in the other graph to ids of their copies, or to "" if there is no copy."""

    def take(self, port: Port, scope: str, preferred: str = "") -> Port:
        """Merge a port, and return the port that represents it in the body ``scope``."""
        if not self._other.has(port.node):
            if port.node == scope and port.output in self.whole.body_at(scope).inputs:
                return port
            outer = self._other.feeding(port)
            if outer is None:
                raise GraphEditError(
                    f"{port} changes in each iteration, so it cannot be used outside its block. "
                    "Use an output of the block."
                )
            return self.take(outer, scope)
        node = self._other.node(port.node)
        node_id = self._existing_copy(node) or self._add(node, scope, preferred)
        self.whole, led = route_into_body(
            self.whole, self._catalog, Port(node_id, port.output), scope
        )
        return led

    def _existing_copy(self, node: Node) -> str:
        """Return the id of a node's existing copy, or an empty string if there is none."""
        if node.id not in self._ids:
            made = origin(self._other, node.id)
            ids = [node.id, made.id, *self.whole.origins]
            same = (
                each
                for each in dict.fromkeys(ids)
                if self.whole.has(each)
                and origin(self.whole, each) is made
                and self._is_copy(self.whole.node(each), node)
            )
            self._ids[node.id] = next(same, "")
        return self._ids[node.id]

    def _is_copy(self, copy: Node, node: Node) -> bool:
        same = (copy.op, copy.args, copy.device, copy.muted, copy.bodies) == (
            *(node.op, node.args, node.device, node.muted, node.bodies),
        )
        if not same or copy.inputs.keys() != node.inputs.keys():
            return False
        for name, port in node.inputs.items():
            made = origin_of(self._other, self._catalog, port, through_changes=True)
            found = origin_of(self.whole, self._catalog, copy.inputs[name], through_changes=True)
            if not self._other.has(made.node):
                if made != found:
                    return False
            elif Port(self._existing_copy(self._other.node(made.node)), made.output) != found:
                return False
        return True

    def _add(self, node: Node, scope: str, preferred: str) -> str:
        """Copy a node of the other graph with its dependencies, and return the id of the copy.

        The copy is added to the same body; a node without inputs is added to the body that uses it.
        """
        there = self._other.scope_of(node.id)
        place = there if self._other.sources else scope
        if not _encloses(self.whole, place, scope):
            raise GraphEditError(
                f"{node.id!r} is inside {block_of(there)!r} and cannot be used outside it. Use an "
                "output of the block."
            )
        spec = self._catalog.find(node.op)
        unnamed = node.id.rstrip("0123456789_") == default_id(node.op)
        generates = spec is not None and is_generator(spec)
        named = replace(node, id=preferred) if preferred and unnamed and generates else node
        free = node.seed not in {each.seed for each in self.whole.walk()}
        body, ids = add_nodes(self.whole.at_scope(place), Graph(nodes=(named,)))
        node_id = self._ids[node.id] = ids[named.id]
        known = {each.dataset for each in self.whole.sources}
        paired = isinstance(node, Source) and node.dataset not in known
        if free or paired:  # the caller may have set it, and data of one order belong together
            body = body.replace_node(replace(body.node(node_id), seed=node.seed))
        origins = {**body.origins, node_id: origin(self._other, node.id)}
        self.whole = replace(body, origins=origins).whole
        fed = {name: self.take(port, place) for name, port in node.inputs.items()}
        self.whole = self.whole.replace_node(replace(self.whole.node(node_id), inputs=fed))
        return node_id


def origin(graph: Graph, node_id: str) -> Node:
    """Return the node that a node was copied from, or the node itself if it is not a copy."""
    return graph.origins.get(node_id, graph.node(node_id))


def _encloses(graph: Graph, place: str, scope: str) -> bool:
    """Return whether the body ``place`` equals or contains the body ``scope``."""
    while scope != place and scope:
        scope = graph.scope_of(block_of(scope))
    return scope == place
