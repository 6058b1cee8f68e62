"""The layout of the boxes that ``random_bbox_crop`` reads, and how they are clipped to the image.

DALI's operator raises for a box that is over the edge by a rounding error, and names no file. So
every emitted program clips its boxes first.
"""

from __future__ import annotations

from workbench.graph.model import Node

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
