"""Query and edit a body. The functions are shared by the rewrites."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace

from workbench.catalog.spec import Value
from workbench.graph.annotations.geometry import value_of
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.ports import outputs_of
from workbench.graph.types.tensor_type import Extents, TensorType
from workbench.graph.types.typed_graph import TypedGraph

CROP_WINDOW = (
    "crop", "crop_h", "crop_w", "crop_d", "crop_pos_x", "crop_pos_y", "crop_pos_z", "rounding",
    "out_of_bounds_policy",
)  # fmt: skip
"""Arguments that define the window of a crop."""


def pairs(
    typed: TypedGraph, before: Collection[str], after: Collection[str]
) -> Iterator[tuple[Node, Node]]:
    """Yield pairs of nodes with these operators. The second is the first one's only consumer."""
    for node in typed.graph.nodes:
        if node.op in after:
            feeding = fed_by(typed, node)
            if feeding is not None and feeding.op in before:
                yield feeding, node


def fed_by(typed: TypedGraph, node: Node) -> Node | None:
    """Return the node that feeds a node's data input, or None if that node has other consumers."""
    graph = typed.graph
    port = node.inputs.get(data_name(typed, node))
    if port is None or node.muted or not any(each.id == port.node for each in graph.nodes):
        return None
    feeding = graph.node(port.node)
    alone = len(graph.consumers(feeding.id)) == 1 and port.node not in _given(graph)
    return feeding if alone and not feeding.muted else None


def next_node(typed: TypedGraph, node: Node) -> Node | None:
    """Return a node's only consumer, or None unless the node feeds the consumer's data input."""
    edges = typed.graph.consumers(node.id)
    if len(edges) != 1:
        return None
    following = typed.graph.node(edges[0].target)
    feeding = fed_by(typed, following)
    return following if feeding is not None and feeding.id == node.id else None


def _given(graph: Graph) -> set[str]:
    return {port.node for port in graph.outputs.values()}


def data_name(typed: TypedGraph, node: Node) -> str:
    """Return the name of a node's data input, or an empty string if it has none.

    For a block, this is the input that has the name of the block's first output.
    """
    spec = typed.catalog.find(node.op)
    if spec is None:
        return ""
    ports = outputs_of(node, spec) if node.bodies else spec.inputs
    return ports[0].name if ports else ""


def input_type(typed: TypedGraph, node: Node) -> TensorType:
    port = node.inputs.get(data_name(typed, node))
    return typed.types.get(port, TensorType()) if port else TensorType()


def has_args(node: Node, *names: str) -> bool:
    """Return whether any of the named arguments has a value or a link."""
    return any(name in node.args or name in node.inputs for name in names)


def set_arguments(node: Node, *names: str) -> dict[str, Value | Port]:
    """Return the values or source ports of those of the named arguments that are set."""
    every: Mapping[str, Value | Port] = {**node.args, **node.inputs}
    return {name: every[name] for name in names if name in every}


def is_value(typed: TypedGraph, node: Node, name: str, *allowed: Value) -> bool:
    """Return whether an argument's fixed value, explicit or default, is one of ``allowed``."""
    return value_of(node, typed.spec(node), name) in allowed


def with_args(node: Node, changes: Mapping[str, Value | Port], *without: str) -> Node:
    """Return the node with the arguments ``changes`` set and the arguments ``without`` removed."""
    cleared = node.without({*changes, *without})
    links = {name: value for name, value in changes.items() if isinstance(value, Port)}
    values = {name: value for name, value in changes.items() if not isinstance(value, Port)}
    return cleared.with_args(values).fed(links)


def output_of(typed: TypedGraph, node: Node) -> Port:
    return Port(node.id, outputs_of(node, typed.spec(node))[0].name)


def merge_nodes(typed: TypedGraph, first: Node, second: Node, merged: Node) -> Graph:
    """Replace ``second`` by ``merged`` and remove ``first``, which is connected to ``second``.

    ``merged`` is connected to the source of ``first``, and has the id of ``first`` or ``second``.
    """
    source = first.inputs[typed.spec(first).inputs[0].name]
    name = typed.spec(merged).inputs[0].name
    merged = merged.fed({name: source})
    return replace_node(typed, second, merged, removed=[first.id])


def replace_node(typed: TypedGraph, old: Node, new: Node, removed: Collection[str] = ()) -> Graph:
    """Replace ``old`` by ``new``, remove the nodes ``removed``, and return the graph."""
    after = typed.graph.substitute(old.id, new)
    left = tuple(node for node in after.nodes if node.id not in removed or node is new)
    ports = {output_of(typed, old): output_of(typed, new)}
    return replace(after, nodes=left).rewire(ports)


