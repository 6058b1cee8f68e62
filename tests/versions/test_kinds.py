"""Each kind of data is divided, rendered once per sample, and rendered again with equal bytes."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

import workbench as wb
from tests.versions.test_formats import render_here
from workbench.errors import ArgumentError
from workbench.sources import list_samples, open_dataset
from workbench.versions.records import WORK

PLACES = [
    *("voc", "yolo", "yolo_pose", "coco/annotations.json", "segmentation", "tfrecord"),
    *("webdataset", "recordio/samples.rec", "caffe", "numpy", "video"),
]


@pytest.mark.parametrize(
    "place",
    ["voc", *(pytest.param(each, marks=pytest.mark.thorough) for each in PLACES[1:])],
)
def test_each_sample_is_in_one_split(place: str, shapes: Path, tmp_path: Path) -> None:
    data = shapes / place
    graph = wb.read(data).with_settings(batch_size=4)
    if graph.sources[0].kind not in ("numpy_files", "video"):
        graph = graph.decode().resize(size=(16, 16))
    made = render_here(
        graph, tmp_path / "v1", data, format="webdataset", split=(0.7, 0.3), shard_size=5,
        evaluation=graph,
    )  # fmt: skip
    times = Counter(each.source for each in made.records())
    assert times.keys() == {each.name for each in list_samples(open_dataset(str(data)))}
    assert len(set(times.values())) == 1  # a video has several sequences
    splits = [{each.source for each in made.records(name)} for name in ("train", "val")]
    assert splits[0].isdisjoint(splits[1])
    for name, count in made.samples.items():
        assert len({each.key for each in made.records(name)}) == count
    shutil.rmtree(tmp_path / "v1" / WORK)
    assert wb.prove(made, share=0.3).proven


@pytest.mark.thorough
def test_frames_of_a_video_are_not_divided(shapes: Path, tmp_path: Path) -> None:
    graph = wb.read(shapes / "frames")
    with pytest.raises(ArgumentError, match=r"frames of two splits"):
        render_here(
            graph, tmp_path / "v1", shapes / "frames", format="webdataset", split=(0.7, 0.3),
            evaluation=graph,
        )  # fmt: skip
