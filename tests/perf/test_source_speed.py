"""The same photos through each kind of source: imgs/s over those of the folder, in turns."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.perf.conftest import Table
from tests.perf.photos import make_photos
from tests.sources.written import WRITERS, read_photos
from tests.sources.written_pixels import write_arrays
from workbench.bench import Benchmark
from workbench.bench.measurement_config import MeasurementConfig
from workbench.graph import load_recipe
from workbench.graph.dataset_parameters import with_datasets
from workbench.graph.model import Graph, Node, Port, Source
from workbench.sources import Dataset, list_samples, open_dataset, open_datasets

PHOTOS = 120  # the tests write an LMDB of two leaves, for no more than 140
TURNS = 5
CONFIG = MeasurementConfig(
    round_seconds=1.0, round_batches=4, rounds=3, warm_up_rounds=1, budget=0.0
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"), PHOTOS)


def rate(data: Path | Dataset) -> float:
    """imgs/s of the whole pipeline on the CPU, two threads."""
    graph = load_recipe("imagenet-train")
    graph = replace(graph, settings=replace(graph.settings, batch_size=32, num_threads=2))
    return measured(with_datasets(graph, open_datasets(data)), data)


def measured(graph: Graph, data: Path | Dataset) -> float:
    """Samples a second."""
    best = Benchmark(graph, open_datasets(data), ["cpu"], measurement_config=CONFIG).run().best
    assert best is not None
    return best


def add_ratios(table: Table, kind: str, data: Path | Dataset, folder: Path) -> None:
    """Both in turns."""
    ratios = []
    for _ in range(TURNS):
        ours, theirs = rate(data), rate(folder)
        ratios.append(ours / theirs)
    table.add(f"{kind}: imgs/s over the folder's", ratios, "x", "0.9 or more")


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_speed_of_a_source(kind: str, folder: Path, tmp_path: Path, table: Table) -> None:
    add_ratios(table, kind, WRITERS[kind](read_photos(folder), tmp_path / kind), folder)


def test_speed_of_encoded_images_in_memory(folder: Path, table: Table) -> None:
    add_ratios(table, "encoded images", open_dataset(read_photos(folder)), folder)


@pytest.mark.parametrize("beside", ["PNG", "JPEG"])
def test_speed_of_arrays_in_memory(beside: str, folder: Path, tmp_path: Path, table: Table) -> None:
    """Beside the photos that they are of, and beside the same pixels as PNG files."""
    pixels = [Image.open(io.BytesIO(image)).convert("RGB") for image, _ in read_photos(folder)]
    for number, each in enumerate(pixels if beside == "PNG" else []):
        each.save(tmp_path / f"{number:04}.png")
    arrays = open_dataset(list(map(np.asarray, pixels)))
    beside_these = tmp_path if beside == "PNG" else folder
    add_ratios(table, f"arrays in memory, beside {beside}", arrays, beside_these)


def test_speed_of_arrays(folder: Path, tmp_path: Path, table: Table) -> None:
    add_ratios(table, "numpy_files", write_arrays(folder, tmp_path / "arrays"), folder)


def test_speed_of_frame_folders(folder: Path, tmp_path: Path, table: Table) -> None:
    """The photos as frames of twelve videos: frames/s of their resizing over imgs/s."""
    for number, sample in enumerate(list_samples(open_dataset(folder))):
        place = tmp_path / "frames" / "class" / f"video{number // 10:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:04}.jpg").symlink_to(sample.path)
    images = Node("resize", "resize", {"size": (96, 96)}, {"data": Port("decode", "output")})
    alone = load_recipe("imagenet-train")
    alone = replace(
        alone,
        nodes=(*alone.sources, alone.node("decode"), images),
        outputs={"images": Port("resize", "output")},
        settings=replace(alone.settings, batch_size=20, num_threads=2),
    )
    reader = Source("reader", "experimental.readers.video", {"sequence_length": 5}, seed=0)
    sequences = replace(
        alone,
        nodes=(
            replace(reader, kind="video_frames"),
            replace(images, inputs={"data": Port("reader", "frames")}),
        ),
        settings=replace(alone.settings, batch_size=4),
    )
    ratios = []
    for _ in range(TURNS):
        ours = measured(sequences, tmp_path / "frames") * 5
        ratios.append(ours / measured(alone, folder))
    table.add("video_frames: frames/s over the folder's imgs/s", ratios, "x", "0.9 or more")
