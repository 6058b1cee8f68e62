"""Find the geometric operators applied to an image, and their rules for transforming annotations.

A *frame* is a coordinate system, shared by an image and all images derived from it without moving
pixels. Annotations belong to one frame; a follower transforms them to another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.catalog.geometry import GeometryRule, geometry_rules
from workbench.catalog.spec import OpSpec, Value
from workbench.graph.annotations.mixes import Mix, mix_of
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.model import Node, Port, block_of
from workbench.graph.types.devices import decodes, is_decoder
from workbench.graph.types.typed_graph import TypedGraph


@dataclass(frozen=True, slots=True)
class GeometryStep:
    """A node that moves pixels: an operator with its annotation rule, or a block.

    The rule of a block combines the rules of its bodies.
    """

    node: Node
    before: Port
    """The step's input image; for a decoder, the encoded image."""
    after: Port
    rule: GeometryRule
    decodes: bool = False
    bodies: Mapping[str, GeometryPath] = field(default_factory=dict)
    """Geometric steps in each body of a block, by body name."""
    mix: Mix | None = None
    """The mix that a sum of two images computes, or None for other steps."""


@dataclass(frozen=True, slots=True)
class GeometryPath:
    """The geometric steps that were applied to an image since decoding."""

    root: Port
    """The image before the first step, to which the annotations belong."""
    steps: tuple[GeometryStep, ...]
    blocked: str = ""
    """Id of the node that prevents annotations from following; empty if they can follow."""
    reason: str = ""
    """Two sentences: why the node ``blocked`` prevents annotations from following, and a fix."""

    @property
    def frame(self) -> Port:
        """Port of the first image that has the same pixel positions as the last one."""
        return self.steps[-1].after if self.steps else self.root

    @property
    def inputs(self) -> list[Port]:
        """Ports that determine how pixels move: the images and inputs of all steps."""
        found = [self.root]
        for step in self.steps:
            own = step.mix.ports if step.mix else step.node.inputs.values()
            found += [step.before, *own, step.after]
        return list(dict.fromkeys(found))

    @property
    def start(self) -> Port:
        """Input image of the first step; for a cropping decoder, the encoded image."""
        crops = self.steps and self.steps[0].decodes
        return self.steps[0].before if crops else self.root

    def walk(self) -> Iterator[GeometryStep]:
        """Iterate over all steps, including steps inside blocks."""
        for step in self.steps:
            yield step
            for path in step.bodies.values():
                yield from path.walk()

    @property
    def keeps_relative_positions(self) -> bool:
        """Whether the last image shows the whole first image, possibly mirrored.

        Relative positions are then unchanged or mirrored, within a quarter of a pixel.
        """
        resizes = [step.rule for step in self.steps if step.rule.flips == {} and step.rule.map]
        grows = any(rule.rounds for rule in resizes[:-1])  # the offset of the first of two
        return not grows and all(step.rule.flips is not None for step in self.steps)

    @property
    def resamplings(self) -> int:
        """Maximum number of times that the image is interpolated along the path."""
        count = 0
        for step in self.steps:
            inner = [path.resamplings for path in step.bodies.values()]
            if inner:
                count += (kind_of(step.node).repetitions(step.node) or 1) * sum(inner)
            else:
                count += not step.rule.exact
        return count

    @property
    def in_one_warp(self) -> bool:
        """Whether all steps are applied to masks as one affine map, to avoid repeated rounding."""
        affine = not any(step.rule.homography or step.mix for step in self.walk())
        return affine and (self.lacks_mask_call or self.resamplings > 1)

    @property
    def lacks_mask_call(self) -> bool:
        """Whether any step has no operator call that transforms masks."""
        return any(call.op == "" for step in self.walk() for call in step.rule.calls or ())

    @property
    def reuses_cropped_region(self) -> bool:
        """Whether a region that one step crops may be visible again after a later step."""
        cut = False
        for step in self.steps:
            turns = [path.reuses_cropped_region for path in step.bodies.values()]
            again = step.bodies and step.rule.cuts and step.rule.reveals  # in another iteration
            if any(turns) or again or (cut and step.rule.reveals):
                return True
            cut |= step.rule.cuts
        return False


