"""What the inspector may ask to be done to an argument: one function for each action.

Each gives the new graph. An action that does not suit the graph raises GraphEditError, as the edits
themselves do.
"""

from __future__ import annotations

from typing import Any

from workbench.catalog.own_operators.structure import STRUCTURE
from workbench.catalog.spec import ArgSpec, Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph.edits import edit
from workbench.graph.edits.connect import connect
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.values import describe_kind, kind_fault
from workbench.ui.contract.actions import inspector
from workbench.ui.inspector.random_views import CHOICE

_LONGEST = 10_000
"""Items in one value: more than any argument has, less than what would choke the page."""


def set_argument(graph: Graph, catalog: Catalog, action: inspector.SetArgument) -> Graph:
    """Give an argument a fixed value; null resets it."""
    node, arg = action.node, action.arg
    spec = _arg(graph, catalog, node, arg)
    value = action.value
    if value is None:
        return edit.reset_arg(graph, catalog, node, arg)
    return edit.set_arg(graph, catalog, node, arg, _fitting(graph, node, spec, value))


def _fitting(graph: Graph, node_id: str, spec: ArgSpec, value: Any) -> Value:
    """The value. Raises GraphEditError where no graph file could hold it there."""
    made = to_value(value, spec)
    if graph.node(node_id).op in STRUCTURE and (words := kind_fault(spec, made)):
        raise GraphEditError(f"{node_id}.{spec.name}: {words}. Give {describe_kind(spec)}.")
    return made


def reset_argument(graph: Graph, catalog: Catalog, action: inspector.ResetArgument) -> Graph:
    """Back to the usual value."""
    node, arg = action.node, action.arg
    return edit.reset_arg(graph, catalog, node, arg)


def randomise_argument(
    graph: Graph, catalog: Catalog, action: inspector.RandomiseArgument
) -> Graph:
    """Draw an argument from a distribution, with what ``args`` says of it."""
    node, arg, op = action.node, action.arg, action.op
    _arg(graph, catalog, node, arg)
    given = action.args or {}
    real = "random.uniform" if op == CHOICE else op
    known = catalog[real].args if real in catalog else {}
    args = {key: to_value(value, known[key]) for key, value in given.items() if key in known}
    if op == CHOICE and "values" not in args:
        args["values"] = _choices(graph, catalog, node, arg)
    return edit.randomise_arg(graph, catalog, node, arg, real, args)


def _choices(graph: Graph, catalog: Catalog, node: str, arg: str) -> Value:
    """Both ends and the middle of the range that would be drawn from."""
    spec = catalog[graph.node(node).op].args[arg]
    drawn = edit.generator_of(
        edit.randomise_arg(graph, catalog, node, arg, "random.uniform"), catalog, node, arg
    )
    match drawn.args.get("range") if drawn else None:
        case (int() | float() as low, int() | float() as high):
            ends: tuple[float, ...] = (low, float(f"{(low + high) / 2:.6g}"), high)
            if spec.kind.startswith("int"):
                ends = tuple(round(end) | 1 if spec.step == 2 else round(end) for end in ends)
            return tuple(dict.fromkeys(ends))
    return (0, 1)


def fix_argument(graph: Graph, catalog: Catalog, action: inspector.FixArgument) -> Graph:
    """Make a random argument fixed at the middle of its draws, a linked one at its usual value."""
    node, arg = action.node, action.arg
    spec = _arg(graph, catalog, node, arg)
    if arg not in graph.node(node).inputs:
        raise GraphEditError(f"{node}.{arg} is not random or linked.")
    generator = edit.generator_of(graph, catalog, node, arg)
    middle = None if generator is None else _middle(generator)
    if generator is None or middle is None:
        return edit.reset_arg(graph, catalog, node, arg)
    one: Value = round(middle, 6)
    if spec.kind.startswith("bool"):
        one = middle >= 0.5
    elif spec.kind.startswith("int"):
        one = round(middle)
    shape = generator.args.get("shape")
    if spec.kind.endswith("_list") and isinstance(shape, tuple) and len(shape) == 1:
        count = shape[0] if isinstance(shape[0], int) else 1
        return edit.set_arg(graph, catalog, node, arg, (one,) * min(count, _LONGEST))
    return edit.set_arg(graph, catalog, node, arg, one)


def set_generator(graph: Graph, catalog: Catalog, action: inspector.SetGeneratorArgument) -> Graph:
    """Change an argument of the generator that feeds an argument, and of what else it feeds."""
    node, arg, key = action.node, action.arg, action.key
    generator = edit.generator_of(graph, catalog, node, arg)
    if generator is None:
        raise GraphEditError(f"{node}.{arg} is not random.")
    value = to_value(action.value, _arg(graph, catalog, generator.id, key))
    return edit.set_arg(graph, catalog, generator.id, key, value)


def link_argument(graph: Graph, catalog: Catalog, action: inspector.LinkArgument) -> Graph:
    """Feed an argument from another node; a generator that fed only it goes."""
    node, arg = action.node, action.arg
    source = Port(action.source, action.output)
    before = graph.node(node)
    linked = connect(graph, catalog, source, node, arg)
    return edit.without_idle_generators(linked, catalog, before)


def own_generator(graph: Graph, catalog: Catalog, action: inspector.OwnGenerator) -> Graph:
    """Give an argument that shares a generator one of its own."""
    return edit.own_generator(graph, catalog, action.node, action.arg)


def _arg(graph: Graph, catalog: Catalog, node_id: str, arg: str) -> ArgSpec:
    op = graph.node(node_id).op
    if arg not in catalog[op].args:
        raise GraphEditError(f"{node_id} ({op}) has no argument {arg!r}.")
    return catalog[op].args[arg]


def _middle(generator: Node) -> float | None:
    args = generator.args
    if "values" in args:
        values = args["values"]
        first = values[0] if isinstance(values, tuple) and values else values
        return float(first) if isinstance(first, int | float) else None
    if generator.op == "random.coin_flip":
        probability = args.get("probability", 0.5)
        return float(isinstance(probability, int | float) and probability >= 0.5)
    if generator.op == "random.normal":
        mean = args.get("mean", 0.0)
        return float(mean) if isinstance(mean, int | float) else None
    match args.get("range"):
        case (int() | float() as low, int() | float() as high):
            return (low + high) / 2
    return None


def to_value(value: Any, spec: ArgSpec) -> Value:
    """JSON as a graph's value: lists become tuples; 3.0 becomes 3 where a whole number is meant.

    Whether the value suits the argument is for ``check_graph`` to say. Raises GraphEditError for
    what no argument can hold.
    """
    if isinstance(value, list):
        if len(value) > _LONGEST:
            raise GraphEditError(f"{spec.name}: {len(value)} items; {_LONGEST} are the limit.")
        return tuple(to_value(item, spec) for item in value)
    if isinstance(value, float) and value.is_integer() and spec.kind.startswith("int"):
        return int(value)
    if isinstance(value, bool | int | float | str):
        if isinstance(value, str) and len(value) > _LONGEST:
            raise GraphEditError(f"{spec.name}: a text of {len(value)} characters is too long.")
        return value
    raise GraphEditError(f"{spec.name}: {value!r} is not a number, text, truth value or list.")
