"""What a function of the user costs: the graph measured with it, and without it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.stats import median_interval
from workbench.bench.records.record import WHOLE
from workbench.bench.records.stage_report import FunctionCost
from workbench.catalog import Catalog
from workbench.catalog.own_operators.own_code import OWN_CODE
from workbench.emit.core.code import Code
from workbench.emit.script import emit_script
from workbench.errors import GraphError
from workbench.graph.execution.active import active_graph, set_muted
from workbench.graph.model import Graph, Node


def function_nodes(graph: Graph) -> list[Node]:
    """The nodes that call a function of the user, those inside regions too."""
    return [node for node in graph.walk() if node.op in OWN_CODE]


def row_without(node_id: str) -> str:
    """The name of the row of a graph without that node."""
    return f"without {node_id}"


def scripts_without_functions(graph: Graph, catalog: Catalog) -> Iterator[tuple[Node, Code]]:
    """The script of the graph with each function muted, where that is a graph that runs."""
    for node in function_nodes(graph):
        try:
            left = active_graph(set_muted(graph, [node.id], True), catalog)
            yield node, emit_script(left, catalog)
        except GraphError:
            continue  # what follows needs what the function makes


def function_costs(graph: Graph, rows: Sequence[Measurement], batch: int) -> list[FunctionCost]:
    """What each function costs: what a batch of the whole takes more than one without it, in ms.

    The interval is that of the differences of rounds side by side.
    """
    by_name = {row.name: row for row in rows}
    whole = by_name[WHOLE]
    found: list[FunctionCost] = []
    for node in function_nodes(graph):
        name, row = str(node.args.get("function", "")), by_name.get(row_without(node.id))
        if row is None or row.median is None or whole.median is None:
            reason = "what follows needs what it makes" if row is None else row.reason
            found.append(FunctionCost(node.id, name, reason=reason))
            continue
        spent = [
            1000 * batch * (1 / ours - 1 / theirs)
            for ours, theirs in zip(whole.imgs_per_s, row.imgs_per_s, strict=False)
        ]
        adds = 1000 * batch * (1 / whole.median - 1 / row.median)
        interval = median_interval(spent)
        low, high = min(adds, interval.low), max(adds, interval.high)
        rates = whole.median, row.median
        frames = row.config.frames
        found.append(FunctionCost(node.id, name, adds, low, high, *rates, frames=frames))
    return found
