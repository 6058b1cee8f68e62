"""Automatic augmentation, alone and in an if: the first image, and a change of a parameter.

Each augmentation is built when it is drawn first.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.conftest import Table
from benchmarks.test_preview_latency import Nowhere
from tests.helpers import chain_graph
from workbench.catalog import Value, load_catalog
from workbench.engine.run.worker import Worker
from workbench.graph import Graph
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.preview import PreviewRequest
from workbench.preview.requests.render import render

CATALOG = load_catalog()
FIRST, RUNS = 5, 30
SIZE = {"size": (224.0, 224.0)}
CHANGES: dict[str, tuple[str, Callable[[int], Value]]] = {
    "rand_augment": ("m", lambda n: n % 31),
    "trivial_augment_wide": ("num_magnitude_bins", lambda n: 20 + n),
    "auto_augment": ("fill_value", lambda n: n),
    "apply_auto_augment": (
        "policy",
        lambda n: ((("rotate", n / 100, 6), ("equalize", 0.5)), (("color", 0.8, 8),)),
    ),
}


def augmented(op: str, device: str) -> Graph:
    return set_setting(chain_graph("resize", op, resize=SIZE), device=device)


def milliseconds(worker: Worker, graph: Graph, photos: Path) -> float:
    start = time.perf_counter()
    assert render(worker, PreviewRequest(graph, str(photos))).image
    return (time.perf_counter() - start) * 1000


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("op", CHANGES)
def test_the_first_picture_and_a_change(op: str, device: str, photos: Path, table: Table) -> None:
    argument, value = CHANGES[op]
    graph, plain = (
        augmented(op, device),
        set_setting(chain_graph("resize", resize=SIZE), device=device),
    )
    block, _ = wrap_in_block(graph, CATALOG, [op])
    for where, shown in (("alone", graph), ("in an if", block)):
        first: list[float] = []
        for _ in range(FIRST):
            worker = Worker(Nowhere())  # type: ignore[arg-type]
            milliseconds(worker, plain, photos)
            first.append(milliseconds(worker, shown, photos))
        fresh = itertools.count(1)
        changed = [
            milliseconds(worker, set_arg(shown, CATALOG, op, argument, value(next(fresh))), photos)
            for _ in range(RUNS)
        ]
        row = table.add(f"{device}: {op} {where}, first picture", first, "ms", "to reach: 3000")
        assert row.runs == FIRST
        table.add(f"{device}: {argument} of {op} {where}", changed, "ms", "p95 to reach: 150")
        worker.runner.forget()
