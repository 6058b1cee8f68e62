"""Warn if left and right annotations are not swapped, or if annotations may be covered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workbench.graph.annotations.geometry import value_of
from workbench.graph.model.faults import Fault
from workbench.graph.types.typed_graph import TypedGraph
from workbench.names import side_pairs
from workbench.sources import DataFacts, load_source

_MIRRORS = {
    "flip": ("horizontal", "vertical", "depthwise"),
    "crop_mirror_normalize": ("mirror",),
    "resize_crop_mirror": ("mirror",),
    "fast_resize_crop_mirror": ("mirror",),
}
"""Operators that mirror an image, with the arguments that enable mirroring."""


def covering_warnings(typed: TypedGraph) -> Iterator[Fault]:
    """Warn about operators that cover pixels if the graph outputs boxes, points or masks."""
    kinds = {typed.kind(port) for port in typed.graph.outputs.values()}
    declared = {node.op for node in typed.graph.walk() if "covered" in node.args}
    kinds -= {kind for kind in kinds if f"follow_{kind}" in declared}
    annotations = [kind for kind in ("boxes", "points", "mask") if kind in kinds]
    if not annotations:
        return
    followers = [f"follow_{kind}" for kind in annotations if kind != "mask"]
    for node in typed.graph.walk():
        spec = typed.catalog.find(node.op)
        if spec is not None and spec.category == "occlusion":
            listed = " and ".join(annotations).replace("mask", "masks")
            words = f"{node.op} covers pixels, and {listed} under it are output as if visible"
            remedy = f"Set 'covered' of {' and '.join(followers)}, or remove {node.id!r}."
            yield Fault(node.id, "", words, remedy if followers else _REMOVE, "covered")


_REMOVE = "Remove it if covered objects must not be annotated."


def side_warnings(typed: TypedGraph, facts: Mapping[str, DataFacts]) -> Iterator[Fault]:
    """Warn about mirroring if left and right key points or classes are not swapped."""
    unswapped = _unswapped(typed, facts)
    if unswapped is None:
        return
    what, remedy, about = unswapped
    for node in typed.graph.walk():
        names = _MIRRORS.get(node.op, ())
        mirrors = [n for n in names if n in node.inputs or value_of(node, typed.spec(node), n)]
        if mirrors:
            yield Fault(
                node.id, mirrors[0], f"it mirrors images, but {what}", remedy, "sides", about
            )


def _unswapped(typed: TypedGraph, facts: Mapping[str, DataFacts]) -> tuple[str, str, str] | None:
    """Return what no follower swaps, a fix, and three lines of text: follower, names and pairs.

    The names and pairs that the follower could swap are separated by tabs.
    """
    kinds = {typed.kind(port) for port in typed.graph.outputs.values()}
    nodes = [*typed.graph.walk()]
    declared = {node.op for node in nodes if "pairs" in node.args}
    points = [name for each in facts.values() for name in each.key_points]
    if "points" in kinds and "follow_points" not in declared:
        if pairs := side_pairs(points):
            return _names_with_side("follow_points", pairs, points)
        if not facts and any(load_source(each.kind).has_key_points for each in typed.graph.sources):
            what = "left and right key points are not swapped, because their names are unknown"
            remedy = "Export with --data, or set pairs of follow_points (none: nothing is swapped)."
            return what, remedy, "follow_points"
    pairs = side_pairs([name for each in facts.values() for name in each.names])
    if pairs and "mask" in kinds and "follow_masks" not in declared:
        return _names_with_side("follow_masks", pairs, ())
    swapping = [op for op in ("follow_boxes", "follow_classes") if op in declared]
    if pairs and not swapping and "label" in kinds:
        boxes = "boxes" in kinds or any(node.op == "follow_boxes" for node in nodes)
        return _names_with_side("follow_boxes" if boxes else "follow_classes", pairs, ())
    return None


def _names_with_side(
    op: str, pairs: Sequence[tuple[str, str]], names: Sequence[str]
) -> tuple[str, str, str]:
    left, right = pairs[0]
    what = f"names with a side are not swapped: {left!r} and {right!r}"
    remedy = f"Set pairs of {op} to {left}={right} and so on, or to none."
    return what, remedy, "\n".join([op, "\t".join(names), "\t".join(map("=".join, pairs))])
