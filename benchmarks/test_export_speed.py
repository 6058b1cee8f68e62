"""The exported script against a hand-written pipeline of the same operators, in one run.

The two take turns, in changing order, so that whatever else the machine does falls on both. Both
are built anew several times, for on a shared machine the same pipeline built twice differs by up to
a quarter (where its memory and threads come to lie); the median over the builds is what counts.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import Table
from benchmarks.handwritten import build
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.graph import load_recipe

BUILDS = 9
ROUNDS = 3
SECONDS = 0.7


def imgs_per_s(pipe: Any) -> float:
    samples = 0
    start = time.perf_counter()
    while (seconds := time.perf_counter() - start) < SECONDS:
        samples += len(pipe.run()[0])
    return samples / seconds


def compare(photos: Path, table: Table, device: str, batch_size: int, threads: int) -> None:
    namespace: dict[str, Any] = {"__name__": "exported"}
    text = emit_script(load_recipe("imagenet-train"), load_catalog()).text
    exec(compile(text, "exported.py", "exec"), namespace)
    makers: dict[str, Callable[[], Any]] = {
        "exported": lambda: namespace["build_pipeline"](str(photos), batch_size, threads, device),
        "by hand": lambda: build(str(photos), batch_size, threads, device),
    }
    figures: dict[str, list[float]] = {name: [] for name in makers}
    order = random.Random(0)
    for _ in range(BUILDS):
        pipes = {name: makers[name]() for name in order.sample(list(makers), 2)}
        rounds: dict[str, list[float]] = {name: [] for name in makers}
        for pipe in pipes.values():
            for _ in range(8):
                pipe.run()
        for _ in range(ROUNDS):
            for name in order.sample(list(pipes), 2):
                rounds[name].append(imgs_per_s(pipes[name]))
        for name, values in rounds.items():
            figures[name].append(statistics.median(values))
    settings = f"{device}, batch {batch_size}, {threads} threads"
    for name, values in figures.items():
        table.add(f"imagenet-train {name}, {settings}", values, "imgs/s")
    ratios = [a / b for a, b in zip(figures["exported"], figures["by hand"], strict=True)]
    row = table.add(f"exported / by hand, {settings}", ratios, "x", "to reach: 0.97")
    assert row.runs == BUILDS


def test_exported_script_on_the_cpu(photos: Path, table: Table) -> None:
    compare(photos, table, "cpu", 32, 2)


@pytest.mark.gpu
def test_exported_script_with_mixed_decoding(photos: Path, table: Table) -> None:
    compare(photos, table, "mixed", 64, 16)
