"""Which geometric operators an image came through, and by which rule targets follow each.

A *frame* is a system of coordinates: that of an image and of all that leave its pixels in their
places. Targets lie in one frame; a follower carries them into another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from workbench.catalog.geometry import GeometryRule, geometry_rules
from workbench.catalog.spec import OpSpec, Value
from workbench.graph.annotations.mixes import Mix, mix_of
from workbench.graph.control_flow.kinds import kind_of
from workbench.graph.model import Node, Port, block_of
from workbench.graph.types.devices import decodes, is_decoder
from workbench.graph.types.typed_graph import TypedGraph


@dataclass(frozen=True, slots=True)
class GeometryStep:
    """One operator that moves pixels, and the rule by which targets follow it; or a block.

    The rule of a block says what any of its bodies does.
    """

    node: Node
    before: Port
    """The image that it takes; of a decoder the encoded one."""
    after: Port
    rule: GeometryRule
    decodes: bool = False
    bodies: Mapping[str, GeometryPath] = field(default_factory=dict)
    """Of a block: what moves pixels in each of its bodies."""
    mix: Mix | None = None
    """Of a sum of two images of a batch: what tells how targets of both lie on it."""


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
    def frame(self) -> Port:
        """The first image of those whose pixels have the places that they have at its end."""
        return self.steps[-1].after if self.steps else self.root

    @property
    def inputs(self) -> list[Port]:
        """All that tells how targets move: images before and after, and what feeds arguments."""
        found = [self.root]
        for step in self.steps:
            own = step.mix.ports if step.mix else step.node.inputs.values()
            found += [step.before, *own, step.after]
        return list(dict.fromkeys(found))

    @property
    def start(self) -> Port:
        """What the first step takes: of a decoder that crops the encoded image."""
        crops = self.steps and self.steps[0].decodes
        return self.steps[0].before if crops else self.root

    def walk(self) -> Iterator[GeometryStep]:
        """Every step, also those inside blocks."""
        for step in self.steps:
            yield step
            for path in step.bodies.values():
                yield from path.walk()

    @property
    def in_shares(self) -> bool:
        """Whether the whole image is in the last one, mirrored at most.

        Places in shares of the sides stay or are mirrored, up to a quarter of a pixel.
        """
        resizes = [step.rule for step in self.steps if step.rule.flips == {} and step.rule.map]
        grows = any(rule.rounds for rule in resizes[:-1])  # what the first of two was off
        return not grows and all(step.rule.flips is not None for step in self.steps)

    @property
    def resamplings(self) -> int:
        """How often at most the image is read between its pixels."""
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
        """Whether masks go by one affine map at the end, that they may not be rounded each time."""
        affine = not any(step.rule.homography or step.mix for step in self.walk())
        return affine and (self.uncalled or self.resamplings > 1)

    @property
    def uncalled(self) -> bool:
        """Whether there is an operator that has no call for masks."""
        return any(call.op == "" for step in self.walk() for call in step.rule.calls or ())

    @property
    def brings_back(self) -> bool:
        """Whether what an operator cut off has a place again in a later image."""
        cut = False
        for step in self.steps:
            turns = [path.brings_back for path in step.bodies.values()]
            again = step.bodies and step.rule.cuts and step.rule.reveals  # in another turn
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
    frames: dict[Port, Port] | None = None,
) -> GeometryPath:
    """The geometric operators between a decoder and an image, in running order.

    ``first`` is where to begin in place of the decoder: an image that this one is made from. For
    targets that are ``placeless``, as the class of an image is, no operator needs a rule. Images
    whose frames were found on the way are put into ``frames``.
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
            through = _through_block(typed, node, image)
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
                return _blocked(image, steps, node, _arguments(node, spec))
            if rule is not None and not _moves_nothing(node, spec, rule):
                steps.insert(0, GeometryStep(node, source, image, rule, is_decoder(spec)))
        elif source is None or decodes(spec):
            break
        elif spec.category == "arithmetic" and (others := _others(typed, node, source)):
            mix = mix_of(graph, node)
            if mix is not None:
                steps.insert(0, GeometryStep(node, mix.source, image, _WHOLE, mix=mix))
                source = mix.source
            elif not placeless:
                for each in (source, *others):  # found once, however often sums stand in sums
                    if each not in frames:
                        path = geometry_path(typed, each, first, frames=frames)
                        frames[each] = path.frame
                of = list(dict.fromkeys(frames[each] for each in (source, *others)))
                if len(of) > 1:
                    return _blocked(image, steps, node, _mixes(of))
        elif not rules.keeps_places(spec) and not placeless:
            return _blocked(image, steps, node, _no_rule(node, spec))
        if is_decoder(spec):
            break
        image = source
    return GeometryPath(image, tuple(steps))


def frame_of(typed: TypedGraph, image: Port, first: Port | None = None) -> Port:
    """The first image of those whose pixels have the places that they have in this one."""
    return geometry_path(typed, image, first).frame


def rule_of(node: Node, spec: OpSpec) -> GeometryRule | None:
    """The first of an operator's rules that its arguments allow."""
    for rule in geometry_rules().rules.get(node.op, ()):
        given = {*node.args, *node.inputs}
        fits = given.issuperset(rule.given) and given.isdisjoint(rule.absent)
        if fits and all(_allows(node, spec, name, known) for name, known in rule.values.items()):
            return rule
    return None


