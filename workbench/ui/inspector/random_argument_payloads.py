"""Build payloads of random arguments for the inspector and the canvas."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from decimal import Decimal

from workbench.catalog.spec import ArgSpec, OpSpec, Value
from workbench.graph.edits.generators import generators_for
from workbench.graph.model import Graph, Node, Port
from workbench.graph.types.devices import is_generator
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.contract.inspector_payloads import RandomView
from workbench.ui.contract.payloads import Json

CHOICE = "random.choice"
"""Name in the user interface for ``random.uniform`` with ``values``."""


def random_view(typed: TypedGraph, link: Port, inspected: str = "") -> RandomView | None:
    """Return the payload of the generator that ``link`` belongs to; None for another node.

    ``inspected`` is the inspected ``node.argument``: ``shared`` then lists the generator's other
    consumers. Without ``inspected``, ``shared`` is empty.
    """
    if not typed.graph.has(link.node):
        return None
    node = typed.graph.node(link.node)
    spec = typed.catalog.find(node.op)
    if spec is None or not is_generator(spec):
        return None
    if node.op == "random.uniform" and "values" in node.args:
        op, args = CHOICE, {"values": json_value(node.args["values"])}
    else:
        op, args = node.op, _generator_args(node, spec)
    others = (
        [port for port in consumers_of(typed.graph, node.id) if port != inspected]
        if inspected
        else []
    )
    return {"op": op, "args": args, "node": node.id, "shared": others}


def _generator_args(node: Node, spec: OpSpec) -> dict[str, Json]:
    values: Mapping[str, Value | None] = {
        name: node.args.get(name, arg.default)
        for name, arg in spec.args.items()
        if not arg.advanced
    }
    return {name: json_value(value) for name, value in values.items() if value is not None}


def consumers_of(graph: Graph, node_id: str) -> list[str]:
    """Return a node's consumers: inputs as ``node.input``, graph outputs as ``output name``."""
    outputs = [f"output {name}" for name, port in graph.outputs.items() if port.node == node_id]
    return [f"{edge.target}.{edge.input}" for edge in graph.consumers(node_id)] + outputs


def port_labels(typed: TypedGraph, ports: Iterable[str]) -> dict[str, str]:
    """Return a label for each port, such as ``the random value of rotate.angle``."""
    fed: dict[str, str] = {}
    for edge in typed.graph.edges:
        fed.setdefault(edge.source.node, f"{edge.target}.{edge.input}")
    words: dict[str, str] = {}
    for port in ports:
        node, _, output = port.rpartition(".")
        view = node in fed and random_view(typed, Port(node, output))
        words[port] = f"the random value of {fed[node]}" if view else port
    return words


def distributions_for(arg: ArgSpec) -> list[str]:
    """Return the distributions that an argument can have; the first is the default.

    The list is empty if the catalogue does not specify the argument's number of values.
    """
    if arg.kind.endswith("_list") and not arg.parts and not isinstance(arg.start, tuple):
        return []
    generators = list(generators_for(arg))
    if arg.step == 2:  # odd window sizes: a range would include even ones
        return [CHOICE] if "random.uniform" in generators else []
    if "random.uniform" in generators:
        generators.append(CHOICE)
    if (arg.low, arg.high) != (0, 1):
        generators.sort(key=lambda op: op == "random.coin_flip")
    return generators


def slider_limits(arg: ArgSpec, view: RandomView) -> tuple[float | None, float | None]:
    """Return the limits of a slider for random values, so that both thumbs are easy to drag.

    The slider spans four times the default range of random values. If the catalogue has no such
    range, or the current range is outside, the limits are those of the argument.
    """
    wanted = view["args"].get("range")
    if arg.draw is None or arg.low is None or arg.high is None or not isinstance(wanted, list):
        return arg.low, arg.high
    margin = 1.5 * (arg.draw[1] - arg.draw[0])
    low, high = max(arg.low, arg.draw[0] - margin), min(arg.high, arg.draw[1] + margin)
    inside = all(isinstance(end, int | float) and low <= end <= high for end in wanted)
    return (low, high) if inside else (arg.low, arg.high)


def limits_of_fed(typed: TypedGraph, node: Node, arg: ArgSpec) -> tuple[float | None, float | None]:
    """Return the slider limits of an argument.

    For the ``range`` of a generator, return the limits of the argument that uses the generator.
    """
    if node.op == "random.uniform" and arg.name == "range":
        for edge in typed.graph.consumers(node.id):
            spec = typed.catalog.find(typed.graph.node(edge.target).op)
            fed = spec.args.get(edge.input) if spec else None
            if fed is not None and fed.low is not None and fed.high is not None:
                view = random_view(typed, edge.source)
                return slider_limits(fed, view) if view else (fed.low, fed.high)
    return arg.low, arg.high


def json_value(value: Value | None) -> Json:
    """Convert an argument value to JSON: tuples become lists."""
    return [json_value(item) for item in value] if isinstance(value, tuple) else value


def distribution(op: str, args: Mapping[str, Json]) -> str:
    """Return a distribution as a short text, such as ``−10 … 10`` or ``p = 0.5``."""
    word = op.removeprefix("random.")
    if op == "random.uniform":
        low, high = (*_numbers(args.get("range")), "?", "?")[:2]
        return f"{low} … {high}"
    if op == "random.normal":
        return f"{_number(args.get('mean', 0))} ± {_number(args.get('stddev', 1))}"
    if op == "random.coin_flip":
        return f"p = {_number(args.get('probability', 0.5))}"
    if op == CHOICE:
        if "population" in args:
            return ", ".join(_numbers(args["p"])) if "p" in args else f"any of {args['population']}"
        return "one of " + ", ".join(_numbers(args.get("values")))
    return f"{word} {', '.join(_number(value) for value in args.values())}"


def _numbers(value: Json) -> list[str]:
    return [_number(item) for item in value] if isinstance(value, list) else [_number(value)]


def _number(value: Json) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        large = isinstance(value, int) and abs(value) > sys.float_info.max
        return f"{Decimal(value) if large else value:.6g}".replace("-", "\N{MINUS SIGN}")
    return str(value)
