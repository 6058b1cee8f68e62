"""The same photos through each kind of source: imgs/s over those of the folder.

Both are exported programs in this process, interleaved after some batches, so that other load
affects both; comparing the folder with itself shows the noise.
"""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from benchmarks.conftest import Table
from benchmarks.photos import make_photos
from tests.helpers import built, import_script
from tests.sources.written import WRITERS, read_photos, write_arrays
from workbench import emit_script
from workbench.bench.measuring.stats import paired_ratio
from workbench.graph import load_recipe
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph, Node, Port, Source
from workbench.sources import Dataset, list_samples, open_dataset, open_datasets

PHOTOS = 120
TURNS = 15
BATCHES = 6
"""Batches per round; two before them refill the queue."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("photos"), PHOTOS)


def recipe() -> Graph:
    """The whole pipeline on the CPU, two threads."""
    graph = load_recipe("imagenet-train")
    return replace(graph, settings=replace(graph.settings, batch_size=32, num_threads=2))


def exported(graph: Graph, data: Path | Dataset, place: Path) -> Any:
    """The pipeline of the exported program, which has run an epoch."""
    place.mkdir(parents=True)
    datasets = open_datasets(data)
    script = import_script(emit_script(with_datasets(graph, datasets)).text, place)
    pipe = built(script, datasets["data"].argument)
    for _ in range(PHOTOS // graph.settings.batch_size + 2):
        pipe.run()
    return pipe


def seconds(pipe: Any) -> tuple[float, float]:
    """Wall time and CPU time of this process for one round."""
    for _ in range(2):
        pipe.run()
    start = time.perf_counter(), time.process_time()
    for _ in range(BATCHES):
        pipe.run()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def add_ratio(table: Table, what: str, ours: Any, theirs: Any) -> None:
    """The median of the turns' ratios, with its interval; by CPU time too, which bends less."""
    found: dict[Any, list[tuple[float, float]]] = {ours: [], theirs: []}
    for turn in range(TURNS):
        for pipe in [ours, theirs][:: 1 if turn % 2 else -1]:
            found[pipe].append(seconds(pipe))
    for clock, name in enumerate(["", ", by CPU time"]):
        mine, yours = ([took[clock] for took in found[pipe]] for pipe in (ours, theirs))
        ratio = paired_ratio(yours, mine)
        ratios = [other / one for one, other in zip(mine, yours, strict=True)]
        table.add(what + name, ratios, "x", f"{ratio.low:.3f} to {ratio.high:.3f}; to reach: 0.9")


def add_ratios(table: Table, kind: str, data: Path | Dataset, folder: Path, place: Path) -> None:
    """Add the ratios to the folder's rate."""
    ours = exported(recipe(), data, place / "ours")
    theirs = exported(recipe(), folder, place / "theirs")
    add_ratio(table, f"{kind}: imgs/s over the folder's", ours, theirs)


def test_speed_of_the_folder_beside_itself(folder: Path, tmp_path: Path, table: Table) -> None:
    add_ratios(table, "folder", folder, folder, tmp_path / "run")


@pytest.mark.parametrize("kind", sorted(WRITERS))
def test_speed_of_a_source(kind: str, folder: Path, tmp_path: Path, table: Table) -> None:
    data = WRITERS[kind](read_photos(folder), tmp_path / kind)
    add_ratios(table, kind, data, folder, tmp_path / "run")


def test_speed_of_encoded_images_in_memory(folder: Path, tmp_path: Path, table: Table) -> None:
    data = open_dataset(read_photos(folder))
    add_ratios(table, "encoded images", data, folder, tmp_path / "run")


@pytest.mark.parametrize("beside", ["PNG", "JPEG"])
def test_speed_of_arrays_in_memory(beside: str, folder: Path, tmp_path: Path, table: Table) -> None:
    """Compared with the original photos, and with the same pixels as PNG files."""
    pixels = [Image.open(io.BytesIO(image)).convert("RGB") for image, _ in read_photos(folder)]
    files = tmp_path / "files"
    files.mkdir()
    for number, each in enumerate(pixels if beside == "PNG" else []):
        each.save(files / f"{number:04}.png")
    arrays = open_dataset(list(map(np.asarray, pixels)))
    files = files if beside == "PNG" else folder
    add_ratios(table, f"arrays in memory, beside {beside}", arrays, files, tmp_path / "run")


def test_speed_of_arrays(folder: Path, tmp_path: Path, table: Table) -> None:
    arrays = write_arrays(folder, tmp_path / "arrays")
    add_ratios(table, "numpy_files", arrays, folder, tmp_path / "run")


def test_speed_of_frame_folders(folder: Path, tmp_path: Path, table: Table) -> None:
    """The photos as frames of twelve videos: frames/s of their resizing over imgs/s."""
    for number, sample in enumerate(list_samples(open_dataset(folder))):
        place = tmp_path / "frames" / "class" / f"video{number // 10:02}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:04}.jpg").symlink_to(sample.path)
    images = Node("resize", "resize", {"size": (96, 96)}, {"data": Port("decode", "output")})
    alone = recipe()
    alone = replace(
        alone,
        nodes=(*alone.sources, alone.node("decode"), images),
        outputs={"images": Port("resize", "output")},
        settings=replace(alone.settings, batch_size=20),
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
    ours = exported(sequences, tmp_path / "frames", tmp_path / "ours")
    theirs = exported(alone, folder, tmp_path / "theirs")
    add_ratio(table, "video_frames: frames/s over the folder's imgs/s", ours, theirs)
