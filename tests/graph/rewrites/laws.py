"""What the tests of all rewrites share: a graph rewritten, run and compared on photos."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.helpers import CATALOG, kept_runner
from workbench.graph import Graph, check_graph
from workbench.graph.edits.edit import ordered_nodes, start_graph
from workbench.graph.rewrites import rewritten
from workbench.graph.types.typed_graph import TypedGraph
from workbench.optimiser.difference import Difference, compare_outputs
from workbench.sources import open_datasets

BATCH = 12


def start() -> Graph:
    """A folder read and decoded."""
    return start_graph(CATALOG)


def cases(table: Mapping[str, Any]) -> list[Any]:
    """Cases for ``parametrize``: the names of rewrites, then the values of a row.

    A key is ``rewrite + rewrite: what the case shows``.
    """
    return [
        pytest.param(
            key.partition(":")[0].split(" + "),
            *(row if isinstance(row, tuple) else (row,)),
            id=key,
        )
        for key, row in table.items()
    ]


def done(graph: Graph, *names: str) -> Graph:
    """The graph after some rewrites: sound, with the same sources, draws and outputs."""
    after = rewritten(TypedGraph(graph, CATALOG), names)
    assert check_graph(after, CATALOG) == check_graph(graph, CATALOG)
    assert list(after.outputs) == list(graph.outputs)
    assert rewritten(TypedGraph(after, CATALOG), names) == after
    seeds = {node.seed for node in graph.walk()}
    assert {node.seed for node in after.walk()} <= seeds
    return after


def ops(graph: Graph) -> list[str]:
    """What works on the image, in running order: nothing that only draws."""
    return [node.op for node in ordered_nodes(graph, CATALOG)]


def difference(graph: Graph, after: Graph, photos: Path, batches: int = 2) -> Difference:
    """Of the outputs over some batches, run in this process."""
    worker: Any = SimpleNamespace(runner=kept_runner(), check_interrupt=lambda: None)
    small = graph.with_settings(batch_size=BATCH), after.with_settings(batch_size=BATCH)
    found = compare_outputs(worker, *small, open_datasets(str(photos)), batches)
    return cast("Difference", found)


def require_exact(graph: Graph, after: Graph, photos: Path) -> None:
    """A different graph whose outputs are identical."""
    assert after != graph
    found = difference(graph, after, photos)
    assert found.identical, found


def require_near(graph: Graph, after: Graph, photos: Path) -> Difference:
    """A different graph whose outputs have at least 35 dB."""
    assert after != graph
    found = difference(graph, after, photos)
    assert not found.other, found.other
    assert found.psnr >= 35, found.psnr
    return found
