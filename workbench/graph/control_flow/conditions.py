"""Recognise and set the condition of an ``if``: random, by label, by size, or a comparison.

A condition consists of the nodes that a user would compose: ``labels[0] == 3`` is a ``subscript``
and a ``math.eq``. ``condition_of`` recognises such nodes, and ``set_condition`` replaces them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.control_flow.block_kinds import CONDITION, IF
from workbench.graph.control_flow.wrapping import passing_input
from workbench.graph.edits.compose import origin_of, route_into_body
from workbench.graph.edits.edit import NewNodes, new_node, without_idle_generators
from workbench.graph.model import Body, Graph, Node, Port, block_of
from workbench.graph.model.node_order import ancestors, descendants
from workbench.graph.model.ports import output_ports
from workbench.graph.types.devices import device_of, is_generator
from workbench.graph.types.shapes import TensorType, infer_types
from workbench.graph.types.typed_graph import TypedGraph

MOST_CLASSES = 12
"""Maximum number of classes per condition, because each class is a separate comparison."""
LARGEST_CLASS = 2**31 - 1
"""Maximum class number, because labels are compared as INT32."""
Comparison = Literal["<", "<=", ">", ">=", "==", "!="]
Measure = Literal["height", "width", "longer side", "shorter side", "aspect"]
COMPARISONS: Mapping[str, str] = {
    "<": "math.lt",
    "<=": "math.le",
    ">": "math.gt",
    ">=": "math.ge",
    "==": "math.eq",
    "!=": "math.ne",
}
_SIGNS = {op: sign for sign, op in COMPARISONS.items()}
SIDES = {"longer side": "math.max", "shorter side": "math.min", "aspect": "math.truediv"}
"""Operator that computes each measure from height and width (the aspect is width over height)."""
MEASURES: tuple[Measure, ...] = get_args(Measure)


@dataclass(frozen=True, slots=True)
class Chance:
    """Random condition that is true with ``probability``."""

    probability: float = 0.5


@dataclass(frozen=True, slots=True)
class LabelIs:
    """Condition that is true if the label is one of ``classes`` (class numbers)."""

    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SizeIs:
    """Condition on an image's size: a side in pixels, or the aspect (width divided by height)."""

    measure: Measure = "longer side"
    comparison: Comparison = ">"
    value: float = 500


@dataclass(frozen=True, slots=True)
class NumberIs:
    """Condition that compares one number per sample with a value."""

    comparison: Comparison = ">"
    value: float = 0.5


Condition = Chance | LabelIs | SizeIs | NumberIs
Kind = Literal["chance", "label", "size", "comparison"]
KINDS: Mapping[Kind, type[Condition]] = {
    "chance": Chance,
    "label": LabelIs,
    "size": SizeIs,
    "comparison": NumberIs,
}


def condition_of(typed: TypedGraph, block: Node) -> tuple[Condition, Port | None] | None:
    """Return the condition of an ``if`` and the port that it depends on, or None if it is unknown.

    ``typed`` is the body that contains the block. The port is None for a random condition.
    """
    graph = typed.graph
    if block.op != IF.op:
        return None
    coin = IF.generator_of(graph, block)
    if coin is not None:
        probability = coin.args.get("probability", 0.5)
        if not isinstance(probability, int | float) or not 0 <= probability <= 1:
            return None
        return Chance(float(probability)), None
    made = producer_of(graph, block.inputs.get(CONDITION))
    if made is None:
        return None
    if (classes := _classes(typed, made)) is not None:
        return LabelIs(tuple(number for number, _ in classes)), classes[0][1]
    sign, value = _SIGNS.get(made.op), made.args.get("right")
    source = made.inputs.get("data")
    if sign is None or source is None or "right" in made.inputs or "other" in made.inputs:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    comparison: Comparison = sign  # type: ignore[assignment]
    if (sized := _size(graph, source)) is not None:
        return SizeIs(sized[0], comparison, value), sized[1]
    maker = producer_of(graph, source)
    if maker is not None and maker.op == "subscript" and maker.args.get("index") == "0":
        inner = maker.inputs.get("data")
        if inner is not None and typed.types.get(inner, UNKNOWN).shape == (1,):
            source = inner
    return NumberIs(comparison, value), source


