"""Targets that follow images: what followers depend on, and which an edit brings about.

A follower is one node a target (``catalog.followers``). It names the image that its target is to
lie on and depends on every geometric operator that this image came through, so that it is in step
with them whatever is changed. What it depends on are further inputs, in the graph that runs alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from workbench.catalog.followers import CARRIERS, FOLLOWERS
from workbench.catalog.spec import Catalog, PortKind
from workbench.graph.devices import port_kind
from workbench.graph.edit import free_id, new_node
from workbench.graph.faults import Fault
from workbench.graph.follower_regions import through_regions
from workbench.graph.geometry import GeometryPath, frame_of, geometry_path
from workbench.graph.identity_cache import identity_cached
from workbench.graph.mixes import MIXING, why_not
from workbench.graph.model import Graph, Node, Port, Source, ancestors
from workbench.graph.shapes import infer_types
from workbench.graph.target_formats import box_format

_THROUGH = "through_"
_PLACES_MIXED = (
    "it gives which of the boxes are left, and the boxes of two images have no one numbering. "
    "Reset places"
)


def follows(node: Node) -> bool:
    """Whether a node is a follower."""
    return node.op in FOLLOWERS


@identity_cached
def with_dependencies(graph: Graph, catalog: Catalog) -> Graph:
    """The graph in which each follower also takes in what tells how its target moves.

    Where its image came through regions, the target does so too: carriers before and in them bring
    it to where the follower goes on.
    """
    followers = [node for node in graph.walk() if follows(node)]
    if not followers:
        return graph
    for node in followers:
        own = graph.at_scope(graph.scope_of(node.id))
        graph = through_regions(graph, catalog, node, path_of(own, catalog, node))
    for node in graph.walk():
        if follows(node) or node.op in CARRIERS:
            own = graph.at_scope(graph.scope_of(node.id))
            taking = _with_inputs(own, catalog, node)
            graph = graph if taking is node else graph.replace_node(taking)
    return graph


def path_of(graph: Graph, catalog: Catalog, follower: Node) -> GeometryPath | None:
    """What the image of a follower came through; None where nothing feeds it.

    Of the classes of images only where these were mixed; what moved pixels leaves them.
    """
    image = follower.inputs.get("image")
    if image is None:
        return None
    kind = catalog[follower.op].follows or "any"
    first = follower.inputs.get("before")
    path = geometry_path(graph, catalog, image, first, placeless=kind == "label")
    if path.blocked:
        return path
    if kind == "label":
        return replace(path, steps=tuple(step for step in path.steps if step.mix))
    blocked, reason = why_not(path, kind)
    if follower.args.get("places") and any(step.mix for step in path.steps):
        blocked, reason = follower.id, _PLACES_MIXED
    return replace(path, blocked=blocked, reason=reason)


def _with_inputs(graph: Graph, catalog: Catalog, node: Node) -> Node:
    path = path_of(graph, catalog, node)
    own = {name: port for name, port in node.inputs.items() if not name.startswith(_THROUGH)}
    known = set(own.values())
    more = [port for port in path.inputs if port not in known] if path else []
    inputs = own | {f"{_THROUGH}{index}": port for index, port in enumerate(more)}
    return node if inputs == node.inputs else replace(node, inputs=inputs)


def follower_faults(node: Node, graph: Graph, catalog: Catalog) -> Iterator[Fault]:
    """Why a target cannot follow, at the operator that is in the way."""
    path = path_of(graph, catalog, node)
    if path is not None and path.blocked:
        what, remedy = path.reason.split(". ", 1)
        words = what if path.blocked == node.id else f"{node.id} cannot follow it: {what}"
        yield Fault(path.blocked, "", words, f"{remedy}.", "unfollowed", node.id)
    if node.op == "follow_boxes" and "boxes" in node.inputs and box_format(graph, node) is None:
        words = f"how the boxes of {node.inputs['boxes']} are written is not known"
        yield Fault(node.id, "format", words, "Choose a format.", "missing_arg")


def with_followers(before: Graph, after: Graph, catalog: Catalog) -> Graph:
    """``after`` an edit, with the followers that it brought about, or without those it left over.

    A target that a source gives out follows the image that is given out, from the moment on that
    this image comes through a geometric operator, and goes on with it through further ones; with
    the last of these the follower goes. Where a person removed a follower, there is none again.
    """
    if before.nodes == after.nodes or after.enclosing is not None:
        return after
    graph = _led_on(before, _without_idle(before, after, catalog), catalog)
    for image, output, port in _unfollowed(graph, catalog):
        known = [found[1] for found in _unfollowed(before, catalog)]
        if output not in known and output in before.outputs and not _followed(before, output):
            graph = _follow(graph, catalog, image, output, port)
    return graph


def _led_on(before: Graph, after: Graph, catalog: Catalog) -> Graph:
    """With followers on what became of their image, where this was given out and no longer is."""
    graph = after
    for name, old in before.outputs.items():
        new = after.outputs.get(name, old)
        if new == old or not (after.has(new.node) and before.has(old.node)):
            continue
        if port_kind(before, catalog, old) != "image" or old.node not in ancestors(after, [new]):
            continue
        frame = frame_of(before, catalog, old)
        if frame in _given_frames(after, catalog):
            continue  # an image is still given out that the targets lie on
        for node in after.nodes:
            image = node.inputs.get("image") if follows(node) else None
            if image is None or not before.has(node.id) or node != before.node(node.id):
                continue
            if image == old or frame_of(after, catalog, image) == frame:
                graph = _led_to(graph, catalog, node, new)
    return graph


def _led_to(graph: Graph, catalog: Catalog, node: Node, image: Port) -> Graph:
    """With a follower on another image; where that is made from what it gives, with one more."""
    if node.id not in ancestors(graph, [image]):
        return graph.replace_node(replace(node, inputs={**node.inputs, "image": image}))
    taken = [output.name for output in catalog[node.op].outputs if output.name in node.inputs]
    own = {name: Port(node.id, name) for name in taken}
    inputs = {**node.inputs, **own, "image": image, "before": node.inputs["image"]}
    further = replace(node, id=free_id(graph, node.op), inputs=inputs)
    outputs = {
        name: Port(further.id, port.output) if port.node == node.id else port
        for name, port in graph.outputs.items()
    }
    return replace(graph, nodes=(*graph.nodes, further), outputs=outputs)


def _given_frames(graph: Graph, catalog: Catalog) -> set[Port]:
    """The frames of the images that are given out."""
    ports = graph.outputs.values()
    images = [port for port in ports if port_kind(graph, catalog, port) == "image"]
    return {frame_of(graph, catalog, port) for port in images}


def _followed(graph: Graph, output: str) -> bool:
    """Whether a follower gives an output."""
    node = graph.outputs[output].node
    return graph.has(node) and follows(graph.node(node))


def unmoved_targets(graph: Graph, catalog: Catalog) -> dict[str, str]:
    """Outputs that give a target of an earlier image, and the node that moved all images given out.

    None where an image is given out that they still lie on.
    """
    images = [port for port in graph.outputs.values() if port_kind(graph, catalog, port) == "image"]
    paths = {port: geometry_path(graph, catalog, port) for port in images}
    found = {}
    if all(path.steps or path.blocked for path in paths.values()):
        for image, output, _ in _unfollowed(graph, catalog):
            path = paths[image]
            found[output] = path.blocked or path.steps[0].node.id
    frames = {path.frame for path in paths.values()}
    for output, port in graph.outputs.items() if images else ():
        node = graph.node(port.node) if graph.has(port.node) else None
        lies_on = node.inputs.get("image") if node and follows(node) else None
        if lies_on is not None and frame_of(graph, catalog, lies_on) not in frames:
            path = geometry_path(graph, catalog, images[0], lies_on)
            if path.blocked or path.steps:  # else the image is the one that was decoded
                found[output] = path.blocked or path.steps[0].node.id
    return found


def with_new_targets(graph: Graph, catalog: Catalog, names: Collection[str]) -> Graph:
    """The graph with followers for the outputs of these names, where their image is moved."""
    for image, output, port in _unfollowed(graph, catalog):
        if output in names:
            graph = _follow(graph, catalog, image, output, port)
    return graph


def with_class_count(before: Graph, after: Graph, count: int) -> Graph:
    """``after`` an edit, with the number of classes of the data where followers of labels came.

    ``count`` is 0 where it is not known.
    """
    start = FOLLOWERS["follow_labels"].args["num_classes"].start
    for node in after.nodes if count else ():
        came = node.op == "follow_labels" and not before.has(node.id)
        if came and node.args.get("num_classes", start) == start:
            after = after.replace_node(replace(node, args={**node.args, "num_classes": count}))
    return after


def _unfollowed(graph: Graph, catalog: Catalog) -> list[tuple[Port, str, Port]]:
    """(image, output, target) for each output that gives a source's target unmoved."""
    mixing = any(node.op == MIXING for node in graph.walk())
    kinds = {
        name: target_kind(graph, catalog, port)
        for name, port in graph.outputs.items()
        if mixing or port.output != "labels"  # which nearly every graph has, and mixes alone lead
    }
    if not any(kinds.values()):
        return []
    images = [port for port in graph.outputs.values() if port_kind(graph, catalog, port) == "image"]
    paths = {port: geometry_path(graph, catalog, port) for port in images}
    image = next((port for port, path in paths.items() if path.steps or path.blocked), None)
    mixed = next((port for port in images if _is_mixed(graph, catalog, port)), None)
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


