"""Seeds of new nodes are small and their own."""

from __future__ import annotations

import pytest

from workbench.graph import Graph, Node
from workbench.graph.model.bounds import USUAL_SEEDS
from workbench.graph.model.free_seed import free_seed


@pytest.mark.parametrize(
    ("taken", "free"),
    [
        ([], 0),
        ([None], 0),
        ([0, 1], 2),
        ([5], 6),
        ([0, 2_101_794_609], 1),
        ([-3, 2**40], 0),
        ([USUAL_SEEDS - 1], USUAL_SEEDS),
        ([USUAL_SEEDS - 1, USUAL_SEEDS], USUAL_SEEDS + 1),
    ],
)
def test_free(taken: list[int | None], free: int) -> None:
    nodes = [Node(f"n{i}", "random.uniform", seed=seed) for i, seed in enumerate(taken)]
    assert free_seed(Graph(nodes=tuple(nodes))) == free
