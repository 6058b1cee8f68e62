"""Create graphs for validation and inference: the same operators without randomness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.checks.check import check_graph
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.edits.compose import remove_nodes
from workbench.graph.edits.edit import free_id, without_idle_generators
from workbench.graph.execution.active import active_graph, set_muted
from workbench.graph.model import Graph, Node, Port, Source
from workbench.graph.model.node_order import ancestors
from workbench.graph.rewrites.cleanup import is_neutral
from workbench.graph.rewrites.normalize import crop_into_normalize
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.graph.variants.samples import with_fixed_generator
from workbench.sources import ORDER_OPTIONS

_HARMING = {
    *("erase", "grid_mask", "gaussian_blur", "jpeg_compression_distortion"),
    *("experimental.warp_perspective", "warp_affine"),
}
"""Operators that only augment images, and are removed if their arguments are random."""
_MOST_NUMBERS = 1000
"""Maximum number of values that replace a generator; arguments need only a few."""
_SHARE = 224 / 256
"""Fraction of the shorter side that ResNet's centre crop preserves."""


def validation_graph(typed: TypedGraph) -> Graph | None:
    """Return the graph without shuffling and randomness, or None if that is impossible.

    Random values are replaced by the middle of their range. A random crop becomes ResNet's centre
    crop, a coin flip is false, and augmentations that change only some images are removed.
    """
    graph, catalog = typed.graph, typed.catalog
    made: Graph | None = graph
    for node in graph.nodes:
        if isinstance(node, Source) and made is not None:
            args = {name: value for name, value in node.args.items() if name not in ORDER_OPTIONS}
            made = made.replace_node(replace(node, args=args))
    in_turn = sorted(graph.nodes, key=lambda node: is_generator(catalog[node.op]))
    for node in in_turn:
        if made is not None and made.has(node.id) and not isinstance(node, Source):
            made = _without_randomness(made, catalog, made.node(node.id))
    if made is None or set(made.outputs) != set(graph.outputs):
        return None
    for node in made.nodes:
        if "data" in node.inputs and not node.bodies and is_neutral(typed.for_graph(made), node):
            made = remove_nodes(made, catalog, [node.id])
    while (fused := next(crop_into_normalize.sites(typed.for_graph(made)), None)) is not None:
        made = fused
    is_random = any(node.seed is not None and not isinstance(node, Source) for node in made.walk())
    return None if is_random or check_graph(made, catalog) else made


def _without_randomness(graph: Graph, catalog: Catalog, node: Node) -> Graph | None:
    """Return the graph with a node's random values fixed, or None if that is impossible."""
    spec = catalog[node.op]
    inside = any(each.seed is not None for body in node.bodies.values() for each in body.nodes)
    deciding = [node.inputs[port.name] for port in spec.inputs if port.name in node.inputs]
    if node.bodies and (inside or _depends_on_seed(graph, deciding)):
        return remove_nodes(graph, catalog, [node.id])
    random = _depends_on_seed(graph, list(node.inputs.values()))
    if spec.module or node.op.startswith("noise.") or (random and node.op in _HARMING):
        return remove_nodes(graph, catalog, [node.id])
    if node.op == "random_resized_crop":
        return _centred(graph, node)
    if is_generator(spec) and node.seed is not None:
        return _without_generator(graph, catalog, node)
    return graph


def _depends_on_seed(graph: Graph, ports: list[Port]) -> bool:
    made = map(graph.node, ancestors(graph, ports))
    return any(node.seed is not None and not isinstance(node, Source) for node in made)


def _centred(graph: Graph, crop: Node) -> Graph | None:
    """Replace a random crop with ResNet's centre crop, or return None if its size is not fixed."""
    size = crop.args.get("size")
    given = size if isinstance(size, tuple) else (size, size)
    sides = tuple(side for side in given if isinstance(side, int | float))
    if len(sides) != 2 or len(given) != 2:
        return None
    shorter = round(min(sides) / _SHARE)
    copied = {n: v for n, v in crop.args.items() if n in ("interp_type", "antialias")}
    name = free_id(graph, "resize")
    resize = replace(
        crop, id=name, op="resize", args={"resize_shorter": shorter, **copied}, seed=None
    )
    centre = replace(
        crop, op="crop", args={"crop": sides}, inputs={"data": Port(name, "output")}, seed=None
    )
    return graph.substitute(crop.id, resize, centre)


