"""Seeds of nodes: which one is free."""

from __future__ import annotations

from itertools import count

from workbench.graph.model import Graph
from workbench.graph.model.bounds import LARGEST_SEED, USUAL_SEEDS
from workbench.graph.model.identity_cache import identity_cached


@identity_cached
def free_seed(graph: Graph) -> int:
    """A seed that no node has: one above the largest in use.

    Those that DALI gave out, in a graph that was imported, are passed over.
    """
    taken = {node.seed for node in graph.whole.walk() if node.seed is not None}
    usual = (seed for seed in taken if 0 <= seed < USUAL_SEEDS)
    above = max(usual, default=-1) + 1
    return next(seed for seed in count(above) if seed not in taken and seed <= LARGEST_SEED)