UNKNOWN = TensorType()


def producer_of(graph: Graph, port: Port | None) -> Node | None:
    """Return the node that outputs a port, or None for an input of a body."""
    return graph.node(port.node) if port is not None and graph.has(port.node) else None


def _classes(typed: TypedGraph, node: Node) -> list[tuple[int, Port]] | None:
    """Return the class numbers that a condition compares, each with the port of the labels.

    Returns None if the node does not compare classes, or if the ports differ.
    """
    if node.op == "math.bitor":
        sides = [producer_of(typed.graph, node.inputs.get(name)) for name in ("data", "other")]
        found: list[tuple[int, Port]] = []
        for side in sides:
            classes = _classes(typed, side) if side is not None else None
            if classes is None:
                return None
            found += classes
        return found if len({port for _, port in found}) == 1 else None
    value, place = node.args.get("right"), producer_of(typed.graph, node.inputs.get("data"))
    if node.op != "math.eq" or place is None or place.op != "subscript":
        return None
    labels = place.inputs.get("data")
    if place.args.get("index") != "0" or labels is None or not isinstance(value, int):
        return None
    if "right" in node.inputs or "other" in node.inputs:
        return None
    return [(value, labels)] if typed.kind(labels) == "label" else None


def _size(graph: Graph, port: Port) -> tuple[Measure, Port] | None:
    """Return the size measure at a port, and the port of the measured image, or None."""
    node = producer_of(graph, port)
    if node is None:
        return None
    for measure, op in SIDES.items():
        if node.op == op:
            first, second = (_side(graph, node.inputs.get(name)) for name in ("data", "other"))
            if first is None or second is None or first[1] != second[1]:
                return None
            wanted = ("width", "height") if measure == "aspect" else ("height", "width")
            found: Measure = measure  # type: ignore[assignment]
            return (found, first[1]) if (first[0], second[0]) == wanted else None
    return _side(graph, port)


def _side(graph: Graph, port: Port | None) -> tuple[Measure, Port] | None:
    place = producer_of(graph, port)
    if place is None or place.op != "subscript":
        return None
    shape = producer_of(graph, place.inputs.get("data"))
    measure: Measure | None = {("0"): "height", "1": "width"}.get(str(place.args.get("index")))  # type: ignore[assignment]
    if shape is None or shape.op != "shape" or measure is None or "data" not in shape.inputs:
        return None
    return measure, shape.inputs["data"]


def condition_nodes(typed: TypedGraph, block: Node) -> set[str]:
    """Return the ids of the nodes that only the block's condition uses."""
    body = typed.graph
    given = {port.node for port in body.outputs.values()}
    removed = {block.id}
    waiting = [block.inputs.get(CONDITION)]
    while waiting:
        port = waiting.pop(0)
        node = producer_of(body, port)
        spec = typed.catalog.find(node.op) if node is not None else None
        if node is None or spec is None or node.id in given or node.id in removed:
            continue
        own = {edge.target for edge in body.consumers(node.id)} <= removed
        if own and (spec.expression or (is_generator(spec) and not node.inputs)):
            inside = spec.expression or port == block.inputs.get(CONDITION)
            if inside:
                removed.add(node.id)
                waiting += node.inputs.values()
    return removed - {block.id}


