"""The formats of boxes and points, as sources write them and operators read them."""

from __future__ import annotations

from workbench.catalog.own_operators.followers import CARRIERS, FOLLOWERS
from workbench.graph.model import Graph, Node, Port, Source, block_of
from workbench.sources import load_source

BOX_CROP = "random_bbox_crop"
_CLIPPED = {
    "xyXY": ("clip_boxes", 2),
    "xyWH": ("clip_sized_boxes", 2),
    "xyzXYZ": ("clip_boxes", 3),
    "xyzWHD": ("clip_sized_boxes", 3),
}
"""By ``bbox_layout`` the function of emitted source, and how many axes a box has."""


def box_layout(node: Node) -> str:
    """The layout of the boxes, ``xyXY``, of a node of ``random_bbox_crop``."""
    default = "xyWH" if node.args.get("ltrb") is False else "xyXY"
    return str(node.args.get("bbox_layout") or default)


def clip_function(node: Node) -> tuple[str, int] | None:
    """The function that clips the boxes of a node, and its ``axes``; None if there is none."""
    return _CLIPPED.get(box_layout(node)) if node.op == BOX_CROP else None


def box_format(graph: Graph, node: Node) -> str | None:
    """How the boxes are written that a node gives or a follower takes, as far as it is told.

    One of ``BOX_FORMATS``.
    """
    seen: set[str] = set()
    while node.id not in seen:
        seen.add(node.id)
        given = node.args.get("format")
        carried = node.op in FOLLOWERS or node.op in CARRIERS
        if carried and isinstance(given, str) and given:
            return given
        if isinstance(node, Source) and "boxes" in load_source(node.kind or "coco").outputs:
            unit = "relative" if node.args.get("ratio") else "absolute"
            return f"{unit} {'ltrb' if node.args.get('ltrb') else 'xywh'}"
        if node.op == "bb_flip":
            return f"relative {'ltrb' if node.args.get('ltrb') else 'xywh'}"
        name = "boxes" if carried else next(iter(node.inputs), "")
        giver = _giver(graph, node.inputs.get(name))
        if giver is None:
            return None
        node = giver
    return None


def is_relative(graph: Graph, node: Node) -> bool:
    """Whether points that a node gives or a follower takes are shares of the image's sides."""
    seen: set[str] = set()
    while "unit" not in node.args and (giver := _giver(graph, node.inputs.get("points"))):
        if giver.id in seen:
            return False
        seen.add(giver.id)
        node = giver
    reads = isinstance(node, Source) and bool(node.args.get("ratio"))
    return reads or node.args.get("unit") == "relative"


def _giver(graph: Graph, port: Port | None) -> Node | None:
    """The node that gives a port; of what a body takes in the one outside."""
    graph = graph.whole
    seen: set[Port] = set()  # a faulty block may be fed from its own body
    while port is not None and not graph.has(port.node):
        if port in seen:
            return None
        seen.add(port)
        block = block_of(port.node)
        port = graph.node(block).inputs.get(port.output) if graph.has(block) else None
    return graph.node(port.node) if port is not None else None
