"""Draws and constants that are always the same value become that value.

A coin that always or never falls on one side, a choice from one value and ``constant`` give the
same number for every sample: what they feed gets it as a fixed argument. Exact: the value is the
same, and no other node draws from that seed.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.catalog.spec import ArgSpec, Catalog, Value
from workbench.graph.edits.edit import without_idle_generators
from workbench.graph.model import Graph, Node
from workbench.graph.rewrites import EVERYWHERE, Rewrite
from workbench.graph.rewrites._places import is_given, with_given


def _sites(graph: Graph, catalog: Catalog) -> Iterator[Graph]:
    found = ((node.id, _constant(node)) for node in graph.nodes)
    constants = {node_id: value for node_id, value in found if value is not None}
    for node in graph.nodes:
        spec = catalog.find(node.op)
        for name, port in node.inputs.items():
            arg = spec.args.get(name) if spec else None
            if arg is not None and port.node in constants:
                value = _as_kind(arg, constants[port.node])
                if value is not None:
                    folded = graph.replace_node(with_given(node, {name: value}))
                    yield without_idle_generators(folded, catalog, node)


def _constant(node: Node) -> float | None:
    """The value that a node gives to every sample, where that is one number."""
    if node.muted or is_given(node, "shape", "dtype") or node.inputs:
        return None
    if node.op == "random.coin_flip":
        probability = node.args.get("probability", 0.5)
        return int(probability) if probability in (0, 1) else None
    if node.op == "random.uniform":
        return _only(node.args.get("values"))
    if node.op == "constant":
        names = [name for name in ("fdata", "idata") if name in node.args]
        value = _only(node.args[names[0]]) if len(names) == 1 else None
        return int(value) if value is not None and names == ["idata"] else value
    return None


def _only(value: Value | None) -> float | None:
    items = value if isinstance(value, tuple) else (value,)
    number = items[0] if len(items) == 1 else None
    return float(number) if isinstance(number, int | float) else None


def _as_kind(arg: ArgSpec, value: float) -> Value | None:
    """As an argument has it; None where it takes no such number."""
    if arg.kind in ("int", "bool") and isinstance(value, int):
        return bool(value) if arg.kind == "bool" else value
    if arg.kind == "float" and not isinstance(value, int):
        return value
    return None


REWRITE = Rewrite("Constants folded", _sites, EVERYWHERE)
