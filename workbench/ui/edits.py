"""What the browser may ask to be done to the graph: one function for each action.

Each takes the graph, the catalogue and the message of the outbox (untrusted JSON), and gives the
new graph and the node to select, or None to leave the selection. A wrong message raises
GraphEditError, as the edits themselves do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from workbench.catalog.spec import ArgSpec, Catalog, Value
from workbench.errors import GraphEditError
from workbench.graph import edit
from workbench.graph.devices import image_outputs, is_generator
from workbench.graph.model import Graph, Node
from workbench.ui.rows import CHOICE

Message = Mapping[str, Any]
Edited = tuple[Graph, str | None]
_LONGEST = 10_000
"""Items in one value: more than any argument has, less than what would choke the page."""


def text_of(message: Message, key: str) -> str:
    """A text parameter of a message, or GraphEditError."""
    value = message.get(key)
    if not isinstance(value, str):
        raise GraphEditError(f"{message.get('do')}: {key} is {value!r}, not a text.")
    return value


def _add(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    after = text_of(message, "after") or _end(graph, catalog)
    graph, node = edit.insert_node(graph, catalog, text_of(message, "op"), after)
    return graph, node


def _end(graph: Graph, catalog: Catalog) -> str:
    images = image_outputs(graph, catalog)
    if not images:
        raise GraphEditError("No output of the graph is an image: say after which node to add.")
    return next(iter(images.values())).node


def _move(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node = text_of(message, "node")
    by = message.get("by")
    if not isinstance(by, int):
        raise GraphEditError(f"A node moves by -1 or 1, not {by!r}.")
    return edit.move_node(graph, catalog, node, by), node


def _remove(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node = text_of(message, "node")
    ids = [n.id for n in edit.chain(graph, catalog)]
    at = ids.index(node) if node in ids else 0
    neighbours = [*reversed(ids[:at]), *ids[at + 1 :]]
    return edit.remove_node(graph, catalog, node), next(iter(neighbours), "")


def _set(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node, arg = text_of(message, "node"), text_of(message, "arg")
    spec = _arg(graph, catalog, node, arg)
    value = message.get("value")
    if value is None:
        return edit.reset_arg(graph, catalog, node, arg), None
    return edit.set_arg(graph, catalog, node, arg, to_value(value, spec)), None


def _reset(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node, arg = text_of(message, "node"), text_of(message, "arg")
    return edit.reset_arg(graph, catalog, node, arg), None


def _randomise(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node, arg, op = (text_of(message, key) for key in ("node", "arg", "op"))
    if op != CHOICE:
        return edit.randomise_arg(graph, catalog, node, arg, op), None
    graph = edit.randomise_arg(graph, catalog, node, arg, "random.uniform")
    generator = graph.node(graph.node(node).inputs[arg].node)
    args = dict(generator.args)
    args["values"] = args.pop("range", (0.0, 1.0))
    return graph.replace_node(replace(generator, args=args)), None


def _fix(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node, arg = text_of(message, "node"), text_of(message, "arg")
    spec = _arg(graph, catalog, node, arg)
    middle = _middle(_generator(graph, catalog, node, arg))
    if middle is None:
        return edit.reset_arg(graph, catalog, node, arg), None
    if spec.kind.startswith("bool"):
        return edit.set_arg(graph, catalog, node, arg, middle >= 0.5), None
    value = round(middle) if spec.kind.startswith("int") else round(middle, 6)
    return edit.set_arg(graph, catalog, node, arg, value), None


def _set_random(graph: Graph, catalog: Catalog, message: Message) -> Edited:
    node, arg, key = (text_of(message, name) for name in ("node", "arg", "key"))
    generator = _generator(graph, catalog, node, arg)
    value = to_value(message.get("value"), _arg(graph, catalog, generator.id, key))
    return edit.set_arg(graph, catalog, generator.id, key, value), None


EDITS: dict[tuple[str, str], Callable[[Graph, Catalog, Message], Edited]] = {
    ("canvas", "add"): _add,
    ("canvas", "move"): _move,
    ("canvas", "remove"): _remove,
    ("inspector", "set"): _set,
    ("inspector", "reset"): _reset,
    ("inspector", "randomise"): _randomise,
    ("inspector", "fix"): _fix,
    ("inspector", "set_random"): _set_random,
}


def _arg(graph: Graph, catalog: Catalog, node_id: str, arg: str) -> ArgSpec:
    op = graph.node(node_id).op
    if arg not in catalog[op].args:
        raise GraphEditError(f"{node_id} ({op}) has no argument {arg!r}.")
    return catalog[op].args[arg]


def _generator(graph: Graph, catalog: Catalog, node_id: str, arg: str) -> Node:
    port = graph.node(node_id).inputs.get(arg)
    if port is not None:
        node = graph.node(port.node)
        if node.op in catalog and is_generator(catalog[node.op]):
            return node
    raise GraphEditError(f"{node_id}.{arg} is not random.")


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
