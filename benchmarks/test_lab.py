"""The speed lab compared with a plain script in its own process, and the cost of the lab's timing.
Rounds are interleaved, so that other load affects both; processes are new each time, because two
builds of one pipeline may differ in speed.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from benchmarks.conftest import Table
from benchmarks.heavy import heavy
from benchmarks.photos import make_photos
from tests.helpers import with_settings
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.workload import ScriptJob, run_round
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.resources.machine import usable_cores
from workbench.graph import load_recipe
from workbench.sources import open_datasets

PAIRS = int(os.environ.get("PAIRS", "5"))
"""Number of new processes of both; fewer suffice on an otherwise idle machine."""
MEASUREMENT_CONFIG = MeasurementConfig(budget=float(os.environ.get("BUDGET", "6")))
PLAIN = str(Path(__file__).with_name("plain.py"))
WORK = {
    "decode": (load_recipe("imagenet-train"), "decode"),
    "train": (load_recipe("imagenet-train"), "pipeline"),
    "heavy": (heavy(), "pipeline"),
}
"""Graph and regime that do the same work as the pipeline of the plain script."""
BATCH_SIZES = (64, 128)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """2,000 photos of 500x375 pixels in class folders."""
    return make_photos(tmp_path_factory.mktemp("speed") / "photos", 2000)


class Plain:
    """The plain script in its own process, warm, waiting for its rounds."""

    def __init__(self, folder: Path, what: str, device: str, batch_size: int, threads: int) -> None:
        command = [sys.executable, PLAIN, "--rounds", "--data", str(folder), "--what", what]
        command += ["--device", device, "--batch-size", str(batch_size)]
        command += ["--threads", str(threads), "--seconds", str(MEASUREMENT_CONFIG.round_seconds)]
        self._process = subprocess.Popen(
            command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True,  # as a worker: the scheduler may share the cores by session
        )  # fmt: skip
        self.rates: list[float] = []

    def turn(self) -> None:
        """Run one round and store its rate in imgs/s."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        self.rates.append(float(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


class BenchmarkWithPlain(Benchmark):
    """The lab, with a round of the plain script before each of its own."""

    plain: Plain

    def _before_round(self) -> Callable[[], None]:
        return self.plain.turn


def measured(
    folder: Path, what: str, device: str, batch_size: int, threads: int
) -> tuple[float, float]:
    """imgs/s of the lab and of the plain script."""
    recipe, regime = WORK[what]
    graph = with_settings(recipe, batch_size=batch_size, num_threads=threads)
    bench = BenchmarkWithPlain(
        graph,
        str(folder),
        (cast(Any, device),),
        (cast(Any, regime),),
        measurement_config=MEASUREMENT_CONFIG,
    )
    bench.plain = Plain(folder, what, device, batch_size, threads)
    try:
        (row,) = bench.run().measurements
    finally:
        bench.plain.close()
    assert row.median, row.reason
    return row.median, statistics.median(bench.plain.rates[-len(row.rounds) :])


def agree(
    folder: Path, table: Table, what: str, device: str, batch_size: int, threads: int
) -> None:
    pairs = [measured(folder, what, device, batch_size, threads) for _ in range(PAIRS)]
    settings = f"{what}, {device}, batch {batch_size}, {threads} threads"
    table.add(f"speed lab: {settings}", [lab for lab, _ in pairs], "imgs/s")
    table.add(f"plain script: {settings}", [script for _, script in pairs], "imgs/s")
    ratios = [lab / script for lab, script in pairs]
    row = table.add(f"lab / script: {settings}", ratios, "x", "to reach: 0.97 to 1.03")
    assert row.runs == PAIRS
    print(f"{row.what} {row.median:.3f}", flush=True)  # a run that is stopped early loses nothing


@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch_size", BATCH_SIZES)
@pytest.mark.parametrize("what", WORK)
def test_the_lab_agrees_with_a_plain_script_on_the_cpu(
    what: str, batch_size: int, folder: Path, table: Table
) -> None:
    agree(folder, table, what, "cpu", batch_size, min(4, usable_cores()))


@pytest.mark.gpu
@pytest.mark.timeout(600)
@pytest.mark.parametrize("batch_size", BATCH_SIZES)
@pytest.mark.parametrize("what", WORK)
def test_the_lab_agrees_with_a_plain_script_with_mixed_decoding(
    what: str, batch_size: int, folder: Path, table: Table
) -> None:
    agree(folder, table, what, "mixed", batch_size, min(4, usable_cores()))


class _Ear:
    """The part of a worker that a round needs."""

    def __init__(self, work: Any) -> None:
        self.kept = {"bench": work}

    def report(self, value: Any) -> None:
        pass


def overhead(folder: Path, table: Table, device: str) -> None:
    graph = with_settings(load_recipe("imagenet-train"), num_threads=usable_cores())
    graph = replace(graph, settings=replace(graph.settings, device=cast(Any, device)))
    data = open_datasets(str(folder))
    work = ScriptJob(emit_script(graph, load_catalog()), data, device, 2).start()
    batches_of = cast(Any, work)._batches

    def plain() -> float:
        for _ in range(work.lead):
            next(batches_of)
        batches = 0
        start = time.perf_counter()
        while (spent := time.perf_counter() - start) < 1.0:
            next(batches_of)
            batches += 1
        return batches * graph.settings.batch_size / spent

    def lab() -> float:
        return run_round(cast(Any, _Ear(work)), 1.0, 10).imgs_per_s

    ways = {plain: [], lab: []}  # type: ignore[var-annotated]
    order = random.Random(0)
    plain()
    for _ in range(12):
        for way in order.sample(list(ways), 2):
            ways[way].append(way())
    ratios = [a / b for a, b in zip(ways[lab], ways[plain], strict=True)]
    row = table.add(f"the lab's loop / a plain loop, {device}", ratios, "x", "to reach: 0.98")
    assert statistics.median(ratios) == row.median


@pytest.mark.timeout(300)
def test_the_measurement_costs_little_on_the_cpu(folder: Path, table: Table) -> None:
    overhead(folder, table, "cpu")


@pytest.mark.gpu
@pytest.mark.timeout(300)
def test_the_measurement_costs_little_with_mixed_decoding(folder: Path, table: Table) -> None:
    overhead(folder, table, "mixed")