def geometry_path(
    typed: TypedGraph,
    image: Port,
    first: Port | None = None,
    *,
    placeless: bool = False,
    covers: bool = False,
    frames: dict[Port, Port] | None = None,
) -> GeometryPath:
    """Return the geometric operators between a decoder and an image, in topological order.

    ``first`` is an earlier image at which the path starts instead of the decoder. If ``placeless``
    is true, the annotations have no positions, such as the class of an image, so operators need no
    rule. If ``covers`` is true, operators that cover pixels are steps. The frame of each
    intermediate image is added to ``frames``.
    """
    graph, frames = typed.graph, {} if frames is None else frames
    rules = geometry_rules()
    steps: list[GeometryStep] = []
    seen: set[Port] = set()
    while image != first and image not in seen and graph.has(image.node):
        seen.add(image)
        node = graph.node(image.node)
        spec = typed.catalog.find(node.op)
        if spec is None:
            break
        if node.bodies:
            through = _through_block(typed, node, image, covers)
            if isinstance(through, GeometryPath):
                return GeometryPath(image, tuple(steps), through.blocked, through.reason)
            if through.bodies:
                steps.insert(0, through)
            image = through.before
            continue
        source = _image_input(typed, node, spec)
        if rules.moves(node.op) and source is not None:
            rule = rule_of(node, spec)
            if rule is None and not placeless:
                return _blocked_path(image, steps, node, _arguments_reason(node, spec))
            if rule is not None and not _moves_nothing(node, spec, rule):
                steps.insert(0, GeometryStep(node, source, image, rule, is_decoder(spec)))
        elif source is None or decodes(spec):
            break
        elif spec.category == "arithmetic" and (others := _other_images(typed, node, source)):
            mix = mix_of(graph, node)
            if mix is not None:
                steps.insert(0, GeometryStep(node, mix.source, image, _WHOLE, mix=mix))
                source = mix.source
            elif not placeless:
                for each in (source, *others):  # computed once, however deeply sums are nested
                    if each not in frames:
                        path = geometry_path(typed, each, first, frames=frames)
                        frames[each] = path.frame
                of = list(dict.fromkeys(frames[each] for each in (source, *others)))
                if len(of) > 1:
                    return _blocked_path(image, steps, node, _mixing_reason(of))
        elif covers and spec.category == "occlusion":
            if reason := _cover_reason(node, spec):
                return _blocked_path(image, steps, node, reason)
            steps.insert(0, GeometryStep(node, source, image, _COVER))
        elif not rules.keeps_places(spec) and not placeless:
            return _blocked_path(image, steps, node, _missing_rule_reason(node, spec))
        if is_decoder(spec):
            break
        image = source
    return GeometryPath(image, tuple(steps))


def frame_of(typed: TypedGraph, image: Port, first: Port | None = None) -> Port:
    """Return the port of the first image that has the same pixel positions as ``image``."""
    return geometry_path(typed, image, first).frame


def rule_of(node: Node, spec: OpSpec) -> GeometryRule | None:
    """Return the first annotation rule whose conditions the node's arguments meet, or None."""
    for rule in geometry_rules().rules.get(node.op, ()):
        given = {*node.args, *node.inputs}
        fits = given.issuperset(rule.given) and given.isdisjoint(rule.absent)
        if fits and all(_allows(node, spec, name, known) for name, known in rule.values.items()):
            return rule
    return None


def flips_of(node: Node, spec: OpSpec, rule: GeometryRule) -> dict[str, str]:
    """Return the node's arguments that may mirror the image, by direction."""
    flips = rule.flips or {}
    return {way: name for way, name in flips.items() if value_of(node, spec, name) != 0}


def _moves_nothing(node: Node, spec: OpSpec, rule: GeometryRule) -> bool:
    return bool(rule.flips) and not flips_of(node, spec, rule)


def value_of(node: Node, spec: OpSpec, name: str) -> Value | None:
    """Return the argument's fixed value or DALI's default, or None if it is linked or unset."""
    if name in node.inputs:
        return None
    if name in node.args:
        return node.args[name]
    return spec.args[name].default if name in spec.args else None


def _allows(node: Node, spec: OpSpec, name: str, known: Collection[Value]) -> bool:
    return name not in spec.args or value_of(node, spec, name) in known


def _image_input(typed: TypedGraph, node: Node, spec: OpSpec) -> Port | None:
    """Return a node's image, mask or encoded input, in this order of preference, or None."""
    given = [port for each in spec.inputs if (port := node.inputs.get(each.name)) is not None]
    kinds = {port: typed.kind(port) for port in reversed(given)}
    by_kind = {kind: port for port, kind in kinds.items()}
    return next((by_kind[kind] for kind in ("image", "mask", "encoded") if kind in by_kind), None)


def _other_images(typed: TypedGraph, node: Node, source: Port) -> list[Port]:
    return [port for port in node.inputs.values() if port != source and typed.kind(port) == "image"]


