from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.helpers import same, script_batches
from tests.sources.clips import write_clips
from tests.sources.test_video import a_graph
from tests.sources.written import write_frames
from workbench.bench import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.engine import Engine
from workbench.errors import DataError, PipelineError
from workbench.graph import load_recipe
from workbench.graph.checks.check import check_graph
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph, Port
from workbench.health import check_folder, scan_folder
from workbench.preview import preview_batch
from workbench.preview.request import PreviewRequest
from workbench.preview.requests.render import render
from workbench.preview.verify import Verifier
from workbench.sources import (
    Dataset,
    class_names,
    describe_kind,
    list_samples,
    no_files_reason,
    open_dataset,
    open_datasets,
    require_dataset,
)

SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_frames(tmp_path_factory.mktemp("frames"))


def sequences(*, shuffled: bool = True, **options: Any) -> Graph:
    """The graph of videos, of frame folders."""
    graph = a_graph(shuffled=shuffled)
    (reader,) = graph.sources
    reader = replace(reader, kind="video_frames", args={**reader.args, **options})
    return replace(graph, nodes=(reader, *graph.nodes[1:]))


def as_read(graph: Graph) -> Graph:
    return replace(graph, outputs={"f": Port("reader", "frames"), "l": Port("reader", "labels")})


def numbers(sequence: Any) -> list[int]:
    """Which frames of its video they are: each is brighter by 12 than the one before."""
    return [round(float(frame[60, 120].max()) / 12) for frame in sequence]


def test_class_folders_of_videos_are_opened_as_such(frames: Path) -> None:
    dataset = open_dataset(frames)
    assert dataset.kind == "video_frames"
    require_dataset(dataset)
    samples = list(list_samples(dataset))
    assert len(samples) == 80
    assert samples[-1].name == "b/video3/0019.jpg"
    assert [each.label for each in samples] == [0] * 40 + [1] * 40
    assert class_names(dataset) == ["a", "b"]
    assert open_dataset(frames / "a").kind == "folder"  # as class folders of images look
    found = scan_folder(frames)
    assert (found.count, found.classes, found.formats) == (80, ("a", "b"), {"JPEG": 80})
    assert found.size_counts == {"128×96": 80}
    assert not check_folder(frames).bad


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"stride": 1}, [0, 4, 8, 12, 16]),
        ({"stride": 2}, [0, 8]),
        ({"stride": 3, "step": 2}, [0, 2, 4, 6, 8]),
        ({"stride": 3, "pad_mode": "edge"}, [0, 12]),
    ],
)
def test_sequences_are_those_of_the_video(
    frames: Path, tmp_path: Path, options: dict[str, Any], wanted: list[int]
) -> None:
    clips = write_clips(tmp_path / "clips", clips=4)
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    graph = as_read(sequences(shuffled=False, **options))
    batches = script_batches(graph, frames, 5, tmp_path / "ours")
    found = [numbers(each) for images, _ in batches for each in images]
    assert [each[0] for each in found[: len(wanted)]] == wanted
    (reader,) = graph.sources
    video = replace(graph, nodes=(replace(reader, kind="video"), *graph.nodes[1:]))
    theirs = script_batches(video, clips, 5, tmp_path / "theirs")
    assert found == [numbers(each) for images, _ in theirs for each in images]
    for one, other in zip(batches, theirs, strict=True):
        assert same(one[1], other[1])


def test_frames_are_the_images_as_the_folder_gives_them(frames: Path, tmp_path: Path) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
    graph = as_read(sequences(shuffled=False, stride=1))
    ((images, _),) = script_batches(graph, frames, 1, tmp_path / "ours")
    plain = load_recipe("rotate-jitter")
    reader, decode = plain.sources[0], plain.node("decode")
    plain = replace(
        plain,
        nodes=(replace(reader, args={}), decode),
        outputs={"i": Port("decode", "output")},
        settings=replace(plain.settings, batch_size=4),
    )
    ((alone,),) = script_batches(plain, frames / "a", 1, tmp_path / "theirs")
    assert same(list(images[0]), alone)


