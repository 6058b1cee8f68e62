"""Remedies at a click for warnings: constants, shuffling and layouts of boxes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.catalog.spec import Catalog, Value
from workbench.graph.fixes.fix_candidate import (
    FixCandidate,
    node_of,
    removal,
    with_arg,
)
from workbench.graph.model import Graph
from workbench.graph.model.faults import Fault


def fix_covered(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Remove the operator that covers annotations, or that mirrors names with a side."""
    yield removal(graph, catalog, fault.node)


def fix_scale(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Multiply constants of normalisation by the factor that fits the pixels."""
    node = node_of(graph, fault)
    if node.op.startswith("math."):
        yield removal(graph, catalog, fault.node)
        return
    factor = 255.0 if float(fault.about) > 1 else 1 / 255.0
    names = [name for name in ("mean", "std", "stddev") if name in node.args]
    action = "Multiply" if factor > 1 else "Divide"
    scaled = {name: _scaled(node.args[name], factor) for name in names}
    made = replace(node, args={**node.args, **scaled})
    yield f"{action} {' and '.join(names)} by 255", partial(graph.replace_node, made)


def _scaled(value: Value, factor: float) -> Value:
    if isinstance(value, tuple):
        return tuple(_scaled(item, factor) for item in value)
    return round(value * factor, 6) if isinstance(value, int | float) else value


def fix_unshuffled(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Let the source shuffle."""
    node = node_of(graph, fault)
    yield "Turn on random_shuffle", partial(with_arg, graph, node, "random_shuffle", True)


def fix_buffer(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Give the source a shuffle buffer in which the classes mix."""
    fill = int(fault.about)
    label = f"Set initial_fill to {fill:,}"
    yield label, partial(with_arg, graph, node_of(graph, fault), "initial_fill", fill)


def fix_box_layout(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Let an operator read boxes as the source writes them."""
    name, value = fault.about.split("=")
    label, node = f"Set {name} of {fault.node} to {value}", node_of(graph, fault)
    if name == "ratio":
        label = f"Turn on ratio of {value}"
        yield label, partial(with_arg, graph, graph.node(value), name, True)
    else:
        yield label, partial(with_arg, graph, node, name, value)


def fix_silent(graph: Graph, catalog: Catalog, fault: Fault) -> Iterator[FixCandidate]:
    """Let the decoder output floats."""
    yield "Set dtype to FLOAT", partial(with_arg, graph, node_of(graph, fault), "dtype", "FLOAT")