def require_sound(block: str, condition: Condition) -> None:
    """Raise GraphEditError for a condition that is always true or always false."""
    match condition:
        case Chance(probability) if not 0 <= probability <= 1:
            raise GraphEditError(
                f"The probability of {block!r} is {probability:g}. Use a number from 0 to 1."
            )
        case LabelIs(classes) if absent := [n for n in classes if not 0 <= n <= LARGEST_CLASS]:
            raise GraphEditError(
                f"The condition of {block!r} compares with class {absent[0]}. "
                f"Classes are numbered from 0 to {LARGEST_CLASS}."
            )
        case LabelIs(classes) if not 0 < len(set(classes)) <= MOST_CLASSES:
            raise GraphEditError(
                f"The condition of {block!r} compares with {len(set(classes))} classes. "
                f"Use 1 to {MOST_CLASSES}."
            )
        case SizeIs(measure) if measure not in MEASURES:
            raise GraphEditError(
                f"The condition of {block!r} measures {measure!r}. Use one of "
                f"{', '.join(MEASURES)}."
            )
        case SizeIs(comparison=sign) | NumberIs(comparison=sign) if sign not in COMPARISONS:
            raise GraphEditError(
                f"The condition of {block!r} compares with {sign!r}. Use one of "
                f"{' '.join(COMPARISONS)}."
            )
        case SizeIs(_, _, value) if not 0 < value < 1e6:
            raise GraphEditError(
                f"The condition of {block!r} compares a size with {value:g}. Use a number above 0, "
                "in pixels or as width over height."
            )
        case NumberIs(_, value) if not abs(value) < 1e30:
            raise GraphEditError(
                f"The condition of {block!r} compares with {value:g}. Use a finite number."
            )


# Edits: set a condition, list its possible sources, add an ``elif``.

_WHOLE = frozenset(
    ("UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64", "BOOL")
)


def set_condition(
    graph: Graph, catalog: Catalog, block: str, condition: Condition, source: Port | None = None
) -> Graph:
    """Set the condition of an ``if``, and remove nodes of the old condition that become unused.

    ``source`` is the port that the condition depends on. By default it is the current port, else
    the first of ``condition_sources``. Raises GraphEditError if the node is not an ``if``, if the
    condition has an invalid value, or if there is no suitable port.
    """
    graph = graph.whole
    node = graph.node(block)
    if node.op != IF.op:
        raise GraphEditError(f"{block!r} ({node.op}) is not an if. Only an if has a condition.")
    require_sound(block, condition)
    scope = graph.scope_of(block)
    before = condition_of(TypedGraph(graph.at_scope(scope), catalog), node)
    if isinstance(condition, Chance):
        if before is not None and before[0] == condition:
            return graph
    else:
        source = _source_for(graph, catalog, block, condition, source, before)
        graph, source = route_into_body(graph, catalog, source, scope)
    body = graph.at_scope(scope)
    node = body.node(block)
    if before is not None and isinstance(condition, Chance) and isinstance(before[0], Chance):
        coin = IF.generator_of(body, node)
        if coin is not None:
            chance = {"probability": condition.probability}
            return body.replace_node(coin.with_args(chance)).whole
    old = condition_nodes(TypedGraph(body, catalog), node)
    edited = replace(body, nodes=tuple(each for each in body.nodes if each.id not in old))
    # ids of removed nodes are free again, so that a changed value renames nothing
    made = _condition_nodes(edited, catalog, condition, source)
    fed = node.fed({CONDITION: Port(made[-1].id, "output")})
    edited = edited.substitute(block, *made, fed)
    for removed in old:
        edited = without_idle_generators(edited, catalog, body.node(removed))
    return _without_unread_inputs(edited.whole, catalog, scope)


def _source_for(
    graph: Graph,
    catalog: Catalog,
    block: str,
    condition: Condition,
    source: Port | None,
    before: tuple[Condition, Port | None] | None,
) -> Port:
    kind = next(name for name, of in KINDS.items() if isinstance(condition, of))
    old = origin_of(graph, catalog, before[1]) if before and before[1] else None
    if source is None and before is not None and type(before[0]) is type(condition):
        source = old
    found = condition_sources(TypedGraph(graph, catalog), block)[kind]
    if source is not None:
        if source in found or source == old:
            return source
        names = ", ".join(map(str, found)) or "nothing"
        raise GraphEditError(f"{source} cannot be the condition of {block!r}. Use one of: {names}.")
    if not found:
        what = {"label": "labels", "size": "an image", "comparison": "one number for each sample"}
        raise GraphEditError(f"No output before {block!r} has {what[kind]} for its condition.")
    return found[0]