def bypass(typed: TypedGraph, node: Node) -> Graph:
    """Connect the consumers of a node to the source of its data input, and remove the node."""
    source = node.inputs[data_name(typed, node)]
    after = typed.graph.rewire({output_of(typed, node): source})
    return replace(after, nodes=tuple(other for other in after.nodes if other.id != node.id))


def fed_through_flips(typed: TypedGraph, node: Node) -> Node | None:
    """Return the node that feeds a node directly or through flips, or None (see ``fed_by``)."""
    feeding = fed_by(typed, node)
    while feeding is not None and feeding.op == "flip":
        feeding = fed_by(typed, feeding)
    return feeding


def swap_nodes(typed: TypedGraph, first: Node, second: Node) -> Graph:
    """Swap two consecutive nodes, so that ``second`` runs before ``first``."""
    graph = typed.graph
    into_first, into_second = (data_name(typed, node) for node in (first, second))
    source, old = first.inputs[into_first], output_of(typed, second)
    graph = graph.rewire({old: output_of(typed, first)})
    earlier = second.fed({into_second: source})
    later = first.fed({into_first: old})
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.id == first.id:
            nodes += [earlier, later]
        elif node.id != second.id:
            nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


# Which nodes compute each pixel from that pixel only, and which only select pixels.

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
"""Operators that compute each output pixel only from the same input pixel and arguments."""

_CUTS = frozenset({"crop", "slice"})


def is_pixelwise(typed: TypedGraph, node: Node) -> bool:
    """Return whether a node computes each output pixel only from the same pixel and arguments.

    This includes ``contrast``, whose centre is an argument. It excludes random values per pixel
    (noise) and operators that use other pixels (``equalize``, blur). A block is pixelwise if all
    nodes in it that process the image are.
    """
    if node.muted:
        return False
    if node.bodies:
        return bodies_pass_through(typed, node, is_pixelwise)
    if node.op in COLOUR:
        return True
    if node.op == "normalize":
        return node.args.keys() <= _FIXED and len(node.inputs) == 1 and _has_fixed_statistics(node)
    if typed.spec(node).category != "arithmetic" or node.op == "shape":
        return False
    flows = typed.types
    first, *others = node.inputs
    image = input_type(typed, node)
    same = all(_applies_to_all_pixels(flows[node.inputs[name]].shape, image) for name in others)
    return first == typed.spec(node).inputs[0].name and bool(image.shape) and same


def _applies_to_all_pixels(shape: Extents | None, image: TensorType) -> bool:
    """Return whether an operand is a scalar or an array with a number per channel (HWC image)."""
    if shape is None or shape == ():
        return shape == ()
    ones = all(extent == 1 for extent in shape[:-1])
    return ones and image.layout == "HWC" and len(shape) <= 3 and shape[-1] in (1, image.channels)


_FIXED = {"mean", "stddev", "scale", "shift", "dtype"}


def _has_fixed_statistics(normalize: Node) -> bool:
    values = (normalize.args.get(name) for name in ("mean", "stddev"))
    return all(isinstance(value, int | float) for value in values)


def chooses_pixels(typed: TypedGraph, node: Node) -> bool:
    """Return whether a node outputs unchanged pixels of its input, like crops, slices and flips."""
    if node.muted or has_args(node, "dtype", "output_dtype"):
        return False
    if node.bodies:
        return bodies_pass_through(typed, node, _is_flip)
    if node.op == "flip":
        return True
    inside = node.op in _CUTS and is_value(typed, node, "out_of_bounds_policy", "error")
    if not inside or node.op == "crop":
        return inside
    if "axes" in node.args:
        return input_type(typed, node).layout == "HWC" and _within(node, {0, 1})
    names = node.args.get("axis_names", "WH")
    return isinstance(names, str) and set(names) <= {"W", "H"}


def _within(node: Node, axes: set[int]) -> bool:
    found = node.args["axes"]
    return isinstance(found, tuple) and set(found) <= axes


def precedes_crop(typed: TypedGraph, node: Node | None) -> bool:
    """Return whether a node is a crop or slice, or is a flip that is followed by one."""
    while node is not None and chooses_pixels(typed, node):
        if node.op in _CUTS:
            return True
        node = next_node(typed, node)
    return False


def _is_flip(typed: TypedGraph, node: Node) -> bool:
    return (node.op == "flip" or bool(node.bodies)) and chooses_pixels(typed, node)


def bodies_pass_through(
    typed: TypedGraph, block: Node, test: Callable[[TypedGraph, Node], bool]
) -> bool:
    """Return whether ``test`` is true for all nodes of a block that process its data.

    Returns False if a body has several outputs, or if other nodes in a body use the data.
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
