"""Remove the key points of removed boxes.

A source of key points outputs boxes, ``vertices``, and a row of ``polygons`` (box, first point,
end) for each box. Boxes are removed by ``follow_boxes`` and ``random_bbox_crop``, which also output
the original indices of the remaining boxes. ``follow_points`` receives both.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.catalog.spec import Catalog
from workbench.graph.annotations.followers import SAME_ROWS, path_of
from workbench.graph.annotations.formats import BOX_CROP
from workbench.graph.annotations.geometry import frame_of
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.faults import Fault
from workbench.graph.types.typed_graph import TypedGraph
from workbench.sources import load_source


@dataclass(frozen=True, slots=True)
class PointBoxes:
    """Key points of a source, and the operators that remove boxes of the same objects."""

    points: Node
    """The follower of the points."""
    source: Source
    removers: tuple[Node, ...]
    """Nodes that may remove boxes, in order from the source."""


def points_with_boxes(typed: TypedGraph) -> Iterator[PointBoxes]:
    """Yield the followers of key points if the graph outputs their boxes and may remove some."""
    graph = typed.graph
    for node in graph.nodes:
        source = _source_of_points(graph, node) if node.op == "follow_points" else None
        if source is None or "image" not in node.inputs:
            continue
        for port in graph.outputs.values():
            chain = _boxes_at(graph, source, port)
            last = next((each for each in chain[::-1] if "image" in each.inputs), None)
            if last and frame_of(typed, last.inputs["image"]) != frame_of(
                typed, node.inputs["image"]
            ):
                continue
            if any(each.op == BOX_CROP or _loses_boxes(typed, each) for each in chain):
                yield PointBoxes(node, source, chain)
                break


def _loses_boxes(typed: TypedGraph, follower: Node) -> bool:
    path = path_of(typed, follower)
    steps = path.steps if path else ()
    return any(each.rule.cuts or each.rule.covers or each.mix or each.bodies for each in steps)


def _source_of_points(graph: Graph, node: Node) -> Source | None:
    """Return the source of a follower's key points, or None if points were already removed."""
    port = node.inputs.get("points")
    while port is not None and graph.has(port.node):
        node = graph.node(port.node)
        if isinstance(node, Source):
            keys = load_source(node.kind or "coco").polygons == "key points"
            return node if keys and port.output == "vertices" else None
        port = node.inputs.get("points") if "places" not in node.inputs else None
    return None


def _boxes_at(graph: Graph, source: Source, port: Port) -> tuple[Node, ...]:
    """Return the operators that may have removed a source's boxes before ``port``, in order."""
    found: list[Node] = []
    seen: set[str] = set()
    while graph.has(port.node) and port.node not in seen:
        seen.add(port.node)
        node = graph.node(port.node)
        if isinstance(node, Source):
            return tuple(found[::-1]) if node.id == source.id and port.output == "boxes" else ()
        if node.op in ("follow_boxes", BOX_CROP):
            found.append(node)
        elif node.op not in SAME_ROWS:
            return ()
        above = node.inputs.get("boxes") or next(iter(node.inputs.values()), None)
        if above is None:
            return ()
        port = above
    return ()


def unbound_points(typed: TypedGraph) -> Iterator[PointBoxes]:
    """Yield the followers of key points that do not depend on the boxes of their objects."""
    for found in points_with_boxes(typed):
        if "places" not in found.points.inputs:
            yield found


def with_points_bound(before: Graph, graph: Graph, catalog: Catalog) -> Graph:
    """Connect key points to their boxes if this edit made the graph remove boxes.

    Disconnect them if the graph no longer removes boxes.
    """
    had = {each.points.id: each for each in points_with_boxes(TypedGraph(before, catalog))}
    has = {each.points.id for each in points_with_boxes(TypedGraph(graph, catalog))}
    for found in [*unbound_points(TypedGraph(graph, catalog))]:
        if found.points.id not in had:
            graph = bound(graph, found) or graph
    for node in graph.nodes:
        places = node.inputs.get("places") if node.op == "follow_points" else None
        lost = places is not None and not graph.has(places.node)
        if places is not None and (lost or (node.id in had and node.id not in has)):
            graph = _unbound(graph, node)
    return graph


def bound(graph: Graph, found: PointBoxes) -> Graph | None:
    """Return the graph in which points are removed with their boxes, or None if impossible."""
    places: Port | None = None
    for node in found.removers:
        node = graph.node(node.id)
        if node.op == BOX_CROP:
            if places is not None:
                return None  # it has no input for the indices of an earlier removal
            graph = graph.replace_node(node.with_args({"output_bbox_indices": True}))
            places = Port(node.id, "indices")
            continue
        if places is not None:
            node = node.fed({"indices": places})
        node = node.without({"polygons"}).with_args({"places": True})
        graph = graph.replace_node(node)
        places = Port(node.id, "places")
    if places is None:
        return None
    rows = Port(found.source.id, "polygons")
    graph = graph.replace_node(found.points.fed({"polygons": rows, "places": places}))
    counted = {rows, *(Port(node.id, "polygons") for node in found.removers)}
    own = Port(found.points.id, "polygons")
    outputs = {name: own if port in counted else port for name, port in graph.outputs.items()}
    return replace(graph, outputs=outputs)


def _unbound(graph: Graph, node: Node) -> Graph:
    places = node.inputs["places"]
    own, rows = Port(node.id, "polygons"), node.inputs["polygons"]
    outputs = {name: rows if port == own else port for name, port in graph.outputs.items()}
    graph = graph.replace_node(node.without({"polygons", "places"}))
    graph = replace(graph, outputs=outputs)
    read = {port for each in graph.walk() for port in each.inputs.values()}
    giver = graph.node(places.node) if graph.has(places.node) else None
    if giver is None or places in read or places in graph.outputs.values():
        return graph
    return graph.replace_node(giver.without({"places", "indices", "output_bbox_indices"}))


def binding_faults(graph: Graph, node: Node) -> Iterator[Fault]:
    """Yield the faults of a follower that removes points with their boxes."""
    if node.op != "follow_points" or not {"polygons", "places"} & node.inputs.keys():
        return
    if not {"polygons", "places"} <= node.inputs.keys():
        words = "to remove points with their boxes, it needs both polygons and places"
        yield Fault(node.id, "", words, "Connect both, or disconnect the other.", "bound")
        return
    given = {node.inputs["polygons"], Port(node.inputs["places"].node, "polygons")}
    for name, port in graph.outputs.items():
        if port in given:
            words = f"output {name!r} refers to all points, but {node.id} removes some"
            remedy = f"Output polygons of {node.id} instead."
            yield Fault(port.node, "", words, remedy, "bound", node.id)


def binding_warnings(typed: TypedGraph) -> Iterator[Fault]:
    """Warn about key points that are output although their boxes may be removed."""
    outputs = {*typed.graph.outputs.values()}
    for found in unbound_points(typed):
        rows = {Port(node.id, "polygons") for node in (found.source, *found.removers)}
        if rows & outputs:
            continue  # these identify the points of removed boxes
        last = found.removers[-1].id
        words = f"it outputs the points of boxes that {last} removes"
        remedy = f"Connect polygons of {found.source.id}, and places of the boxes that are left."
        yield Fault(found.points.id, "", words, remedy, "unbound")