def _condition_nodes(
    body: Graph, catalog: Catalog, condition: Condition, source: Port | None
) -> tuple[Node, ...]:
    """Create the nodes of a condition. The last node outputs the condition's value."""
    maker = _ConditionBuilder(body, catalog)
    match condition:
        case Chance(probability):
            args: dict[str, Value] = {"probability": probability, "dtype": "BOOL"}
            maker.add(IF.random_op, args, {}, IF.random_id)
        case LabelIs(classes) if source is not None:
            sides = []
            for number in dict.fromkeys(classes):
                label = maker.add("subscript", {"index": "0"}, {"data": source}, "label")
                equal: dict[str, Value] = {"right": number, "constant_type": "INT32"}
                sides.append(maker.add("math.eq", equal, {"data": label}))
                if len(sides) == 2:
                    first, second = sides
                    sides = [maker.add("math.bitor", {}, {"data": first, "other": second})]
        case SizeIs(measure, comparison, value) if source is not None:
            maker.compared(maker.measured(measure, source), comparison, value, measure != "aspect")
        case NumberIs(comparison, value) if source is not None:
            flow = infer_types(body, catalog).get(source, UNKNOWN)
            if flow.shape == (1,):
                source = maker.add("subscript", {"index": "0"}, {"data": source})
            maker.compared(source, comparison, value, flow.dtype in _WHOLE)
    return tuple(maker.nodes)


class _ConditionBuilder(NewNodes):
    def measured(self, measure: Measure, image: Port) -> Port:
        if op := SIDES.get(measure):
            first, second = ("1", "0") if measure == "aspect" else ("0", "1")
            sides = {"data": self.side(first, image), "other": self.side(second, image)}
            return self.add(op, {}, sides, measure.replace(" ", "_"))
        return self.side("0" if measure == "height" else "1", image)

    def side(self, index: str, image: Port) -> Port:
        shape = self.add("shape", {}, {"data": image})
        name = "height" if index == "0" else "width"
        return self.add("subscript", {"index": index}, {"data": shape}, name)

    def compared(self, number: Port, comparison: Comparison, value: float, whole: bool) -> Port:
        """Compare ``number`` with ``value``, as INT32 if both are integers, else as FLOAT."""
        whole = whole and float(value).is_integer() and abs(value) < 2**31
        right: Value = int(value) if whole else float(value)
        kind = "INT32" if whole else "FLOAT"
        args: dict[str, Value] = {"right": right, "constant_type": kind}
        return self.add(COMPARISONS[comparison], args, {"data": number})


def _without_unread_inputs(graph: Graph, catalog: Catalog, scope: str) -> Graph:
    """Remove the unused inputs of a body and of the bodies that enclose it."""
    while scope:
        body, block = graph.body_at(scope), graph.node(block_of(scope))
        name = scope.rpartition(".")[2]
        used = tuple(each for each in body.inputs if Port(scope, each) in body.used_ports)
        spec = catalog[block.op]
        if spec.consecutive:
            used = tuple(each for each in body.inputs if each in used or each in body.outputs)
        bodies = {**block.bodies, name: replace(body, inputs=used)}
        dropped = set(body.inputs) - set(used)
        still = {each for inner in bodies.values() for each in inner.inputs}
        inputs = {n: p for n, p in block.inputs.items() if n not in dropped or n in still}
        graph = graph.replace_node(replace(block, bodies=bodies, inputs=inputs))
        scope = graph.scope_of(block.id)
    return graph


