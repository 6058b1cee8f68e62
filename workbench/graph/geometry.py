"""Which geometric operators an image came through, and by which rule targets follow each.

A *frame* is a system of coordinates: that of an image and of all that leave its pixels in their
places. Targets lie in one frame; a follower carries them into another.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from workbench.catalog.geometry import GeometryRule, geometry_rules
from workbench.catalog.spec import Catalog, OpSpec, Value
from workbench.graph.devices import decodes, is_decoder, port_kind
from workbench.graph.model import Graph, Node, Port


@dataclass(frozen=True, slots=True)
class GeometryStep:
    """One operator that moves pixels, and the rule by which targets follow it."""

    node: Node
    before: Port
    """The image that it takes; of a decoder the encoded one."""
    after: Port
    rule: GeometryRule
    decodes: bool = False


@dataclass(frozen=True, slots=True)
class GeometryPath:
    """The way of an image from where it was decoded."""

    root: Port
    """The first image: what the targets lie on."""
    steps: tuple[GeometryStep, ...]
    blocked: str = ""
    """The node at which targets cannot follow; empty where they can."""
    reason: str = ""
    """Why, and what to do about it, as two sentences."""

    @property
    def inputs(self) -> list[Port]:
        """All that tells how targets move: images before and after, and what feeds arguments."""
        found = [self.root]
        for step in self.steps:
            found += [step.before, *step.node.inputs.values(), step.after]
        return list(dict.fromkeys(found))


def geometry_path(graph: Graph, catalog: Catalog, image: Port) -> GeometryPath:
    """The geometric operators between a decoder and an image, in running order."""
    rules = geometry_rules()
    steps: list[GeometryStep] = []
    seen: set[Port] = set()
    while image not in seen and graph.has(image.node):
        seen.add(image)
        node = graph.node(image.node)
        spec = catalog.find(node.op)
        if spec is None:
            break
        if node.bodies:
            before = _through_region(graph, catalog, node, image)
            if before is None:
                return _blocked(image, steps, node, _REGION)
            image = before
            continue
        source = _image_input(graph, catalog, node, spec)
        if rules.moves(node.op) and source is not None:
            rule = rule_of(node, spec)
            if rule is None:
                return _blocked(image, steps, node, _arguments(node))
            steps.insert(0, GeometryStep(node, source, image, rule, is_decoder(spec)))
        elif source is None or decodes(spec):
            break
        elif not rules.keeps_places(spec):
            return _blocked(image, steps, node, _no_rule(node, spec))
        elif spec.category == "arithmetic" and _mixes(graph, catalog, node):
            return _blocked(image, steps, node, _MIXES)
        if is_decoder(spec):
            break
        image = source
    return GeometryPath(image, tuple(steps))


def frame_of(graph: Graph, catalog: Catalog, image: Port) -> Port:
    """The first image of those whose pixels have the places that they have in this one."""
    path = geometry_path(graph, catalog, image)
    return path.steps[-1].after if path.steps else path.root


def rule_of(node: Node, spec: OpSpec) -> GeometryRule | None:
    """The first of an operator's rules that its arguments allow."""
    for rule in geometry_rules().rules.get(node.op, ()):
        given = {*node.args, *node.inputs}
        fits = given.issuperset(rule.given) and given.isdisjoint(rule.absent)
        if fits and all(_allows(node, spec, name, known) for name, known in rule.values.items()):
            return rule
    return None


def value_of(node: Node, spec: OpSpec, name: str) -> Value | None:
    """An argument's fixed value or DALI's default; None where a link or nothing gives it."""
    if name in node.inputs:
        return None
    if name in node.args:
        return node.args[name]
    return spec.args[name].default if name in spec.args else None


def _allows(node: Node, spec: OpSpec, name: str, known: Collection[Value]) -> bool:
    return name not in spec.args or value_of(node, spec, name) in known


def _image_input(graph: Graph, catalog: Catalog, node: Node, spec: OpSpec) -> Port | None:
    """The image, or encoded image, that a node works on first."""
    for port in spec.inputs:
        source = node.inputs.get(port.name)
        kind = port_kind(graph, catalog, source) if source is not None else "any"
        if source is not None and kind in ("image", "mask", "encoded"):
            return source
    return None


def _mixes(graph: Graph, catalog: Catalog, node: Node) -> bool:
    kinds = [port_kind(graph, catalog, port) for port in node.inputs.values()]
    return kinds.count("image") > 1


def _through_region(graph: Graph, catalog: Catalog, region: Node, image: Port) -> Port | None:
    """What a region takes in as the image that it gives; None where its bodies move pixels."""
    found: set[Port] = set()
    for name, body in region.bodies.items():
        scope = region.scope(name)
        inside = graph.at_scope(scope)
        given = body.outputs.get(image.output)
        if given is None:
            return None
        path = geometry_path(inside, catalog, given)
        if path.blocked or path.steps or path.root.node != scope:
            return None
        found.add(region.inputs[path.root.output])
    return found.pop() if len(found) == 1 else None


_REGION = (
    "what is in it moves pixels for some samples only. Let targets follow inside the region, or "
    "give the operator random arguments instead"
)
_MIXES = "it mixes two images. Take the targets from before it"


def _no_rule(node: Node, spec: OpSpec) -> str:
    return (
        f"there is no rule by which targets follow {spec.name}. "
        f"Remove or mute {node.id}, or take the targets from before it"
    )


def _arguments(node: Node) -> str:
    given = ", ".join(name for name in (*node.args, *node.inputs)) or "none"
    return (
        f"there is no rule by which targets follow {node.op} with these arguments ({given}). "
        f"Give it others, remove or mute {node.id}"
    )


def _blocked(image: Port, steps: list[GeometryStep], node: Node, reason: str) -> GeometryPath:
    return GeometryPath(image, tuple(steps), node.id, reason)
