"""The same photos through each kind of source: imgs/s over those of the folder, in turns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.perf.conftest import Table
from tests.perf.photos import make_photos
from tests.sources.written import WRITERS, read_photos
from workbench.bench import Benchmark
from workbench.bench.measurement_config import MeasurementConfig
from workbench.graph import load_recipe
from workbench.graph.dataset_parameters import with_datasets
from workbench.sources import open_datasets

PHOTOS = 120  # the tests write an LMDB of two leaves, for no more than 140
TURNS = 5
CONFIG = MeasurementConfig(
    round_seconds=1.0, round_batches=4, rounds=3, warm_up_rounds=1, budget=0.0
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"), PHOTOS)


def rate(data: Path) -> float:
    """imgs/s of the whole pipeline on the CPU, two threads."""
    graph = load_recipe("imagenet-train")
    graph = replace(graph, settings=replace(graph.settings, batch_size=32, num_threads=2))
    graph = with_datasets(graph, open_datasets(str(data)))
    best = Benchmark(graph, str(data), ["cpu"], measurement_config=CONFIG).run().best
    assert best is not None
    return best


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_speed_of_a_source(kind: str, folder: Path, tmp_path: Path, table: Table) -> None:
    data = WRITERS[kind](read_photos(folder), tmp_path / kind)
    ratios = []
    for _ in range(TURNS):
        ours, theirs = rate(data), rate(folder)
        ratios.append(ours / theirs)
    table.add(f"{kind}: imgs/s over the folder's", ratios, "x", "0.9 or more")
