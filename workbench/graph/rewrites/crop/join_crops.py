"""Two crops, or two slices, in a row as one.

``crop(crop(x))`` becomes the second alone where that window is the same one. Exact: DALI puts a
window of ``h`` rows of ``H`` at ``round(p * (H - h))``. With ``p`` 0 or 1 in both the anchors add
up to that of the second. So they do with ``p`` 0.5 where the second cuts off an even number of
what the first leaves: a half of it is whole and goes through the rounding. Slices with starts in
pixels add them.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import Catalog, Value
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._pixelwise import chooses_pixels
from workbench.graph.rewrites._places import is_given, is_value, joined, pairs, with_given

_POSITIONS = ("crop_pos_y", "crop_pos_x")


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    for op, join in (("crop", _one_crop), ("slice", _one_slice)):
        for first, second in pairs(graph, catalog, {op}, {op}):
            if all(chooses_pixels(graph, catalog, node) for node in (first, second)):
                made = join(catalog, first, second)
                if made is not None:
                    yield joined(graph, catalog, first, second, made)


def _one_crop(catalog: Catalog, first: Node, second: Node) -> Node | None:
    outer, inner = _size(first), _size(second)
    rounds = all(is_value(node, catalog, "rounding", "round") for node in (first, second))
    if outer is None or inner is None or not rounds:
        return None
    for name, left, kept in zip(_POSITIONS, outer, inner, strict=True):
        whole = all(is_value(node, catalog, name, 0.0) for node in (first, second)) or all(
            is_value(node, catalog, name, 1.0) for node in (first, second)
        )
        halves = all(is_value(node, catalog, name, 0.5) for node in (first, second))
        if left < kept or not (whole or (halves and (left - kept) % 2 == 0)):
            return None
    return second


def _size(crop: Node) -> tuple[int, int] | None:
    """Rows and columns that a crop leaves, where both are fixed."""
    size: Value = crop.args.get("crop", ())
    if is_given(crop, "crop_d"):
        return None
    if "crop" not in crop.args and "crop" not in crop.inputs:
        size = (crop.args.get("crop_h", 0), crop.args.get("crop_w", 0))
    found = size if isinstance(size, tuple) else (size,)
    whole = [int(each) for each in found if isinstance(each, int | float) and each >= 1]
    if len(whole) != 2 or [float(each) for each in whole] != [*found]:
        return None
    return whole[0], whole[1]


def _one_slice(catalog: Catalog, first: Node, second: Node) -> Node | None:
    known = {"start", "shape", "axes", "axis_names", "out_of_bounds_policy"}
    for node in (first, second):
        if not node.args.keys() <= known or len(node.inputs) != 1:
            return None
    same = all(first.args.get(name) == second.args.get(name) for name in ("axes", "axis_names"))
    starts = [node.args.get("start") for node in (first, second)]
    outer, inner = first.args.get("shape"), second.args.get("shape")
    numbers = [each if isinstance(each, tuple) else () for each in (*starts, outer, inner)]
    ints = all(isinstance(number, int) for each in numbers for number in each)
    if not same or not ints or len({len(each) for each in numbers}) != 1 or not numbers[0]:
        return None
    begin = tuple(int(a) + int(b) for a, b in zip(numbers[0], numbers[1], strict=True))  # type: ignore[arg-type]
    return with_given(second, {"start": begin})


REWRITE = Rewrite("Crops joined", _sites, EVERYWHERE)
