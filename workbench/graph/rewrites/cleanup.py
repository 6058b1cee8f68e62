"""Remove nodes, merge them, or replace them by a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from workbench.catalog.extra_operators import FUSED_FORMS
from workbench.catalog.spec import ArgSpec, Value
from workbench.graph.edits.edit import without_idle_generators
from workbench.graph.execution.active import without_loose
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import topological
from workbench.graph.model.ports import output_ports
from workbench.graph.rewrites import EVERYWHERE, rewrite
from workbench.graph.rewrites._body_edits import (
    bypass,
    has_args,
    input_type,
    is_value,
    merge_nodes,
    output_of,
    pairs,
    with_args,
)
from workbench.graph.types.typed_graph import TypedGraph


@rewrite("Remove unused nodes", exact_on=EVERYWHERE)
def dead_nodes(typed: TypedGraph) -> Iterator[Graph]:
    """Nodes that no output depends on are removed.

    This includes unused nodes, which do not run anyway, and unused outputs of blocks, which DALI
    computes in every branch. Exact: each node has its own seed, so the random values of other nodes
    are unchanged.
    """
    graph = typed.graph
    for block in graph.nodes:
        if block.bodies and not block.muted and not typed.spec(block).consecutive:
            needed = _read_outputs(graph, block)
            given = {name for body in block.bodies.values() for name in body.outputs}
            if needed and given - needed:
                yield graph.replace_node(_with_outputs(block, needed))
    if not graph.scope:
        left = without_loose(graph)
        if left is not graph:
            yield left


def _read_outputs(graph: Graph, block: Node) -> set[str]:
    return {port.output for port in graph.body.used_ports if port.node == block.id}


def _with_outputs(block: Node, names: set[str]) -> Node:
    bodies = {
        key: replace(body, outputs={n: p for n, p in body.outputs.items() if n in names})
        for key, body in block.bodies.items()
    }
    return replace(block, bodies=bodies)


@rewrite("Compute equal nodes once", exact_on=EVERYWHERE)
def equal_nodes(typed: TypedGraph) -> Iterator[Graph]:
    """Nodes that compute the same values are computed once.

    Of two nodes with equal operator, arguments, inputs, device and seed the second is removed, and
    its consumers use the first. Exact: these properties determine the output of an operator.
    Excludes readers, which output different samples each time, and user functions and automatic
    augmentation, which may have their own random values.
    """
    known: dict[Any, list[Node]] = {}
    for node in topological(typed.graph)[0]:
        if not _is_deterministic(typed, node):
            continue
        alike = known.setdefault((node.op, node.seed, frozenset(node.inputs.items())), [])
        same = next((other for other in alike if replace(node, id=other.id) == other), None)
        if same is None:
            alike.append(node)
            continue
        left = tuple(other for other in typed.graph.nodes if other.id != node.id)
        spec = typed.spec(node)
        ports: Mapping[Port, Port] = {
            port: port._replace(node=same.id) for port in output_ports(node, spec)
        }
        yield replace(typed.graph, nodes=left).rewire(ports)


def _is_deterministic(typed: TypedGraph, node: Node) -> bool:
    """Return whether a node's arguments, inputs and seed determine its output."""
    spec = typed.catalog.find(node.op)
    if spec is None or spec.unusable or node.bodies or node.muted or isinstance(node, Source):
        return False
    unseeded = spec.seeded and node.seed is None
    return not (spec.reads or spec.module or spec.category == "general" or unseeded)


@rewrite("Constants folded", exact_on=EVERYWHERE)
def fold_constants(typed: TypedGraph) -> Iterator[Graph]:
    """Random values and constants that are always equal become fixed values.

    A coin flip with probability 0 or 1, a choice from one value and ``constant`` output the same
    number for every sample. It becomes a fixed argument of their consumers. Exact: the value is
    equal, and no other node uses that seed.
    """
    found = ((node.id, _constant(node)) for node in typed.graph.nodes)
    constants = {node_id: value for node_id, value in found if value is not None}
    for node in typed.graph.nodes:
        spec = typed.catalog.find(node.op)
        for name, port in node.inputs.items():
            arg = spec.args.get(name) if spec else None
            if arg is not None and port.node in constants:
                value = _as_kind(arg, constants[port.node])
                if value is not None:
                    folded = typed.graph.replace_node(with_args(node, {name: value}))
                    yield without_idle_generators(folded, typed.catalog, node)


