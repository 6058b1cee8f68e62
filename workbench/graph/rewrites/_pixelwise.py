"""Which nodes compute each pixel from that pixel alone, and which only choose pixels."""

from __future__ import annotations

from collections.abc import Callable

from workbench.graph.model import Node, Port
from workbench.graph.rewrites._places import (
    data_name,
    flow_into,
    is_given,
    is_value,
    next_node,
    output_of,
)
from workbench.graph.types.tensor_type import Extents, TensorType
from workbench.graph.types.typed_graph import TypedGraph

COLOUR = frozenset(
    {
        "brightness",
        "brightness_contrast",
        "cast",
        "color_space_conversion",
        "color_twist",
        "contrast",
        "hsv",
        "hue",
        "lookup_table",
        "saturation",
    }
)
"""A pixel of what they give is a function of that pixel and of arguments of the sample."""

_CUTS = frozenset({"crop", "slice"})


def is_pixelwise(typed: TypedGraph, node: Node) -> bool:
    """Whether a node gives for each pixel a function of it and of numbers of the sample.

    ``contrast`` counts: its centre is an argument. What draws for each pixel (noise) or looks at
    others (``equalize``, blur) does not. A block counts in which all that works on the image does.
    """
    if node.muted:
        return False
    if node.bodies:
        return leads_through(typed, node, is_pixelwise)
    if node.op in COLOUR:
        return True
    if node.op == "normalize":
        return node.args.keys() <= _FIXED and len(node.inputs) == 1 and _numbers(node)
    if typed.spec(node).category != "arithmetic" or node.op == "shape":
        return False
    flows = typed.types
    first, *others = node.inputs
    image = flow_into(typed, node)
    same = all(_for_all_pixels(flows[node.inputs[name]].shape, image) for name in others)
    return first == typed.spec(node).inputs[0].name and bool(image.shape) and same


def _for_all_pixels(shape: Extents | None, image: TensorType) -> bool:
    """Whether an operand is a number, or one for each channel where these stand last."""
    if shape is None or shape == ():
        return shape == ()
    ones = all(extent == 1 for extent in shape[:-1])
    return ones and image.layout == "HWC" and len(shape) <= 3 and shape[-1] in (1, image.channels)


_FIXED = {"mean", "stddev", "scale", "shift", "dtype"}


def _numbers(normalize: Node) -> bool:
    """Whether it takes mean and deviation as one number each, and looks at no pixel for them."""
    values = (normalize.args.get(name) for name in ("mean", "stddev"))
    return all(isinstance(value, int | float) for value in values)


def chooses_pixels(typed: TypedGraph, node: Node) -> bool:
    """Whether a node gives pixels of its input as they are, and no others: crops, slices, flips."""
    if node.muted or is_given(node, "dtype", "output_dtype"):
        return False
    if node.bodies:
        return leads_through(typed, node, _flips)
    if node.op == "flip":
        return True
    inside = node.op in _CUTS and is_value(typed, node, "out_of_bounds_policy", "error")
    if not inside or node.op == "crop":
        return inside
    if "axes" in node.args:
        return flow_into(typed, node).layout == "HWC" and _within(node, {0, 1})
    names = node.args.get("axis_names", "WH")
    return isinstance(names, str) and set(names) <= {"W", "H"}


def _within(node: Node, axes: set[int]) -> bool:
    found = node.args["axes"]
    return isinstance(found, tuple) and set(found) <= axes


def leads_to_cut(typed: TypedGraph, node: Node | None) -> bool:
    """Whether a node cuts pixels off, or turns them on the way to one that does."""
    while node is not None and chooses_pixels(typed, node):
        if node.op in _CUTS:
            return True
        node = next_node(typed, node)
    return False


def _flips(typed: TypedGraph, node: Node) -> bool:
    return (node.op == "flip" or bool(node.bodies)) and chooses_pixels(typed, node)


def leads_through(typed: TypedGraph, block: Node, test: Callable[[TypedGraph, Node], bool]) -> bool:
    """Whether a block gives one value, and each body leads it through nodes that pass a test.

    Nothing else inside may look at it on the way.
    """
    name = data_name(typed, block)
    if name not in block.inputs or any({*b.outputs} != {name} for b in block.bodies.values()):
        return False
    return all(
        _leads(typed.at_scope(block.scope(key)), Port(block.scope(key), name), test)
        for key in block.bodies
    )


def _leads(typed: TypedGraph, entry: Port, test: Callable[[TypedGraph, Node], bool]) -> bool:
    body = typed.graph
    port = body.outputs[entry.output]
    on_the_way, expected = {port}, set()
    while port != entry:
        node = next((each for each in body.nodes if each.id == port.node), None)
        name = data_name(typed, node) if node is not None else ""
        if node is None or name not in node.inputs or port != output_of(typed, node):
            return False
        if not test(typed, node):
            return False
        port = node.inputs[name]
        on_the_way.add(port)
        expected.add((node.id, name))
    looked_at = {
        (node.id, name)
        for node in body.nodes
        for name, fed in node.inputs.items()
        if fed in on_the_way
    }
    return looked_at == expected
