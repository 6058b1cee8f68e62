"""A block against the hand-written conditional pipeline, and against the chain without it.

Both run in short rounds in alternating order; the result is the median of the ratios of the rounds,
so that other load affects both.
"""

from __future__ import annotations

import itertools
import linecache
import random
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import Table
from benchmarks.handwritten import SIZE, build
from benchmarks.test_preview_latency import Nowhere, chain
from tests.helpers import chain_graph, with_settings
from workbench.bench.experiments.fused_speed import FusedSpeedExperiment
from workbench.bench.measuring.measurement_config import QUICK_CONFIG
from workbench.catalog import Value, load_catalog
from workbench.emit import emit_script
from workbench.engine.run.worker import Worker
from workbench.graph import Graph
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import set_arg
from workbench.preview import PreviewRequest
from workbench.preview.requests.render import render

CATALOG = load_catalog()
BUILDS, TURNS, BATCHES = 5, 8, 3
BATCH_SIZE, THREADS = 32, 2
PAIRS = 40

_VALUES: Mapping[str, dict[str, Value]] = {
    "resize": {"size": (float(SIZE), float(SIZE))},
    "rotate": {"angle": 20.0, "keep_size": True},
    "flip": {"horizontal": 1},
    "gaussian_blur": {"sigma": 1.5},
    "brightness_contrast": {"brightness": 1.4},
    "noise.gaussian": {"stddev": 20.0},
}


def augmented(*ops: str) -> Graph:
    return chain_graph("resize", *ops, **{_name(op): _VALUES[op] for op in ("resize", *ops)})


def _name(op: str) -> str:
    return op.rpartition(".")[2]


def apply_with_p() -> Graph:
    return wrap_in_block(augmented("rotate"), CATALOG, ["rotate"])[0]


def one_of_four() -> Graph:
    ops = ("rotate", "gaussian_blur", "brightness_contrast", "noise.gaussian")
    return wrap_as_options(augmented(*ops), CATALOG, [*map(_name, ops)])[0]


def nested() -> Graph:
    graph = augmented("rotate", "gaussian_blur")
    graph, inner = wrap_in_block(graph, CATALOG, ["gaussian_blur"])
    return wrap_in_block(graph, CATALOG, ["rotate", inner])[0]


def imgs_per_s(pipe: Any) -> float:
    """imgs/s over equal numbers of batches, with equal seeds."""
    start = time.perf_counter()
    samples = sum(len(pipe.run()[0]) for _ in range(BATCHES))
    return samples / (time.perf_counter() - start)


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("make", [apply_with_p, one_of_four, nested])
def test_a_block_is_as_fast_as_by_hand(
    make: Callable[[], Graph], device: str, photos: Path, table: Table
) -> None:
    name = make.__name__
    namespace: dict[str, Any] = {"__name__": "exported"}
    path = f"exported_{name}.py"
    text = emit_script(make(), CATALOG).text
    # AutoGraph reads the source of what stands in no file
    linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)
    exec(compile(text, path, "exec"), namespace)
    makers: dict[str, Callable[[], Any]] = {
        "exported": lambda: namespace["build_pipeline"](str(photos), BATCH_SIZE, THREADS, device),
        "by hand": lambda: build(name, str(photos), BATCH_SIZE, THREADS, device),
    }
    figures: dict[str, list[float]] = {side: [] for side in makers}
    ratios: list[float] = []
    order = random.Random(0)
    for _ in range(BUILDS):
        pipes = {side: makers[side]() for side in order.sample(list(makers), 2)}
        for pipe in pipes.values():
            for _ in range(4):
                pipe.run()
        turns: list[float] = []
        for _ in range(TURNS):
            found = {side: imgs_per_s(pipes[side]) for side in order.sample(list(pipes), 2)}
            turns.append(found["exported"] / found["by hand"])
            for side, value in found.items():
                figures[side].append(value)
        ratios.append(statistics.median(turns))
    for side, values in figures.items():
        table.add(
            f"{name} {side}, {device}, batch {BATCH_SIZE}, {THREADS} threads", values, "imgs/s"
        )
    row = table.add(f"{name}, {device}: exported / by hand", ratios, "x", "to reach: 0.97")
    assert row.runs == BUILDS


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("op", ["flip", "gaussian_blur"])
def test_one_operator_in_the_place_of_an_if(
    op: str, device: str, photos: Path, table: Table
) -> None:
    """As measured by the inspector. For samples that are skipped, a blur has a window of 1."""
    graph, block = wrap_in_block(augmented(op), CATALOG, [op])
    graph = with_settings(graph, device=device, batch_size=BATCH_SIZE, num_threads=THREADS)
    experiment = FusedSpeedExperiment(graph, str(photos), block, measurement_config=QUICK_CONFIG)
    report = experiment.run()
    for row in report.measurements:
        rates = [each.imgs_per_s for each in row.rounds]
        table.add(f"{op} {row.name}, {device}, {THREADS} threads", rates, "imgs/s")
    times, low, high = report.extra["fused_over_if"]
    row = table.add(f"{op}, {device}: fused / if", [times], "x", f"{low:.2f} to {high:.2f}")
    assert row.runs == 1


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
def test_a_change_in_and_behind_a_block(device: str, photos: Path, table: Table) -> None:
    plain = chain(5, device)
    block, _ = wrap_in_block(plain, CATALOG, ["rotate"])
    both, _ = wrap_in_block(block, CATALOG, ["color_twist"])
    worker, fresh = Worker(Nowhere()), itertools.count()  # type: ignore[arg-type]
    changes: dict[str, Callable[[Graph, int], Graph]] = {
        "rotate": lambda g, n: set_arg(g, CATALOG, "rotate", "angle", 5.0 + n / 70),
        "color_twist": lambda g, n: set_arg(g, CATALOG, "color_twist", "hue", n / 70),
        "crop_mirror_normalize": lambda g, n: set_arg(
            g, CATALOG, "crop_mirror_normalize", "mean", (100.0 + n / 70, 110.0, 120.0)
        ),
    }
    places = {
        "in a block, rotate": (block, "rotate"),
        "behind a block, color_twist": (block, "color_twist"),
        "in the first of two, rotate": (both, "rotate"),
        "behind two, crop_mirror_normalize": (both, "crop_mirror_normalize"),
    }

    def milliseconds(graph: Graph, where: str) -> float:
        render(worker, PreviewRequest(graph, str(photos), shown="augmented"))
        edited = changes[where](graph, next(fresh))
        request = PreviewRequest(edited, str(photos), shown="augmented")
        start = time.perf_counter()
        assert render(worker, request).image
        return (time.perf_counter() - start) * 1000

    for what, (graph, where) in places.items():
        sides = {"with": graph, "without": plain}
        times: dict[str, list[float]] = {side: [] for side in sides}
        for pair in range(PAIRS):
            for side in sides if pair % 2 else reversed(list(sides)):
                times[side].append(milliseconds(sides[side], where))
        for side, values in times.items():
            table.add(f"{device}: change {what}, {side}", values, "ms")
        ratios = [a / b for a, b in zip(times["with"], times["without"], strict=True)]
        name = f"{device}: change {what}: with / without"
        row = table.add(name, ratios, "x", "to reach: 1.5")
        assert row.runs == PAIRS
    worker.runner.forget()
