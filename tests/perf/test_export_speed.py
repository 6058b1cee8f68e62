"""The exported script against a hand-written pipeline of the same operators, in one run.

The two take turns, in changing order, so that whatever else the machine does falls on both.
"""

from __future__ import annotations

import random
import statistics
import time
from pathlib import Path

import pytest

from tests.perf.conftest import Table
from tests.perf.handwritten import build
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.graph import load_recipe

ROUNDS = 15
SECONDS = 1.0


def imgs_per_s(pipe: object) -> float:
    samples = 0
    start = time.perf_counter()
    while (seconds := time.perf_counter() - start) < SECONDS:
        samples += len(pipe.run()[0])
    return samples / seconds


def compare(photos: Path, table: Table, device: str, batch_size: int, threads: int) -> None:
    namespace: dict[str, object] = {"__name__": "exported"}
    text = emit_script(load_recipe("imagenet-train"), load_catalog()).text
    exec(compile(text, "exported.py", "exec"), namespace)
    pipes = {
        "exported": namespace["build_pipeline"](str(photos), batch_size, threads, device),
        "by hand": build(str(photos), batch_size, threads, device),
    }
    for pipe in pipes.values():
        for _ in range(8):
            pipe.run()
    figures: dict[str, list[float]] = {name: [] for name in pipes}
    order = random.Random(0)
    for _ in range(ROUNDS):
        for name in order.sample(list(pipes), 2):
            figures[name].append(imgs_per_s(pipes[name]))
    settings = f"{device}, batch {batch_size}, {threads} threads"
    for name, values in figures.items():
        table.add(f"imagenet-train {name}, {settings}", values, "imgs/s")
    ratios = [a / b for a, b in zip(figures["exported"], figures["by hand"], strict=True)]
    median = statistics.median(figures["exported"]) / statistics.median(figures["by hand"])
    row = table.add(f"exported / by hand, {settings}", ratios, "x", "to reach: 0.97")
    table.add(f"exported / by hand, ratio of medians, {device}", [median], "x", "to reach: 0.97")
    assert row.runs == ROUNDS


def test_exported_script_on_the_cpu(photos: Path, table: Table) -> None:
    compare(photos, table, "cpu", 32, 2)


@pytest.mark.gpu
def test_exported_script_with_mixed_decoding(photos: Path, table: Table) -> None:
    compare(photos, table, "mixed", 64, 16)
