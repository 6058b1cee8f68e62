"""Recognise images that are mixed with another image of their batch.

Supports the forms of mixing in the templates ``mixup`` and ``cutmix``, even if the user composed
them. ``other`` is the batch in a different order. The first form is a blend, ``image * share +
other * (1 - share)``. The second form replaces a window of each image with that of ``other``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

from workbench.catalog.spec import PortKind
from workbench.graph.model import Graph, Node, Port

if TYPE_CHECKING:
    from workbench.graph.annotations.geometry import GeometryPath

_CASTS = ("cast", "cast_like")
_WINDOW_ARGS = {"normalized": True, "axis_names": "HW", "fill_value": 0}


@dataclass(frozen=True, slots=True)
class Mix:
    """An operation that mixes each image with another image of its batch."""

    source: Port
    """Port of the images before mixing."""
    order: Port
    """Port with the index of the image that is mixed into each image."""
    share: Port | None = None
    """Port with the weight of the original image in a blend, from 0 to 1."""
    window: tuple[Port, Port] | None = None
    """Ports with the start and extent (y, x) of the replaced window, relative to the image size."""

    @property
    def ports(self) -> list[Port]:
        """All ports that determine how annotations are mixed."""
        more = [self.share] if self.share else list(self.window or ())
        return [self.source, self.order, *more]


MIXING = "permute_batch"
"""Operator that permutes a batch. Every supported form of mixing uses it."""


def mix_of(graph: Graph, node: Node) -> Mix | None:
    """Return the mix that a sum computes, or None if the sum is not a supported form of mixing."""
    if node.op != "math.add" or len(node.inputs) != 2:
        return None
    parts = [_producer(graph, port) for port in node.inputs.values()]
    for own, other in permutations(parts):
        if own is not None and other is not None:
            found = _blend(graph, own, other) or _window(graph, own, other)
            if found is not None:
                return found
    return None


def _producer(graph: Graph, port: Port | None) -> Node | None:
    """Return the node that outputs a port, skipping casts."""
    seen: set[Port] = set()  # casts may feed each other in a faulty graph
    while port is not None and port not in seen and graph.has(port.node):
        seen.add(port)
        node = graph.node(port.node)
        if node.op not in _CASTS:
            return node
        port = next(iter(node.inputs.values()), None)
    return None


def _blend(graph: Graph, own: Node, other: Node) -> Mix | None:
    parts = (own, other)
    if any(each.op != "math.mul" or len(each.inputs) != 2 for each in parts):
        return None  # one operand may be a number: images * 0.7
    for image, share in permutations(own.inputs.values()):
        for mixed, rest in permutations(other.inputs.values()):
            order = _permutation(graph, mixed, image)
            if order is not None and (
                _is_complement(graph, rest, share) or _is_complement(graph, share, rest)
            ):
                return Mix(image, order, share=share)
    return None


def _is_complement(graph: Graph, rest: Port, share: Port) -> bool:
    """Return whether the port ``rest`` is 1 minus the port ``share``."""
    node = graph.node(rest.node) if graph.has(rest.node) else None
    given = node is not None and node.op == "math.sub" and node.args.get("left") == 1
    return given and node is not None and list(node.inputs.values()) == [share]


def _window(graph: Graph, own: Node, other: Node) -> Mix | None:
    if own.op != "erase" or other.op != "math.sub" or len(other.inputs) != 2:
        return None
    image, anchor, extent = (own.inputs.get(name) for name in ("data", "anchor", "shape"))
    mixed, outside = other.inputs.values()
    around = _producer(graph, outside)
    order = _permutation(graph, mixed, image)
    if order is None or image is None or anchor is None or extent is None or around is None:
        return None
    same = around.op == "erase" and around.args == own.args
    same &= around.inputs == {**own.inputs, "data": mixed}
    known = all(_args_of(own).get(name) == value for name, value in _WINDOW_ARGS.items())
    return Mix(image, order, window=(anchor, extent)) if same and known else None


def _args_of(node: Node) -> dict[str, object]:
    """Return a node's arguments with defaults; one-element tuples are converted to numbers."""
    given = {"axis_names": "HW", "fill_value": 0, **node.args}
    return {n: v[0] if isinstance(v, tuple) and len(v) == 1 else v for n, v in given.items()}


def _permutation(graph: Graph, mixed: Port, image: Port | None) -> Port | None:
    """Return the port of the indices that permute ``image`` into ``mixed``, or None."""
    node = _producer(graph, mixed)
    if node is None or node.op != MIXING or node.inputs.get("data") != image:
        return None
    return node.inputs.get("indices")


def cannot_follow_reason(path: GeometryPath, target: PortKind) -> tuple[str, str]:
    """Return the node and the reason why annotations cannot follow a mix, or empty strings."""
    mixed = False
    for step in path.steps:
        if step.bodies and mixed:
            return step.node.id, _MIXED_BEFORE
        if step.mix is None:
            continue
        mixed = True
        if target == "points":
            return step.node.id, _POINTS_MIXED
        if target == "label":
            return step.node.id, _CLASSES_MIXED
        if target == "mask" and step.mix.share is not None:
            return step.node.id, _MASK_BLENDED
        if target == "mask" and path.lacks_mask_call:
            return step.node.id, _MASK_UNCALLED
    return "", ""


_MIXED_BEFORE = (
    "images were mixed before it, and a block does not support annotations of two "
    "images. Mix the images after it"
)
_POINTS_MIXED = (
    "it mixes two images, after which the image of a point is unknown. Use points from before it"
)
_CLASSES_MIXED = (
    "it mixes two images, which have a class each. Connect an image from before it, and mix the "
    "classes with follow_labels"
)
_MASK_BLENDED = (
    "it blends two images, so a pixel would belong to both classes. Use masks from "
    "before it, or copy a window from the other image, as CutMix does"
)
_MASK_UNCALLED = (
    "the decoder has cropped, and masks would need a single map that ends before the "
    "mix. Decode whole images, and crop after it"
)