def _is_mixed(graph: Graph, catalog: Catalog, image: Port) -> bool:
    path = geometry_path(graph, catalog, image, placeless=True)
    return any(step.mix for step in path.steps)


def target_kind(graph: Graph, catalog: Catalog, port: Port) -> PortKind | None:
    """What kind of target a port gives as it was read; None for others, also those that follow."""
    if not graph.has(port.node):
        return None
    node = graph.node(port.node)
    kind = port_kind(graph, catalog, port)
    if isinstance(node, Source) and kind in ("boxes", "points"):
        return kind
    if isinstance(node, Source) and port.output == "labels":
        return "label" if infer_types(graph, catalog)[port].shape == (1,) else None
    reads_mask = kind == "mask" and not follows(node)
    return "mask" if reads_mask else None


def _follow(graph: Graph, catalog: Catalog, image: Port, output: str, target: Port) -> Graph:
    kind = target_kind(graph, catalog, target)
    assert kind is not None
    spec = next(spec for spec in FOLLOWERS.values() if spec.follows == kind)
    op = spec.name
    node = new_node(graph, catalog, op, free_id(graph, op))
    node = replace(node, inputs={spec.inputs[0].name: target, "image": image})
    outputs = {**graph.outputs, output: Port(node.id, spec.outputs[0].name)}
    if kind == "boxes":
        # labels that stand beside the boxes of the same source are dropped with them
        flows = infer_types(graph, catalog)
        for name, port in graph.outputs.items():
            one_each = flows[port].shape == (None,) if port in flows else False
            if port.node == target.node and flows[port].kind == "label" and one_each:
                node = replace(node, inputs={**node.inputs, "labels": port})
                outputs[name] = Port(node.id, "labels")
    return replace(graph, nodes=(*graph.nodes, node), outputs=outputs)


