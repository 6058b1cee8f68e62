"""Graphs with several sources keep their pairs in a version, or are refused."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import workbench as wb
from tests.versions.test_formats import render_here
from tests.versions.test_render import a_graph, write_photos
from workbench.errors import ArgumentError
from workbench.graph.execution.dataset_parameters import parameter_of
from workbench.graph.model import Graph, Node, Port, Source
from workbench.sources import open_datasets
from workbench.versions import shard
from workbench.versions.planning import plan_version
from workbench.versions.shard import shard_graph


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures whose encoded lengths differ."""
    folder = write_photos(tmp_path_factory.mktemp("sources") / "photos")
    for at, path in enumerate(sorted(folder.rglob("*.png"))):
        noise = np.random.default_rng(at).integers(0, 256, (20 + at, 30, 3), np.uint8)
        Image.fromarray(noise).save(path)
    return folder


def two_sources(dataset: str = "data", **second: object) -> Graph:
    """A graph with the picture of one source, and the encoded length of both."""
    args = {"random_shuffle": True} if second.pop("shuffled", False) else {}
    seed = int(str(second.pop("seed", 1)))
    first = Source("reader", "readers.file", dict(args), seed=0, kind="folder")
    other = Source("second", "readers.file", args, seed=seed, kind="folder", dataset=dataset)
    return Graph(
        "two",
        nodes=(
            first,
            other,
            Node("decode", "decoders.image", inputs={"data": Port("reader", "jpegs")}),
            Node("mine", "shape", inputs={"data": Port("reader", "jpegs")}),
            Node("its", "shape", inputs={"data": Port("second", "jpegs")}),
        ),
        outputs={
            "images": Port("decode", "output"),
            "mine": Port("mine", "output"),
            "its": Port("its", "output"),
        },
        settings=replace(wb.Settings(), batch_size=4),
    )


def pairs(folder: Path) -> list[tuple[int, int]]:
    """The encoded lengths of both sources for each sample of a WebDataset version."""
    found: dict[str, dict[str, int]] = {}
    for path in sorted(folder.rglob("*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                key, _, ending = member.name.partition(".")
                if ending.endswith(".npy"):
                    file = archive.extractfile(member)
                    assert file is not None
                    (length,) = np.load(io.BytesIO(file.read())).reshape(-1)
                    found.setdefault(key, {})[ending] = int(length)
    return [(each["mine.npy"], each["its.npy"]) for each in found.values()]


@pytest.mark.parametrize(("shuffled", "seed"), [(False, 1), (True, 0)])
def test_sources_that_read_in_step_stay_in_step(
    shuffled: bool, seed: int, photos: Path, tmp_path: Path
) -> None:
    graph = two_sources(shuffled=shuffled, seed=seed)
    render_here(graph, tmp_path / "v1", photos, format="webdataset", shard_size=5)
    found = pairs(tmp_path / "v1")
    assert len(found) == 12
    assert len({mine for mine, _ in found}) > 3
    assert all(mine == its for mine, its in found)


def test_a_source_that_shuffles_alone_is_not_paired_with_itself(
    photos: Path, tmp_path: Path
) -> None:
    graph = two_sources(shuffled=True, seed=7)
    render_here(graph, tmp_path / "v1", photos, format="webdataset")
    found = pairs(tmp_path / "v1")
    assert sorted(mine for mine, _ in found) == sorted(its for _, its in found)
    assert any(mine != its for mine, its in found)


def test_all_shards_together_use_the_whole_of_another_data_set(
    photos: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(shard, "SHUFFLE_BUFFER", 4)
    data = open_datasets({"data": str(photos), "others": str(photos)})
    graph = two_sources("others", shuffled=True, seed=7)
    plan, *_ = plan_version(graph, data, format="webdataset", shard_size=4)
    read = []
    for task in plan.tasks():
        made = shard_graph(plan, task, data, task, 1)
        (second,) = (each for each in made.sources if parameter_of(each) == "others")
        read.append((second.args["shard_id"], second.args["num_shards"]))
    assert {count for _, count in read} == {3}
    assert len({one for one, _ in read}) > 1


def test_pairs_of_two_data_sets_are_refused(photos: Path, tmp_path: Path) -> None:
    data = {"data": str(photos), "others": str(photos)}
    with pytest.raises(ArgumentError, match=r"second: it reads its data in the order of reader"):
        wb.render(two_sources("others"), tmp_path / "v1", data, format="webdataset")


def test_a_sampler_of_the_evaluation_graph_is_refused(photos: Path, tmp_path: Path) -> None:
    sampled = wb.read(photos, sampler="balanced").decode().resize(size=(8, 8))
    with pytest.raises(ArgumentError, match=r"the source has a sampler"):
        wb.render(a_graph(photos), tmp_path / "v1", split=(0.5, 0.5), evaluation=sampled)


@pytest.mark.parametrize("executor", ["static", "separate"])
def test_a_graph_with_another_executor_is_rendered(
    executor: str, photos: Path, tmp_path: Path
) -> None:
    graph = a_graph(photos).with_settings(executor=executor, prefetch_queue_depth=3)
    made = render_here(graph, tmp_path / "v1", photos, shard_size=5)
    same = render_here(a_graph(photos), tmp_path / "v2", photos, shard_size=5)
    assert [each.parts for each in made.records()] == [each.parts for each in same.records()]
