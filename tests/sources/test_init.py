""""""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import import_script, same, script_batches
from tests.sources.clips import write_clips
from tests.sources.test_numpy_files import a_recipe, slices
from tests.sources.test_video import a_graph as a_video_graph
from tests.sources.test_video_frames import sequences
from tests.sources.written import WRITERS, read_photos, write_arrays, write_frames, write_volumes
from tests.thorough import one_in
from workbench.bench import Benchmark
from workbench.bench.measuring.data_files import fingerprint
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Graph, Node, Port
from workbench.health import scan_folder
from workbench.preview.verify import Verifier
from workbench.sources import (
    Dataset,
    describe_datasets,
    every_sample,
    kind_of_reader,
    list_samples,
    load_source,
    open_dataset,
    open_datasets,
    require_dataset,
    source_kinds,
    unreadable_reason,
)


def test_kinds_are_the_modules_and_each_says_all() -> None:
    assert source_kinds()[0] == "folder"
    assert "file_list" in source_kinds()
    for kind in source_kinds():
        source = load_source(kind)
        assert source.about
        assert f"def {source.find.__name__}(" in source.find_source
        assert source.find_source.endswith("\n")
        compile(source.find_source, kind, "exec")
    assert kind_of_reader("readers.file") == "folder"
    assert kind_of_reader("readers.tfrecord") == "tfrecord"
    assert kind_of_reader("readers.caffe2") == "caffe2_lmdb"
    assert kind_of_reader("readers.sequence") == ""


def test_an_unknown_kind_names_the_nearest() -> None:
    with pytest.raises(DataError, match="Did you mean file_list"):
        load_source("filelist")
    with pytest.raises(DataError, match=f"There are {', '.join(source_kinds())}"):
        load_source("zzz")


def test_a_path_says_of_which_kind_it_is(tmp_path: Path) -> None:
    (tmp_path / "list.txt").touch()
    (tmp_path / "folder.csv").mkdir()
    assert open_dataset(tmp_path) == Dataset("folder", str(tmp_path))
    assert open_dataset(tmp_path / "list.txt").kind == "file_list"
    assert open_dataset(tmp_path / "folder.csv").kind == "folder"
    assert open_dataset(tmp_path / "missing").kind == "folder"
    assert open_dataset("~/x").location == str(Path.home() / "x")
    same = open_dataset(tmp_path)
    assert open_dataset(same) is same


def test_a_path_that_fits_several_kinds_is_of_the_narrowest(shapes: Path, tmp_path: Path) -> None:
    found = {each.name: open_dataset(each).kind for each in shapes.iterdir() if each.is_dir()}
    assert found == {
        "caffe": "caffe_lmdb",  # Caffe2's take any LMDB
        "caffe2": "caffe2_lmdb",
        "coco": "folder",
        "frames": "video_frames",
        "numpy": "numpy_files",
        "recordio": "record_io",
        "segmentation": "image_masks",
        "tfrecord": "tfrecord",
        "video": "video",
        "volumes": "numpy_files",  # though its folders are called images and masks
        "voc": "voc",
        "webdataset": "webdataset",
        "yolo": "yolo",
        "yolo_pose": "yolo_pose",
    }
    assert open_dataset(shapes / "coco" / "annotations.json").kind == "coco"
    assert open_dataset(shapes / "coco" / "keypoints.json").kind == "coco_keypoints"
    for name in ("a.tar", "b.npy", "c.avi"):
        (tmp_path / name).touch()
    assert open_dataset(tmp_path).kind == "webdataset"
    (tmp_path / "a.tar").unlink()
    assert open_dataset(tmp_path).kind == "numpy_files"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("", "The path of the data is empty"),
        (3, "3 (int) cannot be read as data"),
        (None, "None (NoneType) cannot be read as data"),
        ({"a.jpg": 1}, "(dict) cannot be read as data"),
        ([], "The list is empty. Add at least one path or image"),
        ([3], "Item 0 is 3 (int), not an image"),
        ([("a.jpg", 1.5)], "has the label 1.5 (float). Use paths, or pairs of a path and a label"),
        ([("a.jpg", "")], "has an empty label"),
        ([("a.jpg", 1, 2)], "is not a pair of a path and a label"),
        ([("a.jpg", 0), None], "None is not a path"),
    ],
)
def test_what_is_no_data(data: Any, words: str) -> None:
    with pytest.raises(DataError) as caught:
        open_dataset(data)
    assert words in str(caught.value)