def _without_idle(before: Graph, graph: Graph, catalog: Catalog) -> Graph:
    """Without the followers whose image comes through nothing that moves pixels any more."""
    for node in graph.nodes:
        if not follows(node) or not before.has(node.id):
            continue
        had, has = path_of(before, catalog, before.node(node.id)), path_of(graph, catalog, node)
        if had and had.steps and has and not has.steps and not has.blocked:
            graph = bypassed(graph, catalog, node)
    return graph


def bypassed(graph: Graph, catalog: Catalog, node: Node) -> Graph:
    """The graph without a follower: what it was fed stands in the place of what it gave."""
    spec = catalog[node.op]
    passed = {
        Port(node.id, output.name): node.inputs[output.name]
        for output in spec.outputs
        if output.name in node.inputs
    }
    nodes = tuple(
        replace(n, inputs={name: passed.get(port, port) for name, port in n.inputs.items()})
        for n in graph.nodes
        if n.id != node.id
    )
    outputs = {
        name: passed.get(port, port)
        for name, port in graph.outputs.items()
        if port.node != node.id or port in passed
    }
    return replace(graph, nodes=nodes, outputs=outputs)


def follower_ids(graph: Graph) -> Collection[str]:
    """Ids of the graph's followers."""
    return [node.id for node in graph.nodes if follows(node)]
