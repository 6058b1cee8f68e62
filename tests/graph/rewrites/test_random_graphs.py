"""No exact rewrite, and no sequence of them in any order, changes one byte of any graph."""

from __future__ import annotations

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.graph.rewrites.laws import CATALOG
from tests.graph.rewrites.rewritable_graphs import rewritable_graphs
from tests.thorough import examples
from workbench.engine.run.runner import Runner
from workbench.graph import Graph, check_graph
from workbench.graph.rewrites import load_rewrites, rewritten_by
from workbench.graph.types.typed_graph import TypedGraph
from workbench.optimiser.difference import compare_outputs
from workbench.sources import open_datasets

BATCH, BATCHES = 5, 2


@pytest.fixture(scope="module")
def worker() -> Any:
    return SimpleNamespace(runner=Runner(CATALOG), check_interrupt=lambda: None)


def require_no_byte_differs(graph: Graph, some: int, worker: Any, photos: Path) -> None:
    """Of all exact rewrites, or of a choice of them: the bits of ``some``, in a random order."""
    graph = graph.with_settings(batch_size=BATCH)
    assert check_graph(graph, CATALOG) == ()
    exact = [
        name
        for name, rewrite in load_rewrites().items()
        if rewrite.class_in(TypedGraph(graph, CATALOG)) == "exact"
    ]
    chosen = [name for place, name in enumerate(exact) if some >> place & 1] or exact
    Random(some).shuffle(chosen)
    after = rewritten_by(TypedGraph(graph, CATALOG), chosen)
    note(f"{chosen}\n{graph!r}\n{after!r}")
    if len(chosen) == len(exact) and graph.settings.device == "cpu":
        assert after != graph
    found = compare_outputs(worker, graph, after, open_datasets(str(photos)), BATCHES)
    assert found.identical, found
    assert found.samples == BATCH * BATCHES


@examples(4, 1000)
@given(graph=rewritable_graphs(), some=st.integers(0, 2**13))
def test_exact_rewrites_keep_every_byte(graph: Graph, some: int, worker: Any, photos: Path) -> None:
    require_no_byte_differs(graph, some, worker, photos)


@pytest.mark.gpu
@examples(4, 200)
@given(graph=rewritable_graphs(), some=st.integers(0, 2**13))
def test_so_they_do_on_a_gpu(graph: Graph, some: int, worker: Any, photos: Path) -> None:
    require_no_byte_differs(graph.with_settings(device="mixed"), some, worker, photos)
