"""What an ``if`` asks of each sample: a draw, its label, its size, or how a number compares.

A condition is the nodes that a person would write: ``labels[0] == 3`` is a ``subscript`` and a
``math.eq``. It is read off them here, and ``set_condition`` exchanges them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from workbench.errors import GraphEditError
from workbench.graph.control_flow.kinds import CONDITION, IF
from workbench.graph.model import Graph, Node, Port
from workbench.graph.types.devices import is_generator
from workbench.graph.types.shapes import TensorType
from workbench.graph.types.typed_graph import TypedGraph

MOST_CLASSES = 12
"""Of one condition: each is written out."""
LARGEST_CLASS = 2**31 - 1
"""Labels are compared as INT32."""
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
"""The operator that makes one number of two sides; the aspect is width over height."""
MEASURES: tuple[Measure, ...] = get_args(Measure)


@dataclass(frozen=True, slots=True)
class Chance:
    """A coin flip: true with ``probability``."""

    probability: float = 0.5


@dataclass(frozen=True, slots=True)
class LabelIs:
    """The label is one of ``classes``, which are numbered as in the labels."""

    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SizeIs:
    """How the size of an image, in pixels, compares; the aspect is width over height."""

    measure: Measure = "longer side"
    comparison: Comparison = ">"
    value: float = 500


@dataclass(frozen=True, slots=True)
class NumberIs:
    """How a number of each sample compares with a value."""

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
    """What an ``if`` asks, and of which port of its body; None where that is something else.

    ``typed`` is the body in which the block stands.
    """
    graph = typed.graph
    if block.op != IF.op:
        return None
    coin = IF.generator_of(graph, block)
    if coin is not None:
        probability = coin.args.get("probability", 0.5)
        return (Chance(float(probability)), None) if isinstance(probability, int | float) else None
    made = maker_of(graph, block.inputs.get(CONDITION))
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
    maker = maker_of(graph, source)
    if maker is not None and maker.op == "subscript" and maker.args.get("index") == "0":
        inner = maker.inputs.get("data")
        if inner is not None and typed.types.get(inner, UNKNOWN).shape == (1,):
            source = inner
    return NumberIs(comparison, value), source


UNKNOWN = TensorType()


def maker_of(graph: Graph, port: Port | None) -> Node | None:
    """The node that gives a port; None for what a body takes in."""
    return graph.node(port.node) if port is not None and graph.has(port.node) else None


def _classes(typed: TypedGraph, node: Node) -> list[tuple[int, Port]] | None:
    """The numbers that a label may have, each with the port of the labels, which is the same."""
    if node.op == "math.bitor":
        sides = [maker_of(typed.graph, node.inputs.get(name)) for name in ("data", "other")]
        found: list[tuple[int, Port]] = []
        for side in sides:
            classes = _classes(typed, side) if side is not None else None
            if classes is None:
                return None
            found += classes
        return found if len({port for _, port in found}) == 1 else None
    value, place = node.args.get("right"), maker_of(typed.graph, node.inputs.get("data"))
    if node.op != "math.eq" or place is None or place.op != "subscript":
        return None
    labels = place.inputs.get("data")
    if place.args.get("index") != "0" or labels is None or not isinstance(value, int):
        return None
    if "right" in node.inputs or "other" in node.inputs:
        return None
    return [(value, labels)] if typed.kind(labels) == "label" else None


def _size(graph: Graph, port: Port) -> tuple[Measure, Port] | None:
    """Which measure of which image a port gives."""
    node = maker_of(graph, port)
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
    place = maker_of(graph, port)
    if place is None or place.op != "subscript":
        return None
    shape = maker_of(graph, place.inputs.get("data"))
    measure: Measure | None = {"0": "height", "1": "width"}.get(str(place.args.get("index")))  # type: ignore[assignment]
    if shape is None or shape.op != "shape" or measure is None or "data" not in shape.inputs:
        return None
    return measure, shape.inputs["data"]


def condition_nodes(typed: TypedGraph, block: Node) -> set[str]:
    """Ids of the nodes of which a condition is made, and that nothing else reads."""
    body = typed.graph
    given = {port.node for port in body.outputs.values()}
    gone = {block.id}
    waiting = [block.inputs.get(CONDITION)]
    while waiting:
        port = waiting.pop(0)
        node = maker_of(body, port)
        spec = typed.catalog.find(node.op) if node is not None else None
        if node is None or spec is None or node.id in given or node.id in gone:
            continue
        own = {edge.target for edge in body.consumers(node.id)} <= gone
        if own and (spec.expression or (is_generator(spec) and not node.inputs)):
            inside = spec.expression or port == block.inputs.get(CONDITION)
            if inside:
                gone.add(node.id)
                waiting += node.inputs.values()
    return gone - {block.id}


def require_sound(block: str, condition: Condition) -> None:
    """Raise GraphEditError for a condition of ``block`` that no sample can meet or miss."""
    match condition:
        case Chance(probability) if not 0 <= probability <= 1:
            raise GraphEditError(
                f"The probability of {block} is {probability:g}. Give a number from 0 to 1."
            )
        case LabelIs(classes) if absent := [n for n in classes if not 0 <= n <= LARGEST_CLASS]:
            raise GraphEditError(
                f"The condition of {block} names class {absent[0]}. "
                f"Classes are numbered from 0 to {LARGEST_CLASS}."
            )
        case LabelIs(classes) if not 0 < len(set(classes)) <= MOST_CLASSES:
            raise GraphEditError(
                f"The condition of {block} names {len(set(classes))} classes. "
                f"Choose 1 to {MOST_CLASSES}."
            )
        case SizeIs(measure) if measure not in MEASURES:
            raise GraphEditError(
                f"The condition of {block} measures {measure!r}. A size has: {', '.join(MEASURES)}."
            )
        case SizeIs(comparison=sign) | NumberIs(comparison=sign) if sign not in COMPARISONS:
            raise GraphEditError(
                f"The condition of {block} compares with {sign!r}. "
                f"Give one of {' '.join(COMPARISONS)}."
            )
        case SizeIs(_, _, value) if not 0 < value < 1e6:
            raise GraphEditError(
                f"The condition of {block} compares a size with {value:g}. "
                "Give a number above 0, in pixels or as width over height."
            )
        case NumberIs(_, value) if not abs(value) < 1e30:
            raise GraphEditError(
                f"The condition of {block} compares with {value:g}. Give a finite number."
            )