def _without_generator(graph: Graph, catalog: Catalog, generator: Node) -> Graph | None:
    """Replace a generator with the middle of its range, or return None if that is impossible."""
    value = _middle_value(generator)
    if value is None:
        return None
    try:
        made = with_fixed_generator(graph, catalog, generator, value)
    except GraphEditError:
        return None
    for edge in graph.consumers(generator.id):  # a default is not written
        node = made.node(edge.target)
        if catalog[node.op].args[edge.input].default == value:
            made = made.replace_node(node.without({edge.input}))
    return without_idle_generators(made, catalog, generator)


def _middle_value(generator: Node) -> Value | None:
    """Return the middle of a generator's range, or False for a coin flip, or None if unknown."""
    if generator.inputs:
        return None
    shape = generator.args.get("shape")
    count = shape[0] if isinstance(shape, tuple) and len(shape) == 1 else None
    if shape is not None and not isinstance(count, int):
        return None
    limits = generator.args.get("range", (-1.0, 1.0))
    match generator.op, limits:
        case "random.coin_flip", _:
            middle: int | float = 0
        case "random.normal", _:
            mean = generator.args.get("mean", 0.0)
            if not isinstance(mean, int | float):
                return None
            middle = mean
        case "random.uniform", (int() | float() as low, int() | float() as high) if (
            "values" not in generator.args
        ):
            whole = low / 2 + high / 2  # their sum may overflow a float
            integral = whole == int(whole) or "INT" in str(generator.args.get("dtype"))
            middle = int(whole) if integral else whole
        case _:
            return None
    if not isinstance(count, int):
        return middle
    return (middle,) * count if 0 <= count <= _MOST_NUMBERS else None


# Inference: a graph without random augmentation

_TO_ONE_SIZE = ("crop", "crop_mirror_normalize", "decoders.video")
"""Operators that set the image size or decode. Only their random arguments are reset, to defaults.
"""


def inference_graph(typed: TypedGraph) -> tuple[Graph, Mapping[str, str], Sequence[str]]:
    """Return the graph without randomness, a description of each change, and the removed nodes.

    A crop at a random position becomes a centre crop, ``random_resized_crop`` becomes a resize of
    the whole image, and other random nodes are removed. The result may have faults if another node
    needs a removed node.
    """
    graph = typed.graph
    changed: dict[str, str] = {}
    muted: list[str] = []
    for node in graph.nodes:
        spec = typed.spec(node)
        if isinstance(node, Source) or is_generator(spec):
            continue
        random = _random_inputs(typed.for_graph(graph), node)
        own = spec.seeded or bool(spec.module)
        if node.op == "random_resized_crop":
            args = {name: value for name, value in node.args.items() if name in _OF_A_RESIZE}
            graph = graph.replace_node(replace(node, op="resize", args=args, seed=None))
            changed[node.id] = (
                f"{node.id} resizes the whole image instead of a random crop, so the aspect ratio "
                "may change."
            )
        elif random and node.op in _TO_ONE_SIZE and not random - _CENTRED:
            inputs = {name: port for name, port in node.inputs.items() if name not in random}
            graph = graph.replace_node(replace(node, inputs=inputs))
            changed[node.id] = f"{node.id} uses the default of {', '.join(sorted(random))}."
        elif own or random:
            muted.append(node.id)
    if not changed and not muted:
        return graph, {}, ()
    return active_graph(set_muted(graph, muted, True), typed.catalog), changed, muted


_OF_A_RESIZE = frozenset({"size", "interp_type", "antialias", "mag_filter", "min_filter", "dtype"})
_CENTRED = frozenset({"crop_pos_x", "crop_pos_y", "crop_pos_z", "mirror", "start_frame", "stride"})


def _random_inputs(typed: TypedGraph, node: Node) -> set[str]:
    """Return the names of a node's random arguments, and of its control input if that is random."""
    names = node.inputs.keys() & {*typed.spec(node).args, kind_of(node).control}
    return {
        name
        for name in names
        if any(
            is_generator(typed.spec(typed.graph.node(each)))
            for each in ancestors(typed.graph, [node.inputs[name]])
        )
    }
