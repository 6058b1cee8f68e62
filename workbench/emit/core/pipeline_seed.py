"""Whether the pipeline's seed alone gives the draws of a graph, as in what came in with one.

DALI hands seeds out to the operators that have none, in the order in which it holds them: depth
first from the outputs. So they are those of a graph that came in with the pipeline's seed alone,
and never those of one that was made here: its operators get theirs when they are added, and keep
them. Were they DALI's, an operator that is added, muted or fed otherwise would change the draws of
all that DALI holds after it, in the preview and in every exported program.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.catalog.spec import Catalog
from workbench.emit.core.own_code import CALLING
from workbench.emit.core.seed_sequence import drawn_seeds
from workbench.graph.model import Graph, Node, Port
from workbench.graph.model.ports import positional_ports

_MOST = 500
"""Nodes that are looked through one inside the other."""


def pipeline_seed_is_enough(graph: Graph, catalog: Catalog, nodes: Sequence[Node]) -> bool:
    """Whether DALI gives the nodes, in running order, the seeds that they have.

    With regions, automatic augmentation and targets that follow it holds further operators, and
    with several pipelines their seeds would not be those of the preview.
    """
    specs = [catalog[node.op] for node in nodes]
    further = any(spec.bodies or spec.module or spec.follows for spec in specs)
    called = any(node.op in CALLING for node in nodes)
    if further or called or graph.settings.pipelines > 1 or len(nodes) > _MOST:
        return False
    held = [node for node in _held(graph, catalog) if catalog[node.op].seeded]
    own = tuple(graph.settings.seed + (node.seed or 0) for node in held)
    return bool(held) and own == drawn_seeds(graph.settings.seed)[: len(own)]


def _held(graph: Graph, catalog: Catalog) -> Iterable[Node]:
    """The nodes in the order in which DALI holds their calls."""
    held: dict[str, Node] = {}

    def visit(port: Port) -> None:
        node = graph.node(port.node)
        if node.id in held:
            return
        first = [name for name in positional_ports(node, catalog[node.op]) if name in node.inputs]
        for name in (*first, *(name for name in node.inputs if name not in first)):
            visit(node.inputs[name])
        held[node.id] = node

    for port in graph.outputs.values():
        visit(port)
    return held.values()
