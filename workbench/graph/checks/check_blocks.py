"""Check blocks, and the inputs and outputs of their bodies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.catalog.spec import OpSpec
from workbench.graph.checks.check_nodes import port_problem
from workbench.graph.control_flow.block_kinds import kind_of
from workbench.graph.model import Graph, Node, Port, block_of, is_name
from workbench.graph.model.bounds import MOST_NESTED, MOST_TURNS_IN_ALL
from workbench.graph.model.faults import Fault
from workbench.graph.model.node_order import running_order
from workbench.graph.types.tensor_type import TensorType
from workbench.graph.types.typed_graph import TypedGraph

COLOURS = {1: "GRAY", 3: "RGB"}
"""Assumed colour space of images, by number of channels."""


def block_faults(typed: TypedGraph, node: Node, spec: OpSpec) -> Iterator[Fault]:
    """Yield all faults of one block, excluding faults of the nodes inside it."""
    graph, types = typed.graph, typed.types
    if not spec.bodies:
        yield Fault(node.id, "", f"{node.op} does not support bodies", "Remove them.", "bodies")
        return
    names = spec.body_names(len(node.bodies))
    missing = [name for name in names if name not in node.bodies]
    unknown = [name for name in node.bodies if name not in names]
    if missing or unknown:
        words = f"it has the bodies {', '.join(node.bodies) or 'none'}"
        yield Fault(node.id, "", words, f"{node.op} has {' and '.join(names)}.", "bodies")
    depth = 0
    scope = graph.scope_of(node.id)
    while scope:
        depth, scope = depth + 1, graph.scope_of(block_of(scope))
    if depth == MOST_NESTED:
        yield Fault(
            node.id, "", f"it is inside {depth} nested blocks", "Nest fewer blocks.", "bodies"
        )
    yield from _repetition_faults(node, graph)
    for port in spec.inputs:
        yield from _control_faults(node, port.name, types)
    yield from kind_of(node).faults(graph.at_scope(graph.scope_of(node.id)), node)
    for name in node.bodies:
        yield from _body_faults(typed, node, spec, name)
    yield from _output_faults(node, spec, types)
    if spec.consecutive:
        yield from _passing_faults(node, spec, types)


def _repetition_faults(node: Node, graph: Graph) -> Iterator[Fault]:
    """Report a block whose nested repetitions exceed the limit."""
    around, scope = 1, graph.scope_of(node.id)
    while scope:
        block = graph.node(block_of(scope))
        around *= kind_of(block).iterations(block)
        scope = graph.scope_of(block_of(scope))
    turns = around * kind_of(node).iterations(node)
    if turns > MOST_TURNS_IN_ALL >= around:
        words = f"its body runs {turns} times, including the repetitions of enclosing blocks"
        remedy = (
            f"The limit is {MOST_TURNS_IN_ALL}: reduce the repetitions of it or of an enclosing "
            "block."
        )
        yield Fault(node.id, "", words, remedy, "bodies")


def _control_faults(node: Node, name: str, types: Mapping[Port, TensorType]) -> Iterator[Fault]:
    """Report a condition that is not one number per sample. Any number except 0 is true."""
    source = node.inputs.get(name)
    found = types.get(source) if source is not None else None
    if found is not None and found.shape:
        axes = f"{len(found.shape)} axes" if len(found.shape) > 1 else "1 axis"
        words = f"{source} outputs an array of {axes}, but one number per sample decides"
        remedy = "Select one of its numbers with subscript, or reduce it to one with reductions."
        yield Fault(node.id, name, words, remedy, "control")


def _body_faults(typed: TypedGraph, node: Node, spec: OpSpec, name: str) -> Iterator[Fault]:
    body, scope = node.bodies[name], node.scope(name)
    controls = [port.name for port in spec.inputs]
    for taken in body.inputs:
        if taken in controls or taken not in node.inputs:
            words = "decides what runs" if taken in controls else "is not connected"
            remedy = f"Connect a node to {node.id}.{taken}, or remove the input from {scope}."
            words = f"{scope} has the input {taken!r}, which {words}"
            yield Fault(node.id, taken, words, remedy, "unfed", scope)
        if not is_name(taken):
            yield Fault(
                node.id, taken, f"{taken!r} is not a Python name", "Rename it.", "output_name"
            )
    for inner in body.nodes:
        if (found := typed.catalog.find(inner.op)) and found.reads:
            words = f"it is a reader inside {scope}: DALI reads whole batches only"
            remedy = "Move it out of the block and connect its outputs to the block."
            yield Fault(inner.id, "", words, remedy, "bodies")
    for output, port in body.outputs.items():
        problem = port_problem(typed, port, scope)
        if problem:
            words, remedy = problem
            words = f"the output {output!r} of {scope} comes from {port}, {words}"
            yield Fault(node.id, output, words, remedy, "source", scope)
    _, cyclic = running_order(body.nodes)
    if cyclic:
        ids = ", ".join(each.id for each in cyclic)
        yield Fault(
            cyclic[0].id, "", f"these nodes wait for each other: {ids}", "Remove one edge.", "cycle"
        )


def _output_faults(node: Node, spec: OpSpec, types: Mapping[Port, TensorType]) -> Iterator[Fault]:
    """Report missing outputs of bodies, and outputs that DALI cannot merge into one batch."""
    given = dict.fromkeys(name for body in node.bodies.values() for name in body.outputs)
    if not given:
        yield Fault(
            node.id, "", "its bodies have no outputs", "Add an output to each.", "no_outputs"
        )
    for output in given:
        lacking = [name for name, body in node.bodies.items() if output not in body.outputs]
        others = "the other body does" if len(node.bodies) == 2 else "another body does"
        for scope in map(node.scope, lacking):
            words = f"{scope} has no output {output!r}, but {others}"
            remedy = (
                f"Add {output!r} to the outputs of every body. In {scope}, it can be one of its "
                "inputs."
            )
            yield Fault(node.id, output, words, remedy, "bodies", scope)
        if not (
            spec.consecutive and kind_of(node).may_skip(node)
        ):  # else each is compared with the unchanged input
            yield from _differing_bodies(node, output, types)


def _differing_bodies(node: Node, output: str, types: Mapping[Port, TensorType]) -> Iterator[Fault]:
    """Report bodies whose output type differs from the majority.

    With two bodies, the reference is the type of the block's input.
    """
    found = {
        name: given
        for name, body in node.bodies.items()
        if (port := body.outputs.get(output)) and (given := types.get(port))
    }
    taken = types.get(node.inputs[output]) if output in node.inputs else None

    def agreement(name: str) -> tuple[int, bool]:
        like = sum(_difference(found[name], each) is None for each in found.values())
        return like, taken is not None and _difference(taken, found[name]) is None

    usual = max(found, key=agreement, default="")
    for name, each in found.items():
        difference = _difference(found[usual], each)
        if difference:
            what, remedy = difference
            words = (
                f"{node.scope(name)} outputs {what[1]}, but {node.scope(usual)} outputs {what[0]}"
            )
            yield Fault(node.id, output, words, remedy, "branches", node.scope(name))


def _passing_faults(node: Node, spec: OpSpec, types: Mapping[Port, TensorType]) -> Iterator[Fault]:
    """Report outputs of a body that cannot be the input of the same name of the next body."""
    decide = {*spec.args, *(port.name for port in spec.inputs)}
    for name, body in node.bodies.items():
        for output, port in body.outputs.items():
            source = None if output in decide else node.inputs.get(output)
            if source is None:
                words = (
                    f"{node.scope(name)} has the output {output!r}, but {node.id!r} has no input "
                    "of that name for the first body"
                )
                remedy = (
                    f"Connect a node to {node.id}.{output}, or remove {output!r} from the body's "
                    "outputs."
                )
                yield Fault(node.id, output, words, remedy, "bodies", node.scope(name))
                continue
            difference = _difference(types.get(source), types.get(port))
            if difference and kind_of(node).may_skip(node):
                what, remedy = difference
                words = (
                    f"{source}, which is used if no body runs, is {what[0]}, but "
                    f"{node.scope(name)} outputs {what[1]}"
                )
                yield Fault(node.id, output, words, remedy, "branches", node.scope(name))


def _difference(
    first: TensorType | None, second: TensorType | None
) -> tuple[tuple[str, str], str] | None:
    """Return why two types cannot be merged into one batch, or None if they can.

    Compares element types, layouts and numbers of axes, and channels: DALI merges images with
    different channel counts, but later nodes do not accept such a batch. The result is the
    differing property of each type, and a fix for the second.
    """
    if first is None or second is None:
        return None
    if first.dtype and second.dtype and first.dtype != second.dtype:
        return (first.dtype, second.dtype), f"Add a cast to {first.dtype} at its end."
    if (
        first.shape is not None
        and second.shape is not None
        and len(first.shape) != len(second.shape)
    ):
        axes = (f"{len(first.shape)} axes", f"{len(second.shape)} axes")
        return axes, "Use the same number of axes in both."
    if first.layout is not None and second.layout is not None and first.layout != second.layout:
        layouts = (first.layout or "no layout", second.layout or "no layout")
        return layouts, "Use the same layout in both: add a transpose or reshape to one of them."
    if "C" in (first.layout or "") and "C" in (second.layout or ""):
        return _channel_difference(first.channels, second.channels)
    return None


def _channel_difference(
    first: int | None, second: int | None
) -> tuple[tuple[str, str], str] | None:
    if first is None or second is None or first == second:
        return None
    found = tuple(f"{count} channel{'s' * (count != 1)}" for count in (first, second))
    made = "Use the same number of channels in both"
    if first in COLOURS and second in COLOURS:
        made = f"Add a color_space_conversion from {COLOURS[second]} to {COLOURS[first]} at its end"
    return (found[0], found[1]), f"{made}."