def test_a_tile_has_its_class_and_its_first_frame(frames: Path, engine: Engine) -> None:
    request = PreviewRequest(sequences(shuffled=False), str(frames), tiles=4, tile_size=128)
    result = engine.call(render, request)
    assert [tile.class_name for tile in result.tiles] == ["a"] * 4
    assert result.tiles[1].sample.file == "a/video0/0008.jpg"


def test_any_source_takes_the_place_of_any_other(frames: Path, photos: Path) -> None:
    catalog, graph = load_catalog(), load_recipe("rotate-jitter")
    opened = with_datasets(graph, open_datasets(str(frames)))
    assert opened.sources[0].args["sequence_length"] == 8
    assert not check_graph(opened, catalog)
    back = with_datasets(opened, open_datasets(str(photos)))
    assert [node.op for node in back.nodes] == [node.op for node in graph.nodes]
    assert not check_graph(back, catalog)


def test_bad_frames_are_named_counted_and_left_out(tmp_path: Path) -> None:
    folder = write_frames(tmp_path / "frames")
    (folder / "a" / "video0" / "0010.jpg").write_bytes(b"no picture")
    (folder / "b" / "video3" / "0019.jpg").write_bytes(b"")
    assert {one.file for one in check_folder(folder).bad} == {
        "a/video0/0010.jpg",
        "b/video3/0019.jpg",
    }
    report = Benchmark(sequences(stride=1), str(folder), ["cpu"], measurement_config=SHORT).run()
    assert len(report.left_out) == 2
    assert report.best


def test_a_video_is_cut_at_a_frame_that_is_left_out(tmp_path: Path) -> None:
    from workbench.sources import write_remaining

    folder = write_frames(tmp_path / "frames")
    kept = write_remaining(
        open_dataset(folder), {"a/video0/0010.jpg", "a/video0/0011.jpg"}, tmp_path / "kept"
    )
    dataset = open_dataset(kept)
    assert dataset.kind == "video_frames"
    assert len(list(list_samples(dataset))) == 78
    (tmp_path / "work").mkdir()
    graph = as_read(sequences(shuffled=False, stride=1))
    batches = script_batches(graph, kept, 2, tmp_path / "work")
    starts = [numbers(each) for images, _ in batches for each in images]
    assert starts[:4] == [[0, 1, 2, 3], [4, 5, 6, 7], [12, 13, 14, 15], [16, 17, 18, 19]]


