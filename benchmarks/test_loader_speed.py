"""The exported PyTorch loader against the bare pipeline of the exported script, in one run.

They take turns as in ``test_export_speed``: what else the machine does falls on both. The photos
make whole batches: padding at the end of an epoch costs time and is not counted.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.conftest import Table
from benchmarks.test_export_speed import BUILDS, ROUNDS, SECONDS
from tests.emit.targets.test_execute import some_of
from tests.helpers import import_script
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine.build.kernel_program import make_loader
from workbench.graph import load_recipe
from workbench.sources import open_datasets


def bare(pipe: Any) -> Iterator[int]:
    while True:
        yield len(pipe.run()[0])


def loaded(loader: Any) -> Iterator[int]:
    while True:
        for batch in loader:
            yield len(batch["images"])


def imgs_per_s(stream: Iterator[int], finish: Callable[[], object]) -> float:
    for _ in range(4):  # what was made in the other's turn: a loader makes one batch more ahead
        next(stream)
    finish()
    samples = 0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS:
        samples += next(stream)
    finish()
    return samples / (time.perf_counter() - start)


def compare(
    photos: Path, folder: Path, table: Table, device: str, batch_size: int, threads: int
) -> None:
    torch = pytest.importorskip("torch")
    graph, catalog = load_recipe("imagenet-train"), load_catalog()
    script = import_script(export(graph, "script", catalog).main.text, folder)
    module = import_script(export(graph, "pytorch", catalog).main.text, folder)
    data = some_of(photos, 4 * batch_size, folder / "photos")
    settings = (str(data), batch_size, threads, device)
    makers: dict[str, Callable[[], Iterator[int]]] = {
        "loader": lambda: loaded(module.Loader(module.build_pipeline(*settings))),
        "pipeline": lambda: bare(script.build_pipeline(*settings)),
    }
    finish = torch.cuda.synchronize if device == "mixed" else lambda: None
    figures = in_turns(makers, finish)
    what = f"{device}, batch {batch_size}, {threads} threads"
    for name, values in figures.items():
        table.add(f"imagenet-train, PyTorch {name}, {what}", values, "imgs/s")
    ratios = [a / b for a, b in zip(figures["loader"], figures["pipeline"], strict=True)]
    row = table.add(f"PyTorch loader / pipeline, {what}", ratios, "x", "to reach: 0.97")
    assert row.runs == BUILDS


def in_turns(
    makers: Mapping[str, Callable[[], Iterator[int]]],
    finish: Callable[[], object],
    builds: int = BUILDS,
) -> dict[str, list[float]]:
    """imgs/s of each, a median for each build."""
    figures: dict[str, list[float]] = {name: [] for name in makers}
    order = random.Random(0)
    for _ in range(builds):
        streams = {name: makers[name]() for name in order.sample(list(makers), 2)}
        rounds: dict[str, list[float]] = {name: [] for name in makers}
        for stream in streams.values():
            for _ in range(8):
                next(stream)
        for _ in range(ROUNDS):
            for name in order.sample(list(streams), 2):
                rounds[name].append(imgs_per_s(streams[name], finish))
        for name, values in rounds.items():
            figures[name].append(statistics.median(values))
    return figures


def compare_with_kernel(
    photos: Path, folder: Path, table: Table, device: str, batch_size: int, threads: int
) -> None:
    """``w.loader`` of a notebook against the exported loader."""
    torch = pytest.importorskip("torch")
    graph = load_recipe("imagenet-train")
    module = import_script(export(graph, "pytorch", load_catalog()).main.text, folder)
    data = some_of(photos, 4 * batch_size, folder / "photos")
    options = {"batch_size": batch_size, "num_threads": threads, "device": device}

    def kernel() -> Iterator[int]:
        loader = make_loader(graph, open_datasets(data), "torch", epochs=None, **options)
        return (len(images) for images, _ in loader)

    figures = in_turns(
        {
            "w.loader": kernel,
            "exported loader": lambda: loaded(
                module.Loader(module.build_pipeline(str(data), **options))
            ),
        },
        torch.cuda.synchronize if device == "mixed" else lambda: None,
    )
    what = f"{device}, batch {batch_size}, {threads} threads"
    for name, values in figures.items():
        table.add(
            f"imagenet-train, {name}, {what}",
            values,
            "imgs/s",
        )
    ratios = [a / b for a, b in zip(figures["w.loader"], figures["exported loader"], strict=True)]
    row = table.add(f"w.loader / exported loader, {what}", ratios, "x", "to reach: 0.97")
    assert row.runs == BUILDS


def test_the_loader_of_a_notebook_on_the_cpu(photos: Path, tmp_path: Path, table: Table) -> None:
    compare_with_kernel(photos, tmp_path, table, "cpu", 32, 2)


@pytest.mark.gpu
def test_the_loader_of_a_notebook_with_mixed_decoding(
    photos: Path, tmp_path: Path, table: Table
) -> None:
    compare_with_kernel(photos, tmp_path, table, "mixed", 64, 16)


def test_loader_on_the_cpu(photos: Path, tmp_path: Path, table: Table) -> None:
    compare(photos, tmp_path, table, "cpu", 32, 2)


@pytest.mark.gpu
def test_loader_with_mixed_decoding(photos: Path, tmp_path: Path, table: Table) -> None:
    compare(photos, tmp_path, table, "mixed", 64, 16)
