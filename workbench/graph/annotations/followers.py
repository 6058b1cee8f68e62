"""Find the annotations that must follow an image, and the reasons why they cannot.

A follower (``extra_operators.FOLLOWERS``) is one node per annotation output. Its input ``image`` is
the image that the annotations belong to. ``follower_dependencies`` adds the other dependencies, and
``follower_edits`` determines which followers an edit adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.catalog.extra_operators import BOX_FORMATS, FOLLOWERS
from workbench.catalog.spec import PortKind
from workbench.graph.annotations.formats import box_format
from workbench.graph.annotations.geometry import GeometryPath, GeometryStep, frame_of, geometry_path
from workbench.graph.annotations.mixes import MIXING, cannot_follow_reason
from workbench.graph.annotations.sides import pair_faults
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.faults import Fault
from workbench.graph.model.node_order import ancestors
from workbench.graph.types.typed_graph import TypedGraph

_PLACES_MIXED = (
    "it outputs the indices of the remaining boxes, but the boxes of two images have no "
    "common numbering. Reset places"
)
_TURNED_GRID = (
    "how much of a box a rotated grid covers is not computed. Reset angle, or reset covered of the "
    "follower"
)
_POLYGONS_MIXED = (
    "it renumbers the boxes of polygons, but the boxes of two images have no common "
    "numbering. Do not output polygons"
)


def follows(node: Node) -> bool:
    """Return whether a node transforms annotations together with their image."""
    return node.op in FOLLOWERS


def path_of(typed: TypedGraph, follower: Node) -> GeometryPath | None:
    """Return the geometric operators applied to a follower's image, or None if it has no image.

    For ``follow_labels`` only mixing is included, because moving pixels does not change the class.
    """
    image = follower.inputs.get("image")
    if image is None:
        return None
    kind = typed.spec(follower).follows or "any"
    first = follower.inputs.get("before")
    placeless = follower.op == "follow_labels"
    covers = considers_cover(follower)
    image = _covered_image(typed, follower, image) if covers and follows(follower) else image
    path = geometry_path(typed, image, first, placeless=placeless, covers=covers)
    if path.blocked:
        return path
    if placeless:
        return replace(path, steps=tuple(step for step in path.steps if step.mix))
    blocked, reason = cannot_follow_reason(path, kind)
    if covers and kind == "boxes" and (grid := next(filter(_is_turned_grid, path.walk()), None)):
        blocked, reason = grid.node.id, _TURNED_GRID
    if any(step.mix for step in path.steps):
        if "polygons" in follower.inputs:
            blocked, reason = follower.id, _POLYGONS_MIXED
        if follower.args.get("places"):
            blocked, reason = follower.id, _PLACES_MIXED
    return replace(path, blocked=blocked, reason=reason)


def considers_cover(follower: Node) -> bool:
    """Return whether a follower changes annotations under operators that cover pixels."""
    return follower.args.get("covered", "keep") not in ("keep", 1, 1.0)


def _covered_image(typed: TypedGraph, follower: Node, image: Port) -> Port:
    """Return the output with the pixel positions of ``image``, which later nodes may cover."""
    graph = typed.graph
    outputs = [port for port in graph.outputs.values() if typed.kind(port) == "image"]
    frame = frame_of(typed, image) if image not in outputs else None
    for port in outputs if frame else ():
        needed = ancestors(graph, [port])
        if image.node in needed and follower.id not in needed and frame_of(typed, port) == frame:
            return port
    return image


def _is_turned_grid(step: GeometryStep) -> bool:
    node = step.node
    return node.op == "grid_mask" and ("angle" in node.inputs or bool(node.args.get("angle")))


def follower_faults(typed: TypedGraph, node: Node) -> Iterator[Fault]:
    """Yield faults of a follower, such as an operator that it cannot follow."""
    graph = typed.graph
    yield from pair_faults(node)
    path = path_of(typed, node)
    if path is not None and path.blocked:
        what, remedy = path.reason.split(". ", 1)
        words = what if path.blocked == node.id else f"{node.id!r} cannot follow it: {what}"
        yield Fault(path.blocked, "", words, f"{remedy}.", "unfollowed", node.id)
    if node.op == "follow_boxes" and "boxes" in node.inputs and box_format(graph, node) is None:
        words = f"the format of the boxes {node.inputs['boxes']} is unknown"
        remedy = f"Set it to one of {', '.join(map(str, BOX_FORMATS or ()))}."
        yield Fault(node.id, "format", words, remedy, "missing_arg")
    if node.args.get("tight") and not {"polygons", "vertices"} <= node.inputs.keys():
        words = "it needs the outlines of the objects, as polygons and vertices"
        remedy = "Turn on polygon_masks of the reader, and connect both."
        yield Fault(node.id, "tight", words, remedy, "tight")
    rows = polygons_as_read(graph, node)
    if rows is not None:
        words = f"{rows} refers to the boxes as read, of which {node.id} drops some"
        remedy = "Connect them to its polygons and output its result, or set places."
        yield Fault(node.id, "", words, remedy, "polygons", rows.node)


def polygons_as_read(graph: Graph, node: Node) -> Port | None:
    """Return the port of polygons whose box indices are wrong because a follower drops some boxes.

    Returns None if the graph outputs all boxes, so the indices are correct, or if it outputs
    ``places``, the original index of each box.
    """
    boxes = node.inputs.get("boxes")
    if node.op != "follow_boxes" or boxes is None or "polygons" in node.inputs:
        return None
    if not graph.has(boxes.node) or not isinstance(graph.node(boxes.node), Source):
        return None
    rows, given = Port(boxes.node, "polygons"), {*graph.outputs.values()}
    dropped = given & {Port(node.id, "boxes"), Port(node.id, "labels")}
    is_output = boxes in given or Port(node.id, "places") in given
    return rows if rows in given and dropped and not is_output else None


def unmoved_targets(typed: TypedGraph) -> dict[str, str]:
    """Find outputs whose annotations do not match the output image.

    Returns the id of the node that moved the image, by output name. Excludes annotations that match
    another output image, and annotations that are output both unchanged and through a follower.
    """
    graph = typed.graph
    images = [port for port in graph.outputs.values() if typed.kind(port) == "image"]
    if all(port in images or _is_read_label(graph, port) for port in graph.outputs.values()):
        return {}  # as in classification: no position on an image
    paths = {port: geometry_path(typed, port) for port in images}
    found = {}
    if all(path.steps or path.blocked for path in paths.values()):
        read_at = {
            name: origin
            for name, port in graph.outputs.items()
            if (origin := annotation_origin(typed, port)) is not None
        }
        followed = _followed_origins(graph)
        read_at = {name: origin for name, origin in read_at.items() if origin not in followed}
        others = {n: p for n, p in graph.outputs.items() if p not in followed}
        original = replace(graph, outputs={**others, **read_at})
        for image, output, target in unfollowed_targets(typed.for_graph(original)):
            if target_kind(typed, target) == "label":
                continue  # a class has no position on the image
            path = paths[image]
            if path.blocked or not _still_fits(typed, target, path):
                found[output] = path.blocked or path.steps[0].node.id
    frames = {path.frame for path in paths.values()}
    for output, port in graph.outputs.items() if images else ():
        node = graph.node(port.node) if graph.has(port.node) else None
        lies_on = node.inputs.get("image") if node and follows(node) else None
        if lies_on is not None and frame_of(typed, lies_on) not in frames:
            path = geometry_path(typed, images[0], lies_on)
            if path.blocked or path.steps:  # else the decoded image
                found[output] = path.blocked or path.steps[0].node.id
    return found


def _is_read_label(graph: Graph, port: Port) -> bool:
    if port.output != "labels" or not graph.has(port.node):
        return False
    return isinstance(graph.node(port.node), Source)


def _followed_origins(graph: Graph) -> set[Port]:
    """Return the ports whose annotations the graph outputs through followers."""
    found: set[Port] = set()
    given = (graph.node(port.node) for port in graph.outputs.values() if graph.has(port.node))
    waiting = [node for node in given if follows(node)]
    while waiting:
        node = waiting.pop()
        fed = {port for name, port in node.inputs.items() if name not in ("image", "before")}
        waiting += [graph.node(port.node) for port in fed - found if graph.has(port.node)]
        found |= fed
    return found


def unmoved_faults(typed: TypedGraph) -> Iterator[Fault]:
    """Yield a fault for each output whose annotations do not follow the output image."""
    for output, moved in unmoved_targets(typed).items():
        node = typed.graph.outputs[output].node
        words = f"the output {output!r} does not follow the image through {moved!r}"
        remedy = (
            f"Feed it to a follower (follow_boxes, follow_points, follow_masks), or remove the "
            f"output {output!r}."
        )
        yield Fault(node, "", words, remedy, "unmoved", output)


SAME_ROWS = frozenset(
    {"pad", "cast", "cast_like", "copy", "reshape", "reinterpret", "expand_dims", "squeeze"}
    | {"box_encoder", "math.clamp"}
)
"""Operators that change only the type or shape of annotations, or encode boxes."""


def annotation_origin(typed: TypedGraph, port: Port) -> Port | None:
    """Return the source port that a port's annotations come from, or None if they were transformed.

    Operators that only change type or shape, and blocks that pass annotations through, are ignored.
    """
    graph, seen = typed.graph, set[Port]()
    while port not in seen and graph.has(port.node):
        seen.add(port)
        node = graph.node(port.node)
        if isinstance(node, Source):
            return port
        if node.bodies:
            given = [(name, body.outputs.get(port.output)) for name, body in node.bodies.items()]
            passed = [
                node.inputs[inner.output]
                for name, inner in given
                if inner and inner.node == node.scope(name) and inner.output in node.inputs
            ]
        else:
            passed = [*node.inputs.values()][:1] if node.op in SAME_ROWS else []
            if not passed and target_kind(typed, port) == "mask":
                moved = geometry_path(typed, port)
                if moved.steps or moved.blocked:  # moved by its own operators
                    return None
                return port
        if not passed:
            return None
        port = passed[0]
    return None


def _still_fits(typed: TypedGraph, target: Port, path: GeometryPath) -> bool:
    """Return whether a target is relative boxes or points and ``path`` only resizes the image."""
    node = typed.graph.node(target.node)
    kind = target_kind(typed, target)
    relative = kind in ("boxes", "points") and bool(node.args.get("ratio"))
    return relative and all(step.rule.flips == {} for step in path.steps)


def unfollowed_targets(typed: TypedGraph) -> list[tuple[Port, str, Port]]:
    """Return outputs whose annotations must follow an image but do not.

    Each item is (image port, output name, annotation port).
    """
    graph = typed.graph
    mixing = any(node.op == MIXING for node in graph.walk())
    kinds = {
        name: target_kind(typed, port)
        for name, port in graph.outputs.items()
        if mixing or port.output != "labels"  # which nearly every graph has; only mixes change them
    }
    if not any(kinds.values()):
        return []
    images = [port for port in graph.outputs.values() if typed.kind(port) == "image"]
    paths = {port: geometry_path(typed, port) for port in images}
    image = next((port for port, path in paths.items() if path.steps or path.blocked), None)
    mixed = next((port for port in images if _is_mixed(typed, port)), None)
    image = image or mixed
    if image is None or not all(graph.has(port.node) for port in graph.outputs.values()):
        return []
    reading = {n for n in ancestors(graph, [image]) if isinstance(graph.node(n), Source)}
    leading = {name: mixed if kind == "label" else image for name, kind in kinds.items() if kind}
    return [
        (by, name, port)
        for name, port in graph.outputs.items()
        if (by := leading.get(name)) is not None
        if reading & ancestors(graph, [port])
    ]


def _is_mixed(typed: TypedGraph, image: Port) -> bool:
    path = geometry_path(typed, image, placeless=True)
    return any(step.mix for step in path.steps)


def target_kind(typed: TypedGraph, port: Port) -> PortKind | None:
    """Return the kind of annotations at a source's port, or None if it has no annotations."""
    graph = typed.graph
    if not graph.has(port.node):
        return None
    node = graph.node(port.node)
    kind = typed.kind(port)
    if isinstance(node, Source) and kind in ("boxes", "points"):
        return kind
    if isinstance(node, Source) and port.output == "labels":
        flow = typed.types.get(port)
        return "label" if flow is not None and flow.shape == (1,) else None
    if kind != "mask":
        return None
    made = (graph.node(name) for name in ancestors(graph, [port]) if graph.has(name))
    return None if any(map(follows, made)) else "mask"
