"""Re-running from the changed node against re-running everything after the decoder.

Both are interleaved in one run, so that other load affects both.
"""

from __future__ import annotations

import itertools
import statistics
import time
from pathlib import Path

import pytest

from benchmarks.conftest import Table
from benchmarks.test_preview_latency import CHANGES, Nowhere, chain
from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.graph import Graph
from workbench.preview import PreviewRequest
from workbench.preview.requests.render import render

PAIRS = 25
ENOUGH = 1.4
"""Minimum speedup for the last node of a chain of five, on the CPU."""
NEVER_SLOWER = 0.9
"""Not 1: after a change of the first node both do the same work, and 25 pairs scatter."""


@task
def seconds(worker: Worker, graph: Graph, photos: Path, keep: set[str] | None) -> float:
    """Time from a changed graph to the encoded sheet.

    ``keep`` are the keys of the outputs that remain cached, or None for all.
    """
    store = worker.runner.store
    if keep is not None:
        for key in [key for key in store._kept if key not in keep]:
            store._drop(key)
    start = time.perf_counter()
    assert render(worker, PreviewRequest(graph, str(photos), shown="augmented")).image
    return time.perf_counter() - start


def compare(photos: Path, table: Table, device: str) -> dict[str, float]:
    """Median of (everything after decode / from the changed node), by changed node."""
    worker, graph, fresh = Worker(Nowhere()), chain(5, device), itertools.count()  # type: ignore[arg-type]
    found = {}
    render(worker, PreviewRequest(graph, str(photos), shown="original"))
    ports = list(graph.outputs.values())
    result = worker.runner.run(graph, str(photos), 0, 16, ports)
    decoded = {result.keys["reader"], result.keys["decode"]}
    for where, change in CHANGES.items():
        ratios = []
        for pair in range(PAIRS):
            render(worker, PreviewRequest(graph, str(photos), shown="augmented"))
            times = {}
            for keep in (None, decoded) if pair % 2 else (decoded, None):
                render(worker, PreviewRequest(graph, str(photos), shown="augmented"))
                times[keep is None] = seconds(worker, change(graph, next(fresh)), photos, keep)
            ratios.append(times[False] / times[True])
        row = table.add(
            f"{device}: everything after decode / from {where} on, 16 tiles", ratios, "x"
        )
        found[where] = row.median
    worker.runner.forget()
    assert statistics.median(found.values()) > 0
    return found


def test_on_the_cpu(photos: Path, table: Table) -> None:
    ratios = compare(photos, table, "cpu")
    assert ratios["crop_mirror_normalize"] >= ENOUGH
    assert min(ratios.values()) >= NEVER_SLOWER


@pytest.mark.gpu
def test_on_the_gpu(photos: Path, table: Table) -> None:
    assert min(compare(photos, table, "mixed").values()) >= NEVER_SLOWER