def condition_sources(typed: TypedGraph, block: str) -> dict[Kind, list[Port]]:
    """Return suitable ports for the condition of an ``if``, by kind of condition, best first.

    Includes ports outside the body, which ``set_condition`` routes into it. Inputs of a body are
    replaced by the outer ports that they are connected to.
    """
    typed = typed.whole
    whole, flows = typed.graph, typed.types
    found: dict[Kind, list[Port]] = {"chance": [], "label": [], "size": [], "comparison": []}
    own = condition_nodes(typed.at_scope(whole.scope_of(block)), whole.node(block))
    before = dict.fromkeys(
        origin_of(whole, typed.catalog, port) for port in _ports_before(typed, block)
    )
    for port in before:
        kind, flow = typed.kind(port), flows.get(port, UNKNOWN)
        if port.node in own or flow.dtype == "BOOL":
            continue
        maker = producer_of(whole, port)
        if kind == "label" and not (maker is not None and typed.spec(maker).expression):
            found["label"].append(port)
        if kind == "image" and flow.layout in (None, "", "HWC", "HW"):
            if flow.shape is None or len(flow.shape) >= 2:
                found["size"].append(port)
        elif flow.shape in ((), (1,)) and device_of(typed.devices, port) == "cpu":
            found["comparison"].append(port)
    # A size that is equal for all samples decides nothing.
    found["size"].sort(key=lambda port: _is_fixed(flows.get(port, UNKNOWN)))
    return found


def _is_fixed(flow: TensorType) -> bool:
    return flow.shape is not None and None not in flow.shape[:2]


def _ports_before(typed: TypedGraph, block: str) -> Iterator[Port]:
    """Yield the ports that do not depend on a block, nearest first, from its own body outwards."""
    graph = typed.graph
    scope = graph.scope_of(block)
    while True:
        body = graph.at_scope(scope)
        before = ancestors(graph, list(graph.node(block).inputs.values()))
        waiting = {block} | descendants(body, {block})
        near = [node for node in body.nodes if node.id in before]
        others = [node for node in body.nodes if node.id not in waiting and node not in near]
        if scope:
            yield from (Port(scope, name) for name in graph.body_at(scope).inputs)
        for node in (*reversed(near), *others):
            yield from output_ports(node, typed.catalog.find(node.op))
        if not scope:
            return
        block = block_of(scope)
        scope = graph.scope_of(block)


ELSE = "else"


def add_elif(graph: Graph, catalog: Catalog, block: str) -> tuple[Graph, str]:
    """Add an ``elif`` branch with a random condition that the user can change.

    The branch comes after existing ``elif`` branches, and its body changes nothing. The former
    ``else`` runs if no condition is true. Returns the whole graph and the id of the new ``if``.
    Raises GraphEditError if the node is not an ``if``, or if the new body has no suitable input to
    return for one of the outputs.
    """
    graph = graph.whole
    node = graph.node(block)
    if node.op != IF.op:
        raise GraphEditError(f"{block!r} ({node.op}) is not an if. Only an if can have an elif.")
    while (inner := elif_of(node)) is not None:
        node = inner
    scope = node.scope(ELSE)
    body = node.bodies[ELSE]
    passed = {
        name: port.output if port.node == scope else passing_input(graph, catalog, node, name)
        for name, port in body.outputs.items()
    }
    taken = (*body.inputs, *dict.fromkeys(each for each in passed.values()))
    taken = tuple(dict.fromkeys(taken))
    fresh = new_node(graph, catalog, IF.op)
    coin = IF.new_generator(graph, catalog, fresh)
    assert coin is not None
    otherwise = body.renamed(scope, fresh.scope(ELSE))
    then = {name: Port(fresh.scope("then"), into) for name, into in passed.items()}
    fresh = replace(
        fresh,
        inputs={
            CONDITION: Port(coin.id, "output"),
            **{name: Port(scope, name) for name in taken},
        },
        bodies={
            "then": Body((), then, tuple(dict.fromkeys(passed.values()))),
            ELSE: otherwise,
        },
    )
    given = {name: Port(fresh.id, name) for name in body.outputs}
    graph = graph.replace_body(scope, Body((coin, fresh), given, taken))
    return graph, fresh.id


def elif_of(block: Node) -> Node | None:
    """Return the ``elif`` of an ``if`` (an ``if`` that is the whole ``else`` body), or None."""
    body = block.bodies.get(ELSE)
    inner = [node for node in body.nodes if node.bodies] if body is not None else []
    if body is None or len(inner) != 1 or inner[0].op != IF.op:
        return None
    if any(port.node != inner[0].id for port in body.outputs.values()):
        return None
    return inner[0]
