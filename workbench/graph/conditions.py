"""What an ``if`` asks of each sample: a draw, its label, its size, or how a number compares.

A condition is the nodes that a person would write: ``labels[0] == 3`` is a ``subscript`` and a
``math.eq``. It is read off them, and setting another one exchanges them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from workbench.catalog.spec import Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.chance import CONDITION, DRAW, coin_of
from workbench.graph.devices import device_of, infer_devices, is_generator, port_kind
from workbench.graph.edit import new_node, without_idle_generators
from workbench.graph.lead_in import lead_in, origin_of
from workbench.graph.model import Graph, Node, Port, ancestors, region_of
from workbench.graph.ports import output_ports
from workbench.graph.shapes import TensorType, infer_types

OP = "if"
MOST_CLASSES = 12
"""Of one condition: each is written out."""
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
_SIDES = {"longer side": "math.max", "shorter side": "math.min", "aspect": "math.truediv"}
"""The operator that makes one number of two sides; the aspect is width over height."""
MEASURES: tuple[Measure, ...] = get_args(Measure)
_WHOLE = frozenset(
    ("UINT8", "INT8", "UINT16", "INT16", "UINT32", "INT32", "UINT64", "INT64", "BOOL")
)


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


def condition_of(
    graph: Graph, catalog: Catalog, region: Node
) -> tuple[Condition, Port | None] | None:
    """What an ``if`` asks, and of which port of its body; None where that is something else.

    ``graph`` is the body in which the region stands.
    """
    if region.op != OP:
        return None
    coin = coin_of(graph, region)
    if coin is not None:
        probability = coin.args.get("probability", 0.5)
        return (Chance(float(probability)), None) if isinstance(probability, int | float) else None
    made = _maker(graph, region.inputs.get(CONDITION))
    if made is None:
        return None
    if (classes := _classes(graph, catalog, made)) is not None:
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
    maker = _maker(graph, source)
    if maker is not None and maker.op == "subscript" and maker.args.get("index") == "0":
        inner = maker.inputs.get("data")
        if inner is not None and infer_types(graph, catalog).get(inner, _ANY).shape == (1,):
            source = inner
    return NumberIs(comparison, value), source


_ANY = TensorType()


def _maker(graph: Graph, port: Port | None) -> Node | None:
    return graph.node(port.node) if port is not None and graph.has(port.node) else None


def _classes(graph: Graph, catalog: Catalog, node: Node) -> list[tuple[int, Port]] | None:
    """The numbers that a label may have, each with the port of the labels, which is the same."""
    if node.op == "math.bitor":
        sides = [_maker(graph, node.inputs.get(name)) for name in ("data", "other")]
        found: list[tuple[int, Port]] = []
        for side in sides:
            classes = _classes(graph, catalog, side) if side is not None else None
            if classes is None:
                return None
            found += classes
        return found if len({port for _, port in found}) == 1 else None
    value, place = node.args.get("right"), _maker(graph, node.inputs.get("data"))
    if node.op != "math.eq" or place is None or place.op != "subscript":
        return None
    labels = place.inputs.get("data")
    if place.args.get("index") != "0" or labels is None or not isinstance(value, int):
        return None
    if "right" in node.inputs or "other" in node.inputs:
        return None
    return [(value, labels)] if port_kind(graph, catalog, labels) == "label" else None


def _size(graph: Graph, port: Port) -> tuple[Measure, Port] | None:
    """Which measure of which image a port gives."""
    node = _maker(graph, port)
    if node is None:
        return None
    for measure, op in _SIDES.items():
        if node.op == op:
            first, second = (_side(graph, node.inputs.get(name)) for name in ("data", "other"))
            if first is None or second is None or first[1] != second[1]:
                return None
            wanted = ("width", "height") if measure == "aspect" else ("height", "width")
            found: Measure = measure  # type: ignore[assignment]
            return (found, first[1]) if (first[0], second[0]) == wanted else None
    return _side(graph, port)


def _side(graph: Graph, port: Port | None) -> tuple[Measure, Port] | None:
    place = _maker(graph, port)
    if place is None or place.op != "subscript":
        return None
    shape = _maker(graph, place.inputs.get("data"))
    measure: Measure | None = {"0": "height", "1": "width"}.get(str(place.args.get("index")))  # type: ignore[assignment]
    if shape is None or shape.op != "shape" or measure is None or "data" not in shape.inputs:
        return None
    return measure, shape.inputs["data"]


def condition_sources(graph: Graph, catalog: Catalog, region: str) -> dict[Kind, list[Port]]:
    """For each kind of condition the ports of which an ``if`` may ask it, the usual one first.

    Those around the body in which it stands, too: from there they are led in. Of what a body takes
    in from outside, the port outside.
    """
    whole = graph.whole
    found: dict[Kind, list[Port]] = {"chance": [], "label": [], "size": [], "comparison": []}
    flows, devices = infer_types(whole, catalog), infer_devices(whole, catalog)
    own = _condition_nodes(whole.at_scope(whole.scope_of(region)), catalog, whole.node(region))
    before = dict.fromkeys(
        origin_of(whole, catalog, port) for port in _ports_before(whole, catalog, region)
    )
    for port in before:
        kind, flow = port_kind(whole, catalog, port), flows.get(port, _ANY)
        if port.node in own or flow.dtype == "BOOL":
            continue
        maker = _maker(whole, port)
        if kind == "label" and not (maker is not None and catalog[maker.op].expression):
            found["label"].append(port)
        if kind == "image" and flow.layout in (None, "", "HWC", "HW"):
            if flow.shape is None or len(flow.shape) >= 2:
                found["size"].append(port)
        elif flow.shape in ((), (1,)) and device_of(devices, port) == "cpu":
            found["comparison"].append(port)
    # A size that is the same for all samples decides nothing.
    found["size"].sort(key=lambda port: _is_fixed(flows.get(port, _ANY)))
    return found


def _is_fixed(flow: TensorType) -> bool:
    return flow.shape is not None and None not in flow.shape[:2]


def _ports_before(graph: Graph, catalog: Catalog, region: str) -> Iterator[Port]:
    """What does not wait for a region, from its own body outwards, what is nearest first."""
    scope = graph.scope_of(region)
    while True:
        body = graph.at_scope(scope)
        before = ancestors(graph, list(graph.node(region).inputs.values()))
        after = _behind(body, region)
        near = [node for node in body.nodes if node.id in before]
        others = [node for node in body.nodes if node.id not in before and node.id not in after]
        if scope:
            yield from (Port(scope, name) for name in graph.body_at(scope).inputs)
        for node in (*reversed(near), *others):
            spec = catalog.find(node.op)
            yield from output_ports(node, spec) if spec else ()
        if not scope:
            return
        region = region_of(scope)
        scope = graph.scope_of(region)


def _behind(body: Graph, region: str) -> set[str]:
    """The region, and the nodes that wait for it."""
    found, waiting = {region}, [region]
    while waiting:
        for edge in body.consumers(waiting.pop()):
            if edge.target not in found:
                found.add(edge.target)
                waiting.append(edge.target)
    return found


def set_condition(
    graph: Graph, catalog: Catalog, region: str, condition: Condition, source: Port | None = None
) -> Graph:
    """Let an ``if`` ask something else; the nodes of what it asked go, if nothing reads them.

    ``source`` is the port of which it is asked; None: the one it was, else the usual one of
    ``condition_sources``. Raises GraphEditError for a node that is no ``if``, for values that no
    sample can have, and where there is nothing to ask it of.
    """
    graph = graph.whole
    node = graph.node(region)
    if node.op != OP:
        raise GraphEditError(f"{region} is no if ({node.op}). Only an if has a condition.")
    _require_sound(region, condition)
    scope = graph.scope_of(region)
    before = condition_of(graph.at_scope(scope), catalog, node)
    if isinstance(condition, Chance):
        if before is not None and before[0] == condition:
            return graph
    else:
        source = _source_for(graph, catalog, region, condition, source, before)
        graph, source = lead_in(graph, catalog, source, scope)
    body = graph.at_scope(scope)
    node = body.node(region)
    if before is not None and isinstance(condition, Chance) and isinstance(before[0], Chance):
        coin = coin_of(body, node)
        if coin is not None:
            args: dict[str, Value] = {**coin.args, "probability": condition.probability}
            return body.replace_node(replace(coin, args=args)).whole
    old = _condition_nodes(body, catalog, node)
    kept = replace(body, nodes=tuple(each for each in body.nodes if each.id not in old))
    # ids of nodes that go are free again, so that a changed value renames nothing
    made = _made(kept, catalog, condition, source)
    fed = replace(node, inputs={**node.inputs, CONDITION: Port(made[-1].id, "output")})
    nodes: list[Node] = []
    for each in kept.nodes:
        nodes += [*made, fed] if each.id == region else [each]
    kept = replace(kept, nodes=tuple(nodes))
    for gone in old:
        kept = without_idle_generators(kept, catalog, body.node(gone))
    return _without_unread_inputs(kept.whole, catalog, scope)


def _require_sound(region: str, condition: Condition) -> None:
    match condition:
        case Chance(probability) if not 0 <= probability <= 1:
            raise GraphEditError(
                f"The probability of {region} is {probability:g}. Give a number from 0 to 1."
            )
        case LabelIs(classes) if not 0 < len(set(classes)) <= MOST_CLASSES or min(classes) < 0:
            raise GraphEditError(
                f"The condition of {region} names {len(set(classes))} classes. "
                f"Choose 1 to {MOST_CLASSES}."
            )
        case SizeIs(_, _, value) if not 0 < value < 1e6:
            raise GraphEditError(
                f"The condition of {region} compares a size with {value:g}. "
                "Give a number above 0, in pixels or as width over height."
            )
        case NumberIs(_, value) if not abs(value) < 1e30:
            raise GraphEditError(
                f"The condition of {region} compares with {value:g}. Give a finite number."
            )


def _source_for(
    graph: Graph,
    catalog: Catalog,
    region: str,
    condition: Condition,
    source: Port | None,
    before: tuple[Condition, Port | None] | None,
) -> Port:
    kind = next(name for name, of in KINDS.items() if isinstance(condition, of))
    old = origin_of(graph, catalog, before[1]) if before and before[1] else None
    if source is None and before is not None and type(before[0]) is type(condition):
        source = old
    found = condition_sources(graph, catalog, region)[kind]
    if source is not None:
        if source in found or source == old:
            return source
        names = ", ".join(map(str, found)) or "nothing"
        raise GraphEditError(f"{region} cannot ask this of {source}. It can of: {names}.")
    if not found:
        what = {"label": "labels", "size": "an image", "comparison": "one number for each sample"}
        raise GraphEditError(f"Nothing before {region} gives {what[kind]} that could decide.")
    return found[0]


def _made(
    body: Graph, catalog: Catalog, condition: Condition, source: Port | None
) -> tuple[Node, ...]:
    """The nodes of a condition, of which the last one decides."""
    maker = _Maker(body, catalog)
    match condition:
        case Chance(probability):
            args: dict[str, Value] = {"probability": probability, "dtype": "BOOL"}
            maker.add(DRAW, args, {}, "chance")
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
            flow = infer_types(body, catalog).get(source, _ANY)
            if flow.shape == (1,):
                source = maker.add("subscript", {"index": "0"}, {"data": source})
            maker.compared(source, comparison, value, flow.dtype in _WHOLE)
    return tuple(maker.nodes)


class _Maker:
    """New nodes one after another, each with a free id and a free seed."""

    def __init__(self, body: Graph, catalog: Catalog) -> None:
        self.body = body
        self.catalog = catalog
        self.nodes: list[Node] = []

    def add(
        self,
        op: str,
        args: Mapping[str, Value],
        inputs: Mapping[str, Port],
        wanted: str | None = None,
    ) -> Port:
        fresh = new_node(self.body, self.catalog, op, wanted)
        node = replace(fresh, args=args, inputs=inputs)
        self.body = replace(self.body, nodes=(*self.body.nodes, node))
        self.nodes.append(node)
        return Port(node.id, "output")

    def measured(self, measure: Measure, image: Port) -> Port:
        if op := _SIDES.get(measure):
            first, second = ("1", "0") if measure == "aspect" else ("0", "1")
            sides = {"data": self.side(first, image), "other": self.side(second, image)}
            return self.add(op, {}, sides, measure.replace(" ", "_"))
        return self.side("0" if measure == "height" else "1", image)

    def side(self, index: str, image: Port) -> Port:
        shape = self.add("shape", {}, {"data": image})
        name = "height" if index == "0" else "width"
        return self.add("subscript", {"index": index}, {"data": shape}, name)

    def compared(self, number: Port, comparison: Comparison, value: float, whole: bool) -> Port:
        """Whole numbers are compared with a whole one, others as fractions."""
        whole = whole and float(value).is_integer() and abs(value) < 2**31
        right: Value = int(value) if whole else float(value)
        kind = "INT32" if whole else "FLOAT"
        args: dict[str, Value] = {"right": right, "constant_type": kind}
        return self.add(COMPARISONS[comparison], args, {"data": number})


def _condition_nodes(body: Graph, catalog: Catalog, region: Node) -> set[str]:
    """Ids of the nodes of which a condition is made, and that nothing else reads."""
    given = {port.node for port in body.outputs.values()}
    gone = {region.id}
    waiting = [region.inputs.get(CONDITION)]
    while waiting:
        port = waiting.pop(0)
        node = _maker(body, port)
        spec = catalog.find(node.op) if node is not None else None
        if node is None or spec is None or node.id in given or node.id in gone:
            continue
        own = {edge.target for edge in body.consumers(node.id)} <= gone
        if own and (spec.expression or (is_generator(spec) and not node.inputs)):
            inside = spec.expression or port == region.inputs.get(CONDITION)
            if inside:
                gone.add(node.id)
                waiting += node.inputs.values()
    return gone - {region.id}


def _without_unread_inputs(graph: Graph, catalog: Catalog, scope: str) -> Graph:
    """Without what a body, and those around it, take in and nothing inside reads."""
    while scope:
        body, region = graph.body_at(scope), graph.node(region_of(scope))
        name = scope.rpartition(".")[2]
        read = {port for node in body.nodes for port in node.inputs.values()}
        read |= set(body.outputs.values())
        kept = tuple(each for each in body.inputs if Port(scope, each) in read)
        spec = catalog[region.op]
        if spec.consecutive:
            kept = tuple(each for each in body.inputs if each in kept or each in body.outputs)
        bodies = {**region.bodies, name: replace(body, inputs=kept)}
        dropped = set(body.inputs) - set(kept)
        still = {each for inner in bodies.values() for each in inner.inputs}
        inputs = {n: p for n, p in region.inputs.items() if n not in dropped or n in still}
        graph = graph.replace_node(replace(region, bodies=bodies, inputs=inputs))
        scope = graph.scope_of(region.id)
    return graph
