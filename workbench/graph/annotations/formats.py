"""Determine the formats of boxes and points in sources and operators."""

from __future__ import annotations

from workbench.catalog.extra_operators import CARRIERS, FOLLOWERS
from workbench.catalog.spec import Catalog
from workbench.graph.model import Graph, Node, Port, Source
from workbench.sources import load_source

BOX_CROP = "random_bbox_crop"
_CLIPPED = {
    "xyXY": ("clip_boxes", 0),
    "xyWH": ("clip_sized_boxes", 2),
    "xyzXYZ": ("clip_volumes", 0),
    "xyzWHD": ("clip_sized_boxes", 3),
}
"""Name and argument ``axes`` of the exported function that clips boxes, by ``bbox_layout``."""
CLIP_FUNCTIONS = frozenset(function for function, _ in _CLIPPED.values())


def box_layout(node: Node) -> str:
    """Return the box layout that a ``random_bbox_crop`` node expects, such as ``xyXY``."""
    default = "xyWH" if node.args.get("ltrb") is False else "xyXY"
    return str(node.args.get("bbox_layout") or default)


def clip_function(node: Node) -> tuple[str, int] | None:
    """Return the name of the function that clips a node's boxes and its argument ``axes``, or 0."""
    return _CLIPPED.get(box_layout(node)) if node.op == BOX_CROP else None


def box_format(graph: Graph, node: Node) -> str | None:
    """Return the format of a node's boxes, one of ``BOX_FORMATS``, or None if it is unknown."""
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
        giver = _producer(graph, node.inputs.get(name))
        if giver is None:
            return None
        node = giver
    return None


def is_relative(graph: Graph, node: Node) -> bool:
    """Return whether a node's points are relative to the image size."""
    seen: set[str] = set()
    while "unit" not in node.args and (giver := _producer(graph, node.inputs.get("points"))):
        if giver.id in seen:
            return False
        seen.add(giver.id)
        node = giver
    reads = isinstance(node, Source) and bool(node.args.get("ratio"))
    return reads or node.args.get("unit") == "relative"


def _producer(graph: Graph, port: Port | None) -> Node | None:
    """Return the node that outputs a port. A body's input is traced to the outer node."""
    graph = graph.whole
    seen: set[Port] = set()  # a faulty block may be fed from its own body
    while port is not None and not graph.has(port.node):
        if port in seen:
            return None
        seen.add(port)
        port = graph.feeding(port)
    return graph.node(port.node) if port is not None else None


# Labels

_SELECT = ("slice", "subscript")
_KEEP_NUMBERS = frozenset(
    {"one_hot", "copy", "cast", "cast_like", "permute_batch", "reshape", "squeeze", "expand_dims"}
).union(_SELECT)
"""Operators that preserve class numbers, either as values or as indices (``one_hot``)."""
_NARROW = ("BOOL", "INT8", "UINT8", "FLOAT16")
"""Element types that cannot represent every class number."""


def labels_source(graph: Graph, catalog: Catalog, port: Port) -> Port | None:
    """Return the source port that the labels at a port originate from.

    Returns None if an operator in between can change the numbers, for example by arithmetic.
    """
    selected = False
    while graph.has(port.node):
        node = graph.node(port.node)
        if isinstance(node, Source):
            return port
        name = "labels" if port.output == "labels" else ""  # labels of boxes
        selected |= node.op in _SELECT
        if node.op == "one_hot" and selected:  # the index has another origin
            return None
        if node.op.startswith("cast") and node.args.get("dtype", _NARROW[0]) in _NARROW:
            return None
        if node.op in _KEEP_NUMBERS:
            name = catalog[node.op].inputs[0].name
        if name not in node.inputs:
            break
        port = node.inputs[name]
    return None
