"""Normalising by hand, an operator each, as one ``crop_mirror_normalize``.

``((cast(x, FLOAT) / 255) - m) / s``, with numbers or a number for each channel, and ``normalize``
with given mean and deviation become ``crop_mirror_normalize(x, mean=255 m, std=255 s,
output_layout="HWC")``; a transposition behind it can go in then (``axes-into-normalize``). Near:
the same number but for the last bits of a float. Only at the end, where the values are given out or
their axes turned: elsewhere what makes images smaller is to pass by first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import Catalog, Value
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import (
    data_name,
    exchanged,
    fed_by,
    flow_into,
    is_value,
    next_node,
    output_of,
)
from workbench.graph.types.shapes import infer_types

Factors = NDArray[np.float64]
"""A number, or one for each channel."""
Affine = tuple[Factors, Factors]
"""By what is multiplied, and what is added then."""
_OP = "crop_mirror_normalize"
_HELD = {"UINT8", "INT8", "UINT16", "INT16", "FLOAT"}
"""Whole numbers that a float holds, and floats."""
_FIXED = {"data", "mean", "stddev", "scale", "shift"}


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for last in graph.nodes:
        steps = _steps(graph, catalog, last)
        chain = [node for node, _ in steps]
        behind = next_node(graph, catalog, last)
        turned = behind is not None and behind.op == "transpose"
        if len(chain) + turned < 2 or (graph.consumers(last.id) and not turned):
            continue
        flow = flow_into(graph, catalog, chain[0])
        factor, addend = np.array([1.0]), np.array([0.0])
        for _, (times, plus) in steps:
            factor, addend = factor * times, addend * times + plus
        sizes = {factor.size, addend.size} - {1}
        if flow.layout == "HWC" and flow.dtype in _HELD and sizes <= {flow.channels}:
            yield _normalized(graph, catalog, chain, -addend / factor, 1 / factor)


def _steps(graph: Graph, catalog: Catalog, last: Node) -> list[tuple[Node, Affine]]:
    """The neighbours up to a node that are a factor and an addend each, the first first."""
    steps: list[tuple[Node, Affine]] = []
    node: Node | None = last
    while node is not None and (affine := _affine(graph, catalog, node)) is not None:
        steps.insert(0, (node, affine))
        node = fed_by(graph, catalog, node)
    return steps


def _affine(graph: Graph, catalog: Catalog, node: Node) -> Affine | None:
    """By what a node multiplies its floats and what it adds; None where it does something else."""
    if node.muted or node.device is not None or node.op not in catalog:
        return None
    if node.op == "cast":
        cast = is_value(node, catalog, "dtype", "FLOAT")
        return (np.array([1.0]), np.array([0.0])) if cast else None
    if node.op == "normalize":
        return _given_statistics(graph, node)
    if catalog[node.op].category != "arithmetic":
        return None
    floats = infer_types(graph, catalog)[output_of(node, catalog)].dtype == "FLOAT"
    return _operand(graph, node) if floats else None


def _operand(graph: Graph, node: Node) -> Affine | None:
    """Of arithmetic with something constant."""
    if node.inputs.keys() - {"data", "other"} or "data" not in node.inputs:
        return None
    turns = node.op in ("math.add", "math.mul")
    value = _numbers(graph, node, "other", "right", *(("left",) if turns else ()))
    if value is None:
        return None
    one, none = np.array([1.0]), np.array([0.0])
    match node.op:
        case "math.add":
            return one, value
        case "math.sub":
            return one, -value
        case "math.mul" if np.all(value > 0):
            return value, none
        case "math.truediv" if np.all(value > 0):
            return 1 / value, none
    return None


def _given_statistics(graph: Graph, node: Node) -> Affine | None:
    """Of ``normalize`` where it computes neither mean nor deviation from the image."""
    if not {*node.args, *node.inputs} <= _FIXED:
        return None
    mean, deviation = (_numbers(graph, node, name, name) for name in ("mean", "stddev"))
    scale, shift = (node.args.get(name, usual) for name, usual in (("scale", 1.0), ("shift", 0.0)))
    if mean is None or deviation is None or not np.all(deviation > 0):
        return None
    if not isinstance(scale, int | float) or not isinstance(shift, int | float) or scale <= 0:
        return None
    factor = scale / deviation
    return factor, shift - mean * factor


def _numbers(graph: Graph, node: Node, port: str, *args: str) -> Factors | None:
    """What a ``constant`` feeds to a port, or the number that one of the arguments has."""
    if port in node.inputs:
        return _constant(graph, node.inputs[port])
    values = [node.args[name] for name in args if name in node.args]
    if len(values) != 1 or isinstance(values[0], bool) or not isinstance(values[0], int | float):
        return None
    return np.array([float(values[0])])


def _constant(graph: Graph, port: Port) -> Factors | None:
    """A number, or one for each channel: extents of 1 but for the last."""
    node = next((each for each in graph.nodes if each.id == port.node), None)
    if node is None or node.op != "constant" or node.inputs or node.muted:
        return None
    names = [name for name in ("fdata", "idata") if name in node.args]
    if len(names) != 1:
        return None
    items, extents = _items(node.args[names[0]]), _items(node.args.get("shape", ()))
    if any(extent != 1 for extent in extents[:-1]) or not items:
        return None
    if len(items) not in (1, *extents[-1:]) or len(extents) > 3:
        return None
    return np.array(items, float)


def _items(value: Value) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def _normalized(
    graph: Graph, catalog: Catalog, chain: Sequence[Node], mean: Factors, deviation: Factors
) -> Graph:
    """With one operator in the place of the chain; it has the id of the last."""
    first, last = chain[0], chain[-1]
    args: dict[str, Value] = {
        "mean": tuple(map(float, mean)),
        "std": tuple(map(float, deviation)),
        "output_layout": "HWC",
    }
    made = Node(last.id, _OP, args, {"data": first.inputs[data_name(first, catalog)]})
    after = exchanged(graph, catalog, last, made, gone=[node.id for node in chain[:-1]])
    fed = {port.node for node in chain for port in node.inputs.values()}
    idle = {name for name in fed if graph.has(name) and not after.consumers(name)}
    return replace(after, nodes=tuple(node for node in after.nodes if node.id not in idle))


REWRITE = Rewrite("Normalising by hand in crop_mirror_normalize", _sites, tried_last=True)