def test_what_frame_folders_cannot_do_is_said(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(DataError, match="There is no sequence in"):
        require_dataset(Dataset("video_frames", str(tmp_path)))
    folder = write_frames(tmp_path / "frames", frames=3)
    request = PreviewRequest(sequences(), str(folder), tiles=2, tile_size=64)
    with pytest.raises(DataError, match="its longest video has 3 frames, fewer than a sequence"):
        engine.call(render, request)
    request = replace(request, graph=sequences(pad_mode="reflect_101"))
    (fault,) = check_graph(sequences(enable_timestamps=True), load_catalog())
    assert "enable_timestamps: its data (folder of videos as frames" in str(fault)
    with pytest.raises(PipelineError, match="pad_mode is 'reflect_101'; frame folders accept"):
        engine.call(render, request)


def test_videos_shorter_than_a_sequence_say_so_in_verify(frames: Path, engine: Engine) -> None:
    graph = sequences(sequence_length=500)
    told = Verifier(graph, str(frames), 1, engine=engine).run().lines()
    assert any("its longest video has" in line and "sequence_length" in line for line in told)


def _save(path: Path, size: tuple[int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, (90, 140, 60)).save(path)


def a_folder_of(folder: Path, pattern: str, sizes: list[tuple[int, int]]) -> Path:
    """Folders a and b of folders, each with images that are named by their number."""
    for place in ("a/x", "a/y", "b/x"):
        for number, size in enumerate(sizes):
            _save(folder / place / pattern.format(number), size)
    return folder


SAME = [(8, 6)] * 3


@pytest.mark.parametrize("pattern", ["{:04}.jpg", "img_{:05}.png", "frame{}.jpg", "v1-{:02}_l.jpg"])
def test_numbered_images_of_one_size_are_frames(tmp_path: Path, pattern: str) -> None:
    dataset = open_dataset(a_folder_of(tmp_path, pattern, SAME))
    assert dataset.kind == "video_frames"
    assert "for images in class folders, open their parent folder" in describe_kind(dataset)


@pytest.mark.parametrize(
    ("pattern", "sizes"),
    [("{:04}.jpg", [(8, 6), (6, 8), (8, 8)]), ("b{0}-{0}.jpg", SAME), ("photo.jpg", SAME)],
    ids=["sizes", "two numbers", "no number"],
)
def test_photos_above_class_folders_are_no_frames(
    tmp_path: Path, pattern: str, sizes: list[tuple[int, int]]
) -> None:
    dataset = open_dataset(a_folder_of(tmp_path, pattern, sizes))
    assert dataset.kind == "folder"
    told = no_files_reason(dataset)
    assert f"The images of {tmp_path} are one level deeper, in a/x." in told
    assert (
        f"Open {tmp_path / 'a'} if its folders are the classes, or video_frames:{tmp_path}" in told
    )
    assert describe_kind(open_dataset(f"video_frames:{tmp_path}")).endswith(
        "(class/video/0001.jpg)"
    )


def test_numbers_with_gaps_are_no_frames(tmp_path: Path) -> None:
    for number in (3, 4, 9):
        _save(tmp_path / "a" / "x" / f"n01440764_{number}.jpg", (8, 6))
    assert open_dataset(tmp_path).kind == "folder"


def test_parts_of_data_are_no_classes_of_videos(tmp_path: Path) -> None:
    made = a_folder_of(tmp_path, "{:04}.png", SAME)
    (made / "a").rename(made / "train")
    (made / "b").rename(made / "test")
    assert open_dataset(made).kind == "folder"


@pytest.mark.parametrize("content", [b"no image", b""])
def test_a_frame_that_is_no_image_is_left_out_by_name(
    content: bytes, frames: Path, engine: Engine, tmp_path: Path
) -> None:
    """DALI would end the worker's process at it."""
    place = tmp_path / "frames"
    shutil.copytree(frames, place)
    (place / "a" / "video1" / "0009.jpg").write_bytes(content)
    shown = preview_batch(engine, PreviewRequest(sequences(shuffled=True), place, tiles=4))
    assert "1 of its samples cannot be read; the first, a/video1/0009.jpg: " in shown.note
    assert len(shown.tiles) == 4


def test_frames_that_are_alike_are_nothing_unusual(frames: Path) -> None:
    found = check_folder(frames, full=True)
    assert found.count == 80
    assert found.counts == {}


def test_frames_of_several_sizes_are_named_with_their_sizes(tmp_path: Path, engine: Engine) -> None:
    write_frames(tmp_path, videos=2)
    for number in (1, 2, 7):
        path = tmp_path / "a" / "video0" / f"{number:04}.jpg"
        with Image.open(path) as image:
            width, height = image.size
            resized = image.resize((width + 8, height))
        resized.save(path)
    said = (
        f"{tmp_path}: the frames of a video differ in size: a/video0/0000.jpg is "
        f"{width}×{height} (width×height), a/video0/0001.jpg {width + 8}×{height}; 3 of 20 "
        "frames differ from the first. Resize them"
    )
    data, graph = f"video_frames:{tmp_path}", sequences(shuffled=False, stride=1)
    with pytest.raises(DataError) as refused:
        preview_batch(engine, PreviewRequest(graph, data, tiles=4))
    assert str(refused.value).startswith(said)
    with pytest.raises(DataError, match="differ in size: a/video0/0000"):
        Benchmark(graph, data, ["cpu"], measurement_config=SHORT).run()


def test_a_frame_that_is_turned_by_exif_is_of_another_size(tmp_path: Path, engine: Engine) -> None:
    write_frames(tmp_path)
    path = tmp_path / "a" / "video0" / "0002.jpg"
    with Image.open(path) as image:
        exif = image.getexif()
        exif[0x0112] = 6
        image.save(path, exif=exif)
        turned = f"{image.height}×{image.width}"
    graph = sequences(shuffled=False, stride=1)
    with pytest.raises(DataError, match=f"a/video0/0002.jpg {turned}; 1 of 20"):
        preview_batch(engine, PreviewRequest(graph, f"video_frames:{tmp_path}", tiles=4))