def flips_of(node: Node, spec: OpSpec, rule: GeometryRule) -> dict[str, str]:
    """The arguments by which an operator may mirror the whole image, by direction."""
    flips = rule.flips or {}
    return {way: name for way, name in flips.items() if value_of(node, spec, name) != 0}


def _moves_nothing(node: Node, spec: OpSpec, rule: GeometryRule) -> bool:
    """Whether an operator that could mirror the image does not, and does nothing else to places."""
    return bool(rule.flips) and not flips_of(node, spec, rule)


def value_of(node: Node, spec: OpSpec, name: str) -> Value | None:
    """An argument's fixed value or DALI's default; None where a link or nothing gives it."""
    if name in node.inputs:
        return None
    if name in node.args:
        return node.args[name]
    return spec.args[name].default if name in spec.args else None


def _allows(node: Node, spec: OpSpec, name: str, known: Collection[Value]) -> bool:
    return name not in spec.args or value_of(node, spec, name) in known


def _image_input(typed: TypedGraph, node: Node, spec: OpSpec) -> Port | None:
    """The image that a node works on first; where it has none, the mask or encoded image."""
    given = [port for each in spec.inputs if (port := node.inputs.get(each.name)) is not None]
    kinds = {port: typed.kind(port) for port in reversed(given)}
    by_kind = {kind: port for port, kind in kinds.items()}
    return next((by_kind[kind] for kind in ("image", "mask", "encoded") if kind in by_kind), None)


def _others(typed: TypedGraph, node: Node, source: Port) -> list[Port]:
    """The images that a node works on beside its first."""
    return [port for port in node.inputs.values() if port != source and typed.kind(port) == "image"]


def _through_block(typed: TypedGraph, block: Node, image: Port) -> GeometryStep | GeometryPath:
    """A block as one step, without bodies where none moves pixels; or what is in the way."""
    paths: dict[str, GeometryPath] = {}
    found: set[str] = set()
    for name, body in block.bodies.items():
        scope = block.scope(name)
        given = body.outputs.get(image.output)
        path = geometry_path(typed.at_scope(scope), given) if given is not None else None
        if path is not None and path.blocked:
            return path
        mixed = next((step for step in path.walk() if step.mix), None) if path else None
        if mixed is not None:
            return _blocked(image, [], mixed.node, _MIXED_INSIDE)
        if path is None or path.root.node != scope or path.root.output not in block.inputs:
            return _blocked(image, [], block, _OTHER_IMAGE)
        paths[name] = path
        found.add(path.root.output)
    taken = found.pop()
    if found or (typed.spec(block).consecutive and taken != image.output):
        return _blocked(image, [], block, _OTHER_IMAGE)
    inner = [step.rule for path in paths.values() for step in path.steps]
    rule = GeometryRule(
        cuts=any(rule.cuts for rule in inner), reveals=any(rule.reveals for rule in inner)
    )
    return GeometryStep(block, block.inputs[taken], image, rule, bodies=paths if inner else {})


def cut_before(typed: TypedGraph, image: Port) -> bool:
    """Whether an operator may have cut off parts of an image on its way."""
    typed = typed.whole
    graph = typed.graph
    if not graph.has(image.node):  # what a body takes in; of others in turn what another gave
        block = graph.node(block_of(image.node))
        given = Port(block.id, image.output)
        outer = given if typed.spec(block).consecutive else block.inputs[image.output]
        return cut_before(typed, outer)
    path = geometry_path(typed, image)
    inside = "." in path.root.node and cut_before(typed, path.root)
    return inside or any(step.rule.cuts for step in path.steps)


_WHOLE = GeometryRule(exact=True, calls=())
"""Pixels keep their places."""
_OTHER_IMAGE = (
    "its bodies do not all give what becomes of one image. Take the targets from before it, or "
    "give the same image to all of its bodies"
)
_MIXED_INSIDE = (
    "it mixes images of a part of the batch, inside a block. Mix the images outside of it"
)


def _mixes(frames: Collection[Port]) -> str:
    given = " and of ".join(port.node for port in frames)
    return (
        f"it mixes images of {given}, whose pixels may have other places, and targets of each "
        "would lie on what it gives. Take the targets from before it, or move all of them alike, "
        "by one operator behind it"
    )


def _no_rule(node: Node, spec: OpSpec) -> str:
    return (
        f"there is no rule by which targets follow {spec.name}. "
        f"Remove or mute {node.id}, or take the targets from before it"
    )


def _arguments(node: Node, spec: OpSpec) -> str:
    given = ", ".join(name for name in (*node.args, *node.inputs)) or "none"
    rules = geometry_rules().rules[node.op]
    nearest = min((_lacks(node, spec, rule) for rule in rules), key=len)
    return (
        f"there is no rule by which targets follow {node.op} with these arguments ({given}), but "
        f"one {' and '.join(nearest)}. Change these, remove or mute {node.id}"
    )


def _lacks(node: Node, spec: OpSpec, rule: GeometryRule) -> list[str]:
    """What a node's arguments would have to be for a rule to hold, each in words."""
    given = {*node.args, *node.inputs}
    found = [f"with {name}" for name in rule.given if name not in given]
    found += [f"without {name}" for name in rule.absent if name in given]
    for name, known in rule.values.items():
        if not _allows(node, spec, name, known):
            found.append(f"with {name} = {' or '.join(map(repr, known))}")
    return found


def _blocked(image: Port, steps: list[GeometryStep], node: Node, reason: str) -> GeometryPath:
    return GeometryPath(image, tuple(steps), node.id, reason)
