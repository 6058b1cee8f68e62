"""Warnings about boxes: over the edge, without an area, in a layout that no operator reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.graph.annotations.formats import BOX_CROP, box_format, box_layout, clip_function
from workbench.graph.execution.dataset_parameters import parameter_of
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.faults import Fault
from workbench.graph.model.node_order import ancestors
from workbench.sources import NO_FACTS, DataFacts

_LAYOUTS = {"xywh": "xyWH", "ltrb": "xyXY"}


def facts_of(source: Node, facts: Mapping[str, DataFacts]) -> DataFacts:
    """The facts of the data that a source reads; without any for a node that is none."""
    name = parameter_of(source) if isinstance(source, Source) else None
    return facts.get(name or "", NO_FACTS)


def box_warnings(graph: Graph, facts: Mapping[str, DataFacts]) -> Iterator[Fault]:
    """Warnings about the boxes of an active graph and of the data that it reads."""
    read = {port for node in graph.walk() for port in node.inputs.values()}
    read |= {*graph.outputs.values()}
    for node in graph.walk():
        port = node.inputs.get("boxes")
        if node.op == BOX_CROP and port is not None:
            yield from _layout(graph, node, port)
            yield from _over_edge(graph, node, port, facts)
    for source in graph.sources:
        found = facts_of(source, facts)
        if found.without_area and Port(source.id, "boxes") in read:
            drops = source.op == "readers.coco"
            follows = any(node.op == "follow_boxes" for node in graph.walk())
            effect = (
                "the reader drops such boxes"
                if drops
                else "follow_boxes drops such boxes"
                if follows
                else "such boxes are output"
            )
            yield Fault(
                source.id,
                "",
                f"{_images(found, found.without_area)} a box without an area, and {effect}; the "
                f"first is in {found.first_without_area}",
                "List all with `workbench check DATA`.",
                "without_area",
            )


def _over_edge(
    graph: Graph, node: Node, port: Port, facts: Mapping[str, DataFacts]
) -> Iterator[Fault]:
    """Boxes over the edge in the data from which the boxes of a node come."""
    feeding = ancestors(graph, [port if graph.has(port.node) else Port(node.id, "boxes")])
    for source in graph.sources:
        found = facts_of(source, facts)
        if source.id not in feeding or not found.outside:
            continue
        clips = clip_function(node) is not None
        effect = "which are clipped to it" if clips else "at which it ends the run"
        yield Fault(
            node.id,
            "boxes",
            f"{_images(found, found.outside)} boxes over the edge, {effect}; the first is in "
            f"{found.first_outside}",
            "List all with `workbench check DATA`."
            if clips
            else "Set bbox_layout to xyXY or xyWH, whose boxes are clipped.",
            "overhang",
        )


def _layout(graph: Graph, node: Node, port: Port) -> Iterator[Fault]:
    """Boxes of a source that ``random_bbox_crop`` reads in another layout or unit."""
    while graph.has(port.node) and graph.node(port.node).op in ("math.clamp", "copy"):
        port = graph.node(port.node).inputs.get("data", Port("", ""))
    source = graph.node(port.node) if graph.has(port.node) else None
    if not isinstance(source, Source) or port.output != "boxes":
        return
    unit, _, written = (box_format(graph, source) or "").partition(" ")
    if unit == "absolute":
        yield Fault(
            node.id,
            "boxes",
            f"{source.id} outputs boxes in pixels, and it accepts boxes relative to the image",
            f"Turn on ratio of {source.id}.",
            "box_layout",
            f"ratio={source.id}",
        )
    wanted = _LAYOUTS.get(written)
    if wanted and box_layout(node) in _LAYOUTS.values() and box_layout(node) != wanted:
        yield Fault(
            node.id,
            "bbox_layout",
            f"it is {box_layout(node)}, and {source.id} outputs boxes as {wanted}",
            f"Set bbox_layout to {wanted}.",
            "box_layout",
            f"bbox_layout={wanted}",
        )


def _images(facts: DataFacts, count: int) -> str:
    return (
        f"{facts.at_least}1 image has" if count == 1 else f"{facts.at_least}{count:,} images have"
    )