def test_data_by_parameter(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("b.jpg 2\n")
    (tmp_path / "a.jpg").touch()
    one = open_datasets(tmp_path)
    assert list(one) == ["data"]
    assert describe_datasets(one) == str(tmp_path)
    two = open_datasets({"data": tmp_path, "others": tmp_path / "list.txt"})
    assert describe_datasets(two) == f"data={tmp_path}, others={tmp_path}/list.txt"
    assert [(file.name, file.label) for file in every_sample(two)] == [("a.jpg", 0), ("b.jpg", 2)]
    with pytest.raises(DataError, match="cannot be read as data"):
        open_datasets({"data": tmp_path, "others": 3})  # type: ignore[dict-item]


def test_equal_data_have_one_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert open_dataset(".").identity == open_dataset(tmp_path).identity
    assert open_dataset(["a.jpg"]).identity == open_dataset([(tmp_path / "a.jpg", 0)]).identity
    assert open_dataset(["a.jpg"]).identity != open_dataset(["b.jpg"]).identity


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    """A list may name a folder: it is one bad tile, and the others are shown."""
    assert unreadable_reason(str(tmp_path)) == "it is a folder"
    assert unreadable_reason(os.devnull) == "it is not a file"


def test_exported_programs_tell_by_the_function_which_kind_reads() -> None:
    names = [load_source(kind).find.__name__ for kind in source_kinds()]
    assert len(set(names)) == len(names)


BATCH = 5
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)


