"""With which probability the first body of an ``if`` runs, where a coin flip decides."""

from __future__ import annotations

from dataclasses import replace

from workbench.catalog.spec import Catalog
from workbench.errors import GraphEditError
from workbench.graph.model import Graph, Node
from workbench.graph.model.scoped import scoped

CONDITION = "condition"
DRAW = "random.coin_flip"
_USUAL = 0.5
"""DALI's own where none is given."""


def probability_of(graph: Graph, region: Node) -> float | None:
    """The written probability of an ``if``; None where it is drawn or no coin flip decides."""
    draw = coin_of(graph, region)
    value = draw.args.get("probability", _USUAL) if draw is not None else None
    return float(value) if isinstance(value, int | float) else None


def coin_of(graph: Graph, region: Node) -> Node | None:
    """The coin flip that decides by a probability that is written, or None."""
    port = region.inputs.get(CONDITION)
    node = graph.node(port.node) if port is not None and graph.has(port.node) else None
    return node if node is not None and node.op == DRAW and not node.inputs else None


@scoped("region")
def set_probability(graph: Graph, catalog: Catalog, region: str, probability: float) -> Graph:
    """Let the first body of an ``if`` run with a probability.

    Raises GraphEditError for a probability outside 0 to 1, and where something else than a coin
    flip decides.
    """
    node = graph.node(region)
    draw = coin_of(graph, node)
    if draw is None:
        source = node.inputs.get(CONDITION)
        raise GraphEditError(
            f"{source or 'Nothing'} decides in {region}. Feed {CONDITION} from {DRAW} for a "
            "probability."
        )
    if not 0 <= probability <= 1:
        raise GraphEditError(
            f"The probability of {region} is {probability:g}. Give a number from 0 to 1."
        )
    return graph.replace_node(replace(draw, args={**draw.args, "probability": probability}))