def _constant(node: Node) -> float | None:
    """Return the number that a node outputs for all samples, or None if the samples differ."""
    if node.muted or has_args(node, "shape", "dtype") or node.inputs:
        return None
    if node.op == "random.coin_flip":
        probability = node.args.get("probability", 0.5)
        return int(probability) if probability in (0, 1) else None
    if node.op == "random.uniform":
        return _only_value(node.args.get("values"))
    if node.op == "constant":
        names = [name for name in ("fdata", "idata") if name in node.args]
        value = _only_value(node.args[names[0]]) if len(names) == 1 else None
        return int(value) if value is not None and names == ["idata"] else value
    return None


def _only_value(value: Value | None) -> float | None:
    items = value if isinstance(value, tuple) else (value,)
    number = items[0] if len(items) == 1 else None
    return float(number) if isinstance(number, int | float) else None


def _as_kind(arg: ArgSpec, value: float) -> Value | None:
    """Convert a number to the argument's kind, or return None if it is not accepted."""
    if arg.kind in ("int", "bool") and isinstance(value, int):
        return bool(value) if arg.kind == "bool" else value
    if arg.kind == "float" and not isinstance(value, int):
        return value
    return None


_BYTES = {"INT16", "INT32", "INT64", "FLOAT16", "FLOAT", "FLOAT64"}
_HOLDS = {
    "UINT8": _BYTES | {"UINT16", "UINT32", "UINT64"},
    "INT8": _BYTES,
    "UINT16": {"UINT32", "UINT64", "INT32", "INT64", "FLOAT", "FLOAT64"},
    "INT16": {"INT32", "INT64", "FLOAT", "FLOAT64"},
    "FLOAT16": {"FLOAT", "FLOAT64"},
    "FLOAT": {"FLOAT64"},
}
"""Element types that can represent all values of each element type."""


@rewrite("Casts joined", exact_on=EVERYWHERE)
def join_casts(typed: TypedGraph) -> Iterator[Graph]:
    """Consecutive casts become one: the last one.

    ``cast(cast(x, FLOAT), UINT8)`` becomes ``cast(x, UINT8)``, which is removed too if ``x`` has
    that type (``neutral-nodes``). Exact if the first type represents every value of ``x``: then the
    second cast rounds and saturates the same numbers.
    """
    for first, second in pairs(typed, {"cast"}, {"cast"}):
        dtype = input_type(typed, first).dtype
        if first.args.get("dtype") in _HOLDS.get(dtype or "", ()):
            yield merge_nodes(typed, first, second, second)


_ARITHMETIC = {"math.add": 0, "math.sub": 0, "math.mul": 1, "math.truediv": 1}


@rewrite("Remove operators without effect", exact_on=EVERYWHERE)
def neutral_nodes(typed: TypedGraph) -> Iterator[Graph]:
    """Operators without effect are removed.

    These are operators whose fixed arguments are neutral according to ``fused.toml`` (a test checks
    each row), ``copy``, a ``cast`` to the input's type, and arithmetic with 0 or 1 that keeps the
    input's type. Exact: they do not change any bit.
    """
    for node in typed.graph.nodes:
        if node.muted or node.device is not None or node.bodies or node.op not in typed.catalog:
            continue
        if "data" in node.inputs and is_neutral(typed, node):
            yield without_idle_generators(bypass(typed, node), typed.catalog, node)


def is_neutral(typed: TypedGraph, node: Node) -> bool:
    """Return whether a node outputs its input bit for bit."""
    flow = input_type(typed, node)
    if node.op == "copy":
        return True
    if node.op == "cast":
        return flow.dtype is not None and node.args.get("dtype") == flow.dtype
    if node.op in _ARITHMETIC:
        given = typed.types[output_of(typed, node)].dtype
        right = node.args.get("right")
        same = not isinstance(right, bool) and right == _ARITHMETIC[node.op]
        return same and len(node.inputs) == 1 and flow.dtype is not None and given == flow.dtype
    form = FUSED_FORMS.get(node.op)
    if form is None or has_args(node, "dtype", "output_dtype"):
        return False
    names = [name for name in form.neutral if name in typed.spec(node).args]
    return (
        all(is_value(typed, node, name, form.neutral[name]) for name in names)
        and all(is_value(typed, node, name, value) for name, value in form.requires.items())
        and (not form.types or flow.dtype in form.types)
    )