@pytest.fixture(scope="module", params=sorted(WRITERS))
def kind(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="module")
def data(kind: str, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return WRITERS[kind](read_photos(photos), tmp_path_factory.mktemp(kind) / kind)


FEW = pytest.mark.parametrize("kind", one_in(6, sorted(WRITERS)), indirect=True)
"""Every sixth kind; the others are thorough."""
THIRD = pytest.mark.parametrize("kind", one_in(3, sorted(WRITERS)), indirect=True)


def a_graph(*, shuffled: bool) -> Graph:
    graph = load_recipe("rotate-jitter")
    (reader,) = graph.sources
    reader = replace(reader, args={**reader.args, "random_shuffle": shuffled})
    nodes = tuple(reader if node.id == reader.id else node for node in graph.nodes)
    return replace(graph, nodes=nodes, settings=replace(graph.settings, batch_size=BATCH))


def test_its_samples_are_those_of_the_folder(kind: str, data: Path, photos: Path) -> None:
    dataset = open_dataset(data)
    assert dataset.kind == kind
    require_dataset(dataset)
    found, wanted = list(list_samples(dataset)), read_photos(photos)
    for sample, (image, label) in zip(found, wanted, strict=True):
        with sample.open() as file:
            assert file.read() == image
        assert sample.size == len(image)
        assert kind == "coco" or sample.label == label
    facts = scan_folder(data)
    assert facts.count == len(wanted)
    assert facts.largest == scan_folder(photos).largest
    assert facts.formats == {"JPEG": len(wanted)}
    formats = fingerprint(open_datasets(str(data))).formats
    assert formats == fingerprint(open_datasets(str(photos))).formats


@THIRD
def test_any_in_the_place_of_a_folder_gives_the_same_bits(
    kind: str, data: Path, photos: Path, tmp_path: Path
) -> None:
    graph = a_graph(shuffled=False)
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    changed = with_datasets(graph, open_datasets(str(data)))
    assert changed.sources[0].kind == kind
    found = script_batches(changed, data, 2, ours)
    wanted = script_batches(graph, photos, 2, theirs)
    for one, other in zip(found, wanted, strict=True):
        assert same(one[0], other[0])
        assert kind == "coco" or same(one[1], other[1])


@pytest.mark.thorough
def test_of_two_pipelines_side_by_side_too(data: Path, engine: Engine) -> None:
    graph = set_setting(a_graph(shuffled=True), pipelines=2)
    found = Verifier(graph, str(data), 8, engine=engine).run()
    assert found.exact, found.lines()


BAD = {3: b"", 7: b"no picture at all", -1: b"\xff\xd8\xff\xe0cut short"}
"""Samples that cannot be decoded, by their place."""


@pytest.fixture(scope="module")
def damaged(kind: str, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    encoded = read_photos(photos)
    for place, content in BAD.items():
        encoded[place] = (content, encoded[place][1])
    return WRITERS[kind](encoded, tmp_path_factory.mktemp("damaged") / kind)


@FEW
def test_bad_samples_do_not_end_a_measurement(damaged: Path) -> None:
    graph = a_graph(shuffled=True)
    report = Benchmark(graph, str(damaged), ["cpu"], measurement_config=SHORT).run()
    assert len(report.left_out) == len(BAD)
    assert report.best


@pytest.mark.thorough
def test_automatic_augmentation_draws_as_in_the_script(data: Path, engine: Engine) -> None:
    graph = load_recipe("trivial-augment")
    graph = replace(graph, settings=replace(graph.settings, batch_size=BATCH))
    found = Verifier(graph, str(data), 3, engine=engine).run()
    assert found.exact, found.lines()


# Requirements for every kind, also if the reader outputs pixels: arrays, volumes, videos, frames.

GRAPHS: dict[str, Callable[[], Graph]] = {
    "arrays": a_recipe,
    "volumes": lambda: slices(roi_axes=(0,), roi_start=(1,), roi_shape=(2,)),
    "video": a_video_graph,
    "frames": lambda: sequences(step=3, pad_mode="edge"),
}


FEW_WRITTEN = [*one_in(6, sorted(WRITERS)), *GRAPHS]


@pytest.fixture(scope="module", params=[*sorted(WRITERS), *GRAPHS])
def written(
    request: pytest.FixtureRequest, photos: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Graph, Path]:
    """A graph of a kind, and data for it."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    if name in WRITERS:
        data = WRITERS[name](read_photos(photos), folder / name)
        return with_datasets(a_graph(shuffled=True), open_datasets(str(data))), data
    if name == "arrays":
        write_arrays(photos, folder)
    else:
        {"volumes": write_volumes, "video": write_clips, "frames": write_frames}[name](folder)
    return with_datasets(GRAPHS[name](), open_datasets(str(folder))), folder


@pytest.mark.parametrize("written", FEW_WRITTEN, indirect=True)
def test_the_preview_is_the_script_to_batch_seven(
    written: tuple[Graph, Path], engine: Engine
) -> None:
    graph, data = written
    found = Verifier(graph, str(data), 8, engine=engine).run()
    assert found.exact, found.lines()


@pytest.mark.gpu
@pytest.mark.parametrize("written", GRAPHS, indirect=True)
def test_behind_its_pixels_the_work_is_on_the_gpu(
    written: tuple[Graph, Path], engine: Engine
) -> None:
    graph, data = written
    if graph.sources[0].kind == "video":
        pytest.skip("motion JPEG is decoded on the CPU alone; test_video has clips for a GPU")
    graph = replace(graph, settings=replace(graph.settings, device="mixed"))
    found = Verifier(graph, str(data), 8, engine=engine).run()
    assert found.exact, found.lines()
    assert Benchmark(graph, str(data), ["mixed"], measurement_config=SHORT).run().best


@pytest.mark.parametrize("written", GRAPHS, indirect=True)
def test_it_is_measured(written: tuple[Graph, Path]) -> None:
    graph, data = written
    assert Benchmark(graph, str(data), ["cpu"], measurement_config=SHORT).run().best


@pytest.mark.thorough
def test_its_pytorch_loader_gives_the_batches_of_the_script(
    written: tuple[Graph, Path], tmp_path: Path
) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    graph, data = written
    name, port = next((n, p) for n, p in graph.outputs.items() if n != "labels")
    if graph.sources[0].kind == "numpy_files":  # PyTorch has no int16 images
        cast = Node("as_float", "cast", {"dtype": "FLOAT"}, {"data": port})
        outputs = {**graph.outputs, name: Port("as_float", "output")}
        graph = replace(graph, nodes=(*graph.nodes, cast), outputs=outputs)
    (wanted,) = script_batches(graph, data, 1, tmp_path)
    module = import_script(export(graph, "pytorch", load_catalog()).main.text, tmp_path)
    batch = next(iter(module.Loader(module.build_pipeline(str(data)))))
    assert same(list(batch[name].numpy()), wanted[list(graph.outputs).index(name)])
    if graph.sources[0].kind == "coco":  # each image has another number of labels
        labels = [each.numpy() for each in batch["labels"]]
        assert same(labels, wanted[list(graph.outputs).index("labels")])


@pytest.mark.parametrize("target", ["script", "pytorch", "ray", "paddle", "jax", "lightning"])
def test_every_target_imports_what_finding_the_data_needs(
    target: str, written: tuple[Graph, Path]
) -> None:
    graph, _ = written
    if target in ("paddle", "jax") and "images" in graph.outputs:  # COCO's labels are not an array
        graph = replace(graph, outputs={"images": graph.outputs["images"]})
    text = export(graph, target, load_catalog()).main.text
    for module in load_source(graph.sources[0].kind).imports:
        assert f"\nimport {module}\n" in text
