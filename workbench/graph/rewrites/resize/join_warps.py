"""Affine warps in a row as one, and rotations that keep the size.

``warp_affine(warp_affine(x, A), B)`` becomes ``warp_affine(x, A B)``: matrices lead from a pixel of
what comes out to one of what goes in (``inverse_map``), so the second is asked first. Matrices that
are fed are joined by ``transforms.combine``. Rotations add their angles. Near: pixels are read
between others once, not twice, and what the first would have cut off is still there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.catalog.spec import Catalog, Value
from workbench.graph.edits.edit import free_id
from workbench.graph.model import Graph, Node, Port
from workbench.graph.rewrites import Rewrite
from workbench.graph.rewrites._places import given, is_given, is_value, joined, pairs, with_given

_SHARED = ("fill_value", "interp_type", "keep_size")


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for op, join in (("warp_affine", _one_warp), ("rotate", _one_rotation)):
        for first, second in pairs(graph, catalog, {op}, {op}):
            same = given(first, *_SHARED) == given(second, *_SHARED)
            if same and not is_given(first, "size", "dtype", "output_dtype", "axis"):
                yield from join(graph, catalog, first, second)


def _one_warp(graph: Graph, catalog: Catalog, first: Node, second: Node) -> Iterator[Graph]:
    if not all(is_value(node, catalog, "inverse_map", True) for node in (first, second)):
        return
    one, other = (_fixed_matrix(node) for node in (first, second))
    if one is not None and other is not None:
        matrix = tuple(float(value) for value in (one @ other)[:2].ravel())
        made = with_given(second, {"matrix": matrix})
        yield joined(graph, catalog, first, second, made)
    links = [given(node, "mtx", "matrix") for node in (first, second)]
    ports = [next(iter(each.values()), None) for each in links]
    if isinstance(ports[0], Port) and isinstance(ports[1], Port):
        both = Node(
            free_id(graph, "combine"), "transforms.combine", {}, _fed(catalog, ports[1], ports[0])
        )
        name = next(iter(links[1]))
        made = with_given(second, {name: Port(both.id, "output")})
        joint = joined(graph, catalog, first, second, made)
        yield replace(joint, nodes=(*joint.nodes, both))


def _fed(catalog: Catalog, *ports: Port) -> dict[str, Port]:
    spec = catalog["transforms.combine"]
    return {spec.input(place).name: port for place, port in enumerate(ports)}


def _fixed_matrix(node: Node) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    value = node.args.get("matrix")
    if not isinstance(value, tuple) or len(value) != 6 or "mtx" in node.inputs:
        return None
    return np.array([*value, 0.0, 0.0, 1.0], float).reshape(3, 3)


def _one_rotation(graph: Graph, catalog: Catalog, first: Node, second: Node) -> Iterator[Graph]:
    if not all(is_value(node, catalog, "keep_size", True) for node in (first, second)):
        return
    if is_given(second, "size", "axis"):
        return
    one, other = (given(node, "angle").get("angle") for node in (first, second))
    if one is None or other is None:
        return
    if not isinstance(one, Port) and not isinstance(other, Port):
        angle = _number(one) + _number(other)
        yield joined(graph, catalog, first, second, with_given(second, {"angle": angle}))
        return
    total = Node(free_id(graph, "total"), "math.add")
    ports = [each for each in (one, other) if isinstance(each, Port)]
    total = with_given(total, dict(zip(("data", "other"), ports, strict=False)))
    if len(ports) == 1:
        fixed = _number(other if isinstance(one, Port) else one)
        total = with_given(total, {"right": fixed, "constant_type": "FLOAT"})
    made = with_given(second, {"angle": Port(total.id, "output")})
    joint = joined(graph, catalog, first, second, made)
    yield replace(joint, nodes=(*joint.nodes, total))


def _number(value: Value | Port) -> float:
    return float(value) if isinstance(value, int | float) else float("nan")


REWRITE = Rewrite("Warps joined", _sites)