def _through_block(
    typed: TypedGraph, block: Node, image: Port, covers: bool
) -> GeometryStep | GeometryPath:
    """Represent a block as one step, with empty ``bodies`` if the block does not move pixels.

    Returns a blocked path if annotations cannot follow through the block.
    """
    paths: dict[str, GeometryPath] = {}
    found: set[str] = set()
    for name, body in block.bodies.items():
        scope = block.scope(name)
        given = body.outputs.get(image.output)
        at = typed.at_scope(scope)
        path = geometry_path(at, given, covers=covers) if given is not None else None
        if path is not None and path.blocked:
            return path
        mixed = next((step for step in path.walk() if step.mix), None) if path else None
        if mixed is not None:
            return _blocked_path(image, [], mixed.node, _MIXED_INSIDE)
        if path is None or path.root.node != scope or path.root.output not in block.inputs:
            return _blocked_path(image, [], block, _OTHER_IMAGE)
        paths[name] = path
        found.add(path.root.output)
    taken = found.pop()
    if found or (typed.spec(block).consecutive and taken != image.output):
        return _blocked_path(image, [], block, _OTHER_IMAGE)
    inner = [step.rule for path in paths.values() for step in path.steps]
    rule = GeometryRule(
        cuts=any(rule.cuts for rule in inner), reveals=any(rule.reveals for rule in inner)
    )
    return GeometryStep(block, block.inputs[taken], image, rule, bodies=paths if inner else {})


def may_be_cropped(typed: TypedGraph, image: Port) -> bool:
    """Return whether parts of an image may be missing because an operator cropped it."""
    typed = typed.whole
    graph = typed.graph
    if not graph.has(image.node):  # inputs of the body, or another body's output
        block = graph.node(block_of(image.node))
        given = Port(block.id, image.output)
        outer = given if typed.spec(block).consecutive else block.inputs[image.output]
        return may_be_cropped(typed, outer)
    path = geometry_path(typed, image)
    inside = "." in path.root.node and may_be_cropped(typed, path.root)
    return inside or any(step.rule.cuts for step in path.steps)


_WHOLE = GeometryRule(exact=True, calls=())
_COVER = GeometryRule(exact=True, calls=(), covers=True)
_OTHER_IMAGE = (
    "its bodies do not all output a version of the same image. Use annotations from "
    "before it, or pass the same image through all of its bodies"
)
_UNKNOWN_COVER = "what it covers is unknown, because {}. {}, or reset covered of the follower"
_MIXED_INSIDE = (
    "it mixes images of a part of the batch, inside a block. Mix the images outside the block"
)


def _mixing_reason(frames: Collection[Port]) -> str:
    given = " and of ".join(port.node for port in frames)
    return (
        f"it mixes images of {given}, whose pixels may be at different positions, so annotations "
        "of each would be misplaced. Use annotations from before it, or move all images in the "
        "same way, with one operator after it"
    )


def _cover_reason(node: Node, spec: OpSpec) -> str:
    """Explain why the pixels that a node covers are unknown, or return ""."""
    if node.op == "erase":
        axes = {*str(value_of(node, spec, "axis_names"))}
        if {"anchor", "shape"} - {*node.args, *node.inputs}:
            return _UNKNOWN_COVER.format("anchor and shape are not both set", "Set both")
        if "axes" in node.args or not axes <= {"H", "W"}:
            return _UNKNOWN_COVER.format("its axes are not H and W", "Set axis_names to HW")
    return ""


def _missing_rule_reason(node: Node, spec: OpSpec) -> str:
    return (
        f"there is no rule by which annotations follow {spec.name}. Remove or mute {node.id!r}, "
        "or use annotations from before it"
    )


def _arguments_reason(node: Node, spec: OpSpec) -> str:
    given = ", ".join(name for name in (*node.args, *node.inputs)) or "none"
    rules = geometry_rules().rules[node.op]
    nearest = min((_unmet_requirements(node, spec, rule) for rule in rules), key=len)
    return (
        f"there is no rule by which annotations follow {node.op} with these arguments ({given}), "
        f"but one {' and '.join(nearest)}. Change these, or remove or mute {node.id!r}"
    )


def _unmet_requirements(node: Node, spec: OpSpec, rule: GeometryRule) -> list[str]:
    """Describe the requirements of a rule that a node's arguments do not meet."""
    given = {*node.args, *node.inputs}
    found = [f"with {name}" for name in rule.given if name not in given]
    found += [f"without {name}" for name in rule.absent if name in given]
    for name, known in rule.values.items():
        if not _allows(node, spec, name, known):
            found.append(f"with {name} = {' or '.join(map(repr, known))}")
    return found


def _blocked_path(image: Port, steps: list[GeometryStep], node: Node, reason: str) -> GeometryPath:
    return GeometryPath(image, tuple(steps), node.id, reason)
