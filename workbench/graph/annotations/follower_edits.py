"""Add, update or remove followers (nodes that transform annotations) after an edit."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from workbench.catalog.extra_operators import FOLLOWERS
from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.annotations.followers import (
    annotation_origin,
    follows,
    path_of,
    polygons_as_read,
    target_kind,
    unfollowed_targets,
)
from workbench.graph.annotations.geometry import frame_of
from workbench.graph.annotations.point_boxes import with_points_bound
from workbench.graph.edits.edit import free_id, new_node
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.devices import port_kind
from workbench.graph.types.typed_graph import TypedGraph


def with_followers(before: Graph, after: Graph, catalog: Catalog) -> Graph:
    """Return the edited graph ``after`` with annotation followers added or removed as needed.

    If a source's annotations are an output, a follower is added as soon as the output image passes
    through a geometric operator, and removed if there is no such operator. Followers that the user
    removed are not added again.
    """
    if before.nodes == after.nodes or after.enclosing is not None:
        return after
    graph = _moved_to_new_outputs(before, _without_idle(before, after, catalog), catalog)
    for image, output, port in unfollowed_targets(TypedGraph(graph, catalog)):
        known = [found[1] for found in unfollowed_targets(TypedGraph(before, catalog))]
        if output not in known and output in before.outputs and not _is_followed(before, output):
            graph = _add_follower(graph, catalog, image, output, port)
    return with_points_bound(before, _with_polygons(graph, before), catalog)


def with_new_targets(graph: Graph, catalog: Catalog, names: Collection[str]) -> Graph:
    """Add annotation followers for the outputs in ``names`` whose image is transformed."""
    before = graph
    for image, output, port in unfollowed_targets(TypedGraph(graph, catalog)):
        if output in names:
            graph = _add_follower(graph, catalog, image, output, port)
    return with_points_bound(before, _with_polygons(graph), catalog)


def with_masks(graph: Graph, catalog: Catalog) -> Graph:
    """Add the source's masks as an output, with a follower if the image is transformed.

    Raises GraphEditError if no source has masks, or if they are an output already.
    """
    for source in graph.sources:
        spec = catalog[source.op]
        masks = next((port for port in spec.outputs if port.kind == "mask"), None)
        if masks is None:
            continue
        clashes = [
            each for each in spec.conflicts_with(masks.needs) if source.args.get(each) is True
        ]
        if masks.needs and clashes:
            raise GraphEditError(
                f"{source.id}: DALI outputs no masks if {' and '.join(map(repr, clashes))} is "
                f"set. Reset {' and '.join(map(repr, clashes))}."
            )
        if any(port_kind(graph, catalog, port) == "mask" for port in graph.outputs.values()):
            raise GraphEditError("The masks are already an output.")
        reading = source.with_args({masks.needs: True}) if masks.needs else source
        read = graph.replace_node(reading)
        name = free_id(graph, "masks")
        outputs = {**read.outputs, name: Port(source.id, masks.name)}
        return with_new_targets(replace(read, outputs=outputs), catalog, {name})
    raise GraphEditError(
        "No reader of this graph has masks. Use COCO annotations with outlines, or a "
        "folder with images/ and masks/."
    )


def with_followed(graph: Graph, catalog: Catalog, output: str) -> Graph | None:
    """Return the graph with a follower for an output that contains annotations of a source.

    Returns None if no follower can be added, for example inside a block.
    """
    port = graph.outputs[output]
    if graph.has(port.node) and follows(graph.node(port.node)):
        image = next(p for p in graph.outputs.values() if port_kind(graph, catalog, p) == "image")
        return _moved_to_image(graph, catalog, graph.node(port.node), image)
    origin = annotation_origin(TypedGraph(graph, catalog), port)
    if origin is None:
        return None
    if origin == port:
        return with_new_targets(graph, catalog, {output})
    read = replace(graph, outputs={**graph.outputs, output: origin})
    made = with_new_targets(read, catalog, {output})
    followed = made.outputs[output]
    for node in ancestors(graph, [port]):
        inputs = graph.node(node).inputs
        if origin in inputs.values() and not graph.node(node).bodies:
            fed = {name: followed if p == origin else p for name, p in inputs.items()}
            made = made.replace_node(replace(graph.node(node), inputs=fed))
    return replace(made, outputs={**made.outputs, output: port})


def with_polygons(graph: Graph, follower: str) -> Graph:
    """Connect polygons to a box follower, so that their box indices are updated if it drops boxes.

    Returns the graph unchanged if it does not output polygons whose indices are wrong.
    """
    node = graph.node(follower)
    rows = polygons_as_read(graph, node)
    if rows is None:
        return graph
    fed = graph.replace_node(node.fed({"polygons": rows}))
    moved = {rows: Port(follower, "polygons")}
    return replace(fed, outputs={name: moved.get(p, p) for name, p in fed.outputs.items()})


def _with_polygons(graph: Graph, before: Graph | None = None) -> Graph:
    for node in graph.nodes:
        left = before and before.has(node.id) and polygons_as_read(before, before.node(node.id))
        graph = graph if left else with_polygons(graph, node.id)
    return graph


def with_class_count(before: Graph, after: Graph, count: int) -> Graph:
    """Set ``num_classes`` of label followers that are in ``after`` but not in ``before``.

    ``count`` is 0 if the number of classes is unknown.
    """
    start = FOLLOWERS["follow_labels"].args["num_classes"].start
    for node in after.nodes if count else ():
        came = node.op == "follow_labels" and not before.has(node.id)
        if came and node.args.get("num_classes", start) == start:
            after = after.replace_node(node.with_args({"num_classes": count}))
    return after


_COVER_RULES: Mapping[str, Value] = {"follow_boxes": 0.5, "follow_points": "hide"}


def with_cover_rules(graph: Graph, catalog: Catalog) -> Graph | None:
    """Hide covered points and remove boxes that are covered by more than half.

    Followers are added if there are none. Returns None if no boxes or points are an output.
    """
    typed, before = TypedGraph(graph, catalog), graph
    image = next((p for p in graph.outputs.values() if typed.kind(p) == "image"), None)
    for output, port in graph.outputs.items():
        if image is not None and target_kind(typed, port) in ("boxes", "points"):
            graph = _add_follower(graph, catalog, image, output, port)
    for node in graph.walk():
        if node.op in _COVER_RULES and "covered" not in node.args:
            graph = graph.replace_node(node.with_args({"covered": _COVER_RULES[node.op]}))
    return None if graph is before else graph


def _moved_to_new_outputs(before: Graph, after: Graph, catalog: Catalog) -> Graph:
    """Connect followers to the new output image if their image is no longer an output."""
    graph, had, has = after, TypedGraph(before, catalog), TypedGraph(after, catalog)
    for name, old in before.outputs.items():
        new = after.outputs.get(name, old)
        if new == old or not (after.has(new.node) and before.has(old.node)):
            continue
        if had.kind(old) != "image" or old.node not in ancestors(after, [new]):
            continue
        frame = frame_of(had, old)
        if frame in _output_frames(has):
            continue  # an output image still has these annotations
        for node in after.nodes:
            image = node.inputs.get("image") if follows(node) else None
            if image is None or not before.has(node.id) or node != before.node(node.id):
                continue
            if image == old or frame_of(has, image) == frame:
                graph = _moved_to_image(graph, catalog, node, new)
    return graph


def _moved_to_image(graph: Graph, catalog: Catalog, node: Node, image: Port) -> Graph:
    """Connect a follower to ``image``. If ``image`` depends on the follower, add a second one."""
    if node.id not in ancestors(graph, [image]):
        return graph.replace_node(node.fed({"image": image}))
    if node.op == "follow_points":  # only the last one can remove points with their boxes
        node = node.without({"polygons", "places"})
        graph = graph.replace_node(node)
    taken = [output.name for output in catalog[node.op].outputs if output.name in node.inputs]
    own = {name: Port(node.id, name) for name in taken}
    inputs = {**node.inputs, **own, "image": image, "before": node.inputs["image"]}
    further = replace(node, id=free_id(graph, node.op), inputs=inputs)
    outputs = {
        name: Port(further.id, port.output) if port.node == node.id else port
        for name, port in graph.outputs.items()
    }
    return replace(graph, nodes=(*graph.nodes, further), outputs=outputs)


def _output_frames(typed: TypedGraph) -> set[Port]:
    ports = typed.graph.outputs.values()
    return {frame_of(typed, port) for port in ports if typed.kind(port) == "image"}


def _is_followed(graph: Graph, output: str) -> bool:
    node = graph.outputs[output].node
    return graph.has(node) and follows(graph.node(node))


def _add_follower(graph: Graph, catalog: Catalog, image: Port, output: str, target: Port) -> Graph:
    typed = TypedGraph(graph, catalog)
    kind = target_kind(typed, target)
    assert kind is not None
    spec = next(spec for spec in FOLLOWERS.values() if spec.follows == kind)
    op = spec.name
    node = new_node(graph, catalog, op, free_id(graph, op))
    node = replace(node, inputs={spec.inputs[0].name: target, "image": image})
    outputs = {**graph.outputs, output: Port(node.id, spec.outputs[0].name)}
    if kind == "boxes":
        # labels stored with the boxes of the same source are dropped with them
        flows = typed.types
        for name, port in graph.outputs.items():
            one_each = flows[port].shape == (None,) if port in flows else False
            if port.node == target.node and flows[port].kind == "label" and one_each:
                node = node.fed({"labels": port})
                outputs[name] = Port(node.id, "labels")
    return replace(graph, nodes=(*graph.nodes, node), outputs=outputs)


def _without_idle(before: Graph, graph: Graph, catalog: Catalog) -> Graph:
    """Remove annotation followers whose image no longer passes through geometric operators."""
    for node in graph.nodes:
        if not follows(node) or not before.has(node.id):
            continue
        had = path_of(TypedGraph(before, catalog), before.node(node.id))
        has = path_of(TypedGraph(graph, catalog), node)
        if had and had.steps and has and not has.steps and not has.blocked:
            graph = bypassed(graph, catalog, node)
    return graph


def bypassed(graph: Graph, catalog: Catalog, node: Node) -> Graph:
    """Remove an annotation follower, and connect its consumers to its input."""
    spec = catalog[node.op]
    passed = {
        Port(node.id, output.name): node.inputs[output.name]
        for output in spec.outputs
        if output.name in node.inputs
    }
    nodes = tuple(each for each in graph.nodes if each.id != node.id)
    outputs = {
        name: port for name, port in graph.outputs.items() if port.node != node.id or port in passed
    }
    return replace(graph, nodes=nodes, outputs=outputs).rewire(passed)
