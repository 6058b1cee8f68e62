"""Features of records by name: TFRecord, WebDataset and RecordIO with any number of outputs."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import nvidia.dali.tfrecord as tfrec
import pytest
from numpy.typing import NDArray
from nvidia.dali import fn, pipeline_def, types
from PIL import Image

import workbench as wb
from tests.emit.targets.target_batches import load
from tests.helpers import (
    arrays_of,
    import_script,
    require_parity,
    same,
    script_batches,
    with_settings,
)
from workbench.bench.experiments.benchmark import Benchmark
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.emit.targets import export
from workbench.engine import Engine
from workbench.errors import ArgumentError, DataError, GraphExportError, GraphFaultsError
from workbench.graph import Graph
from workbench.graph.execution.dataset_parameters import datasets_as_read, with_datasets
from workbench.preview import PreviewRequest, preview_batch
from workbench.preview.verify import Verifier
from workbench.samples.records import encode_example, encode_tfrecord, recorded, write_shard
from workbench.sources import (
    Dataset,
    describe_not_read,
    list_samples,
    open_dataset,
    open_datasets,
)
from workbench.sources.kinds.records.record_io import find_record_file
from workbench.sources.kinds.records.tfrecord_features import find_record_files
from workbench.sources.record_features import (
    COMPONENT_TYPES,
    RECORD_TYPES,
    Feature,
    output_names,
    parse_feature,
)

COUNT = 18
SHORT = MeasurementConfig(
    round_seconds=0.02, round_batches=2, rounds=2, warm_up_rounds=1, budget=0.0
)


def encoded(number: int, form: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.full((20, 24, 3), number * 10, np.uint8)).save(buffer, form)
    return buffer.getvalue()


def record(number: int) -> dict[str, Any]:
    return {
        "depth/encoded": encoded(number),
        "image/encoded": encoded(20 - number),
        "image/class/label": [number % 3],
        "image/text": b"photo %d" % number,
        "bbox": [number / 8] * (4 * (number % 3)),
        "score": [number / 4],
        "sizes": [20, 24],
    }


FEATURES = {
    "image/encoded": "image",
    "depth/encoded": "image",
    "image/class/label": "int64",
    "image/text": "bytes",
    "bbox": "float32[?, 4]",
    "score": "float32[]",
    "sizes": "int64[2]",
}


def write_records(folder: Path, records: Mapping[int, Mapping[str, Any]] | None = None) -> Path:
    """Write 18 records, some of them replaced by others."""
    found = {**{number: record(number) for number in range(COUNT)}, **(records or {})}
    path = folder / "a.tfrecord"
    path.write_bytes(b"".join(encode_tfrecord(encode_example(each)) for each in found.values()))
    return path


def array_file(array: NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def components(number: int) -> dict[str, bytes]:
    return {
        "png": encoded(number),
        "seg.png": encoded(20 - number),
        "cls": b"%d" % (number % 3),
        "json": b'{"at": %d}' % number,
        "npy": array_file(np.full((2, 3), number, np.float32)),
        "bin": np.array([number, 1], np.float32).tobytes(),
    }


COMPONENTS = {
    "jpg;png": "image",
    "seg.png": "image",
    "cls": "digits",
    "json": "bytes",
    "npy": "npy",
    "bin": "float32",
}


def write_archive(folder: Path, **others: Mapping[str, bytes]) -> Path:
    found = [dict(others.get(f"n{number}", components(number))) for number in range(COUNT)]
    write_shard(found, folder / "a.tar")
    return folder / "a.tar"


def resized(graph: Graph, *images: str) -> Graph:
    """Decode and resize some of a graph's outputs; the others are unchanged."""
    made = {
        name: getattr(graph, name).decoders.image().resize(size=(16, 16))
        if name in images
        else getattr(graph, name)
        for name in graph.outputs
    }
    return with_settings(wb.outputs(**made), batch_size=4)


def by_name(kind: str, folder: Path) -> tuple[Graph, Path]:
    """A graph that reads all features of a kind of records, and the records."""
    if kind == "tfrecord":
        path = write_records(folder)
        return resized(wb.read(path, features=FEATURES), "image_encoded", "depth_encoded"), path
    path = write_archive(folder)
    return resized(wb.read(path, features=COMPONENTS), "jpg", "seg_png"), path


@pytest.mark.parametrize("kind", ["tfrecord", "webdataset"])
def test_features_are_outputs_with_their_names_and_types(kind: str, tmp_path: Path) -> None:
    graph, path = by_name(kind, tmp_path)
    (first, *_) = script_batches(graph, path, 1, tmp_path)
    found = dict(zip(graph.outputs, first, strict=True))
    if kind == "tfrecord":
        assert found["image_encoded"][1].max() == 190
        assert found["depth_encoded"][1].max() == 10
        assert found["image_class_label"][2].tolist() == [2]
        assert bytes(found["image_text"][3]) == b"photo 3"
        assert found["bbox"][2].tolist() == [[0.25] * 4] * 2
        assert found["bbox"][0].shape == (0, 4)
        assert found["score"][3] == np.float32(0.75)
        assert found["sizes"][3].tolist() == [20, 24]
    else:
        assert found["jpg"][1].max() == 10
        assert found["seg_png"][1].max() == 190
        assert found["cls"][2].tolist() == [2]
        assert bytes(found["json"][3]) == b'{"at": 3}'
        np.testing.assert_array_equal(found["npy"][3], np.full((2, 3), 3, np.float32))
        assert found["bin"][3].tolist() == [3, 1]
    require_parity(graph, path, tmp_path)


@pytest.mark.parametrize("kind", ["tfrecord", "webdataset"])
def test_they_are_shown_verified_and_measured(kind: str, tmp_path: Path, engine: Engine) -> None:
    graph, path = by_name(kind, tmp_path)
    report = Verifier(graph, str(path), 8, engine=engine).run()
    assert report.exact, report.lines()
    preview = preview_batch(engine, PreviewRequest(graph, str(path), tiles=4))
    assert all(not tile.sample.error for tile in preview.tiles)
    assert not preview.note
    text = "image_text photo 3" if kind == "tfrecord" else 'json {"at": 3}'
    assert text in preview.tiles[3].targets
    measured = Benchmark(graph, str(path), ["cpu"], measurement_config=SHORT).run()
    assert measured


def loaded(graph: Graph, path: Path, folder: Path) -> list[dict[str, Any]]:
    """The batches of one epoch of the exported PyTorch loader."""
    pytest.importorskip("torch")
    (folder / "loader.py").write_text(export(graph, "pytorch").main.text)
    module = load(folder / "loader.py")
    loader = module.Loader(module.build_pipeline(str(path), shard_id=0, num_shards=1))
    return list(loader)


@pytest.mark.parametrize("kind", ["tfrecord", "webdataset"])
def test_a_pytorch_loader_returns_them_under_their_names(kind: str, tmp_path: Path) -> None:
    graph, path = by_name(kind, tmp_path)
    found = loaded(graph, path, tmp_path)
    assert sum(len(batch[next(iter(graph.outputs))]) for batch in found) == COUNT
    unchecked = "are not checked: if a"
    assert (unchecked in (tmp_path / "loader.py").read_text()) == (kind == "tfrecord")
    assert any(unchecked in each for each in export(graph, "pytorch").notes) == (kind == "tfrecord")
    first = found[0]
    assert list(first) == list(graph.outputs)
    if kind == "tfrecord":
        assert [bytes(each) for each in first["image_text"]] == [b"photo %d" % n for n in range(4)]
        assert [len(each) for each in first["bbox"]] == [0, 1, 2, 0]
        assert first["score"].tolist() == [0, 0.25, 0.5, 0.75]
    else:
        assert first["cls"].flatten().tolist() == [0, 1, 2, 0]
        assert [bytes(each) for each in first["json"]][3] == b'{"at": 3}'


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("triton", "one image, but the outputs are computed from reader.image_encoded and read"),
        ("dynamic", "does not support readers whose outputs are named"),
        ("torchvision", "the source is readers.tfrecord_features"),
    ],
)
def test_other_targets_say_what_they_lack(target: str, words: str, tmp_path: Path) -> None:
    graph, _ = by_name("tfrecord", tmp_path)
    images = wb.outputs(images=graph.image_encoded, depth=graph.depth_encoded)
    export(images, "pytorch", with_="samples")
    with pytest.raises(GraphExportError, match=words):
        export(images, target)


@pytest.mark.parametrize("target", ["jax", "keras", "tensorflow"])
def test_a_target_of_whole_arrays_refuses_texts_with_a_fix(target: str, tmp_path: Path) -> None:
    graph, _ = by_name("tfrecord", tmp_path)
    texts = wb.outputs(images=graph.image_encoded, text=graph.image_text)
    with pytest.raises(GraphExportError, match=r"the length of 'text' differs.* Add a pad"):
        export(texts, target)
    padded = wb.outputs(
        images=graph.image_encoded,
        text=graph.image_text.pad(axes=[0], shape=[16]),
        label=graph.image_class_label,
    )
    assert "label = require_shape(label, [1])" in export(padded, target).main.text


@pytest.mark.parametrize("labels", [(1,), (1, 0.5, 2)])
def test_recordio_labels(labels: tuple[float, ...], tmp_path: Path) -> None:
    """By default one integer per record; by name floats, any number of them."""
    path = tmp_path / "a.rec"
    if len(labels) == 1:
        path.write_bytes(b"".join(recorded(encoded(n), n % 3) for n in range(COUNT)))
        found = loaded(resized(wb.read(path), "jpegs"), path, tmp_path)
        assert found[0]["labels"].tolist() == [0, 1, 2, 0]
    else:
        path.write_bytes(b"".join(labelled(encoded(n), [n, *labels]) for n in range(COUNT)))
    graph = resized(wb.read(f"record_io_labels:{path}"), "jpegs")
    (batch, *_) = script_batches(graph, path, 1, tmp_path)
    wanted = [[n % 3.0] if len(labels) == 1 else [float(n), *labels] for n in range(4)]
    assert [each.tolist() for each in batch[1]] == wanted
    require_parity(graph, path, tmp_path)
    assert loaded(graph, path, tmp_path)[0]["values"].tolist() == wanted
    export(graph, "jax", data=str(path))


def labelled(image: bytes, labels: list[float]) -> bytes:
    content = struct.pack("<IfQQ", len(labels), 0, 0, 0)
    content += struct.pack(f"<{len(labels)}f", *labels) + image
    head = struct.pack("<II", 0xCED7230A, len(content))
    return head + content + bytes(-len(content) % 4)


BAD_RECORDS: dict[str, tuple[dict[str, Any], str]] = {
    "another type": ({"score": [1]}, "its feature 'score' is int64, not float"),
    "no bytes": ({"image/encoded": [1]}, "its feature 'image/encoded' is int64, not bytes"),
    "another length": ({"sizes": [20, 24, 3]}, "its feature 'sizes' has 3 values, not 2"),
    "an uneven list": ({"bbox": [0.5] * 6}, "its feature 'bbox' has 6 values, not a multiple of 4"),
    "two texts": ({"image/text": [b"a", b"b"]}, "its feature 'image/text' has 2 values, not 1"),
    "missing": ({"score": None}, "its feature 'score' is missing, not float"),
}


@pytest.mark.parametrize("name", BAD_RECORDS)
def test_a_record_that_dali_would_misread_is_named(
    name: str, tmp_path: Path, engine: Engine
) -> None:
    """DALI returns random memory for most of them, and crashes for some. Programs stop at some."""
    changes, words = BAD_RECORDS[name]
    changed = {k: v for k, v in {**record(5), **changes}.items() if v is not None}
    path = write_records(tmp_path, {5: changed})
    graph = resized(wb.read(path, features=FEATURES), "image_encoded", "depth_encoded")
    shown = preview_batch(engine, PreviewRequest(graph, str(path), tiles=4))
    assert "1 of its samples cannot be read; the first, a.tfrecord at index " in shown.note
    assert words in shown.note
    if name in ("another type", "another length", "missing"):
        program = import_script(export(graph, "script").main.text, tmp_path)
        pipe = program.build_pipeline(str(path), batch_size=1)
        with pytest.raises(RuntimeError, match=r"= require_shape\((score|sizes), \["):
            [pipe.run() for _ in range(COUNT)]
    plain = resized(wb.read(path, features={"image/class/label": "int64"}))
    assert not [each for each in list_samples(read_as(plain, path)) if each.fault]


def read_as(graph: Graph, path: Path) -> Dataset:
    return datasets_as_read(graph, open_datasets(str(path)))["data"]


BAD_SAMPLES: dict[str, tuple[dict[str, bytes], str]] = {
    "no component": (
        {"json": b""},
        "it has no component 'json' (found: bin, cls, npy, png, seg.png)",
    ),
    "no digits": ({"cls": b"cat"}, "its component 'cls' is 'cat', not an integer"),
    "bytes of no number": (
        {"bin": b"12345"},
        "its component 'bin' has 5 bytes, which is not a multiple of the size of float32",
    ),
}


@pytest.mark.parametrize("name", BAD_SAMPLES)
def test_a_sample_without_what_is_read_is_named(name: str, tmp_path: Path) -> None:
    changes, words = BAD_SAMPLES[name]
    changed = {key: value for key, value in {**components(5), **changes}.items() if value}
    path = write_archive(tmp_path, n5=changed)
    graph = wb.read(path, features=COMPONENTS)
    faults = [each.fault for each in list_samples(read_as(graph, path)) if each.fault]
    assert faults == [words]
    program = import_script(export(graph, "script").main.text, tmp_path)
    with pytest.raises(RuntimeError, match=r"readers\.webdataset|read_digits"):
        [program.build_pipeline(str(path), batch_size=COUNT).run() for _ in range(1)]


def test_samples_without_a_component_can_be_skipped(tmp_path: Path) -> None:
    path = write_archive(tmp_path, n1={"png": encoded(1)})
    graph = wb.read(path, features=COMPONENTS, missing_component_behavior="skip")
    graph = resized(graph, "jpg", "seg_png")
    assert len(list(list_samples(read_as(graph, path)))) == COUNT - 1
    require_parity(graph, path, tmp_path, batches=(0, 1))


@pytest.mark.parametrize(
    ("text", "types", "words"),
    [
        ("image", RECORD_TYPES, "'image' is not a name and a type. Write 'image/encoded: image'"),
        (
            "a: double",
            RECORD_TYPES,
            "'double' is not a type for the feature 'a'. Use image, bytes, int64, float32",
        ),
        ("a: int64[0]", RECORD_TYPES, "[0] is not a list of sizes of 'a'. Use positive integers"),
        ("a: int64[2, ?]", RECORD_TYPES, "[2, ?] is not a list of sizes"),
        ("a: bytes[3]", RECORD_TYPES, "bytes has no sizes in brackets. Write 'a: bytes'"),
        (
            "a: float32[3]",
            COMPONENT_TYPES,
            "the size of 'a' is [3], but a reader does not know it in advance",
        ),
        ("a: digits", RECORD_TYPES, "'digits' is not a type for the feature 'a'"),
    ],
)
def test_an_invalid_feature_is_refused(text: str, types: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse_feature(text, types)


def test_a_damaged_second_image_is_shown_with_its_sample(tmp_path: Path, engine: Engine) -> None:
    path = write_records(tmp_path, {1: {**record(1), "depth/encoded": encoded(1)[:60]}})
    graph = resized(wb.read(path, features=FEATURES), "image_encoded", "depth_encoded")
    shown = preview_batch(engine, PreviewRequest(graph, str(path), tiles=4))
    assert [bool(tile.sample.error) for tile in shown.tiles] == [False, True, False, False]


def test_names_become_valid_and_unique_names_of_outputs() -> None:
    names = ["image/encoded", "image-encoded", "class", "2d", "jpg;png", "é", "seg.png"]
    found = output_names([Feature(name, "image") for name in names])
    assert found == [
        *("image_encoded", "image_encoded_2", "feature_class", "feature_2d", "jpg", "feature"),
        "seg_png",
    ]


def test_features_that_the_data_lack_are_named(tmp_path: Path, photos: Path) -> None:
    records, archive = write_records(tmp_path), write_archive(tmp_path)
    with pytest.raises(
        DataError, match=r"first 18 records have no feature 'imag' .found: bbox, dep"
    ):
        wb.read(records, features={"imag": "image"})
    with pytest.raises(DataError, match=r"samples have no component 'jpg' .found: bin, cls, json"):
        wb.read(archive, features={"jpg": "image"})
    with pytest.raises(ArgumentError, match=r"'picture' is not a type for the feature 'imag'"):
        wb.read(records, features={"imag": "picture"})
    with pytest.raises(DataError, match=r"which has no features. Omit features"):
        wb.read(photos, features={"image": "image"})
    with pytest.raises(GraphFaultsError, match=r"reader.features: 'b' is not a name and a type"):
        wb.read(records, features=FEATURES)["reader"].set(features=["b"])


@pytest.mark.parametrize("kind", ["tfrecord", "webdataset"])
def test_other_data_can_replace_them(kind: str, photos: Path, tmp_path: Path) -> None:
    """The image and the label of a record have a place in every graph; others have not."""
    graph, path = by_name(kind, tmp_path)
    image, label = ("image_encoded", "image_class_label") if kind == "tfrecord" else ("jpg", "cls")
    whole = wb.read(path, features=FEATURES if kind == "tfrecord" else COMPONENTS)
    images = getattr(whole, image).decoders.image()
    small = wb.outputs(images=images, labels=getattr(whole, label))
    swapped = with_datasets(small, open_datasets(str(photos)))
    assert [port.output for port in swapped.outputs.values()] == ["output", "labels"]
    back = with_datasets(swapped, {"data": open_dataset(f"{kind}_features:{path}")})
    assert back.outputs["labels"].output == label
    require_parity(back, {"data": open_dataset(f"{kind}_features:{path}")}, tmp_path, (0,))
    with pytest.raises(DataError, match=r"the graph uses .* of this source, but"):
        with_datasets(graph, open_datasets(str(photos)))


def test_what_is_guessed_is_said(tmp_path: Path) -> None:
    (note,) = describe_not_read(open_dataset(write_records(tmp_path)))
    assert "features image/encoded and image/class/label were found by their content" in note
    assert "tfrecord_features:" in note


@pytest.mark.parametrize("kind", ["tfrecord", "webdataset", "mxnet"])
def test_an_import_keeps_names_types_and_order(kind: str, tmp_path: Path) -> None:
    records, archive, rec = write_records(tmp_path), write_archive(tmp_path), tmp_path / "a.rec"
    rec.write_bytes(b"".join(labelled(encoded(n), [n, 0.5]) for n in range(COUNT)))
    index = find_record_files(str(records))["index_path"]

    @pipeline_def(batch_size=4, num_threads=1, device_id=None, seed=3)
    def pipe() -> Any:
        if kind == "mxnet":
            found = find_record_file(str(rec))
            jpegs, labels = fn.readers.mxnet(**found)
            return fn.resize(fn.decoders.image(jpegs), size=[16, 16]), labels
        if kind == "webdataset":
            ext, dtypes = ["seg.png", "bin", "cls"], [types.UINT8, types.FLOAT, types.UINT8]
            seg, bin_, cls = fn.readers.webdataset(paths=[str(archive)], ext=ext, dtypes=dtypes)
            return fn.resize(fn.decoders.image(seg), size=[16, 16]), bin_, cls
        read = fn.readers.tfrecord(path=[str(records)], index_path=index, name="Reader", features={
            "image/encoded": tfrec.FixedLenFeature((), tfrec.string, ""),
            "bbox": tfrec.VarLenFeature(tfrec.float32, 0.0),
            "image/class/label": tfrec.FixedLenFeature([1], tfrec.int64, -1),
            "image/text": tfrec.FixedLenFeature([], tfrec.string, ""),
            "score": tfrec.FixedLenFeature([], tfrec.float32, 0.0),
        })  # fmt: skip
        images = fn.resize(fn.decoders.image(read["image/encoded"]), size=[16, 16])
        return images, read["bbox"], read["image/class/label"], read["image/text"], read["score"]

    theirs: Any = pipe()
    found = wb.from_pipeline(theirs)
    assert not found.report.opaque
    assert not found.report.faults
    if kind == "tfrecord":
        assert list(found.graph.outputs)[1:] == ["bbox", "image_class_label", "image_text", "score"]
    path = {"tfrecord": records, "webdataset": archive, "mxnet": rec}[kind]
    theirs.build()
    for batch in script_batches(found.graph, path, 3, tmp_path):
        for ours, other in zip(batch, theirs.run(), strict=True):
            assert same(ours, arrays_of(other))
    text = export(found.graph, "script", data=str(path)).main.text
    changed = text.replace("size=SIZE", "size=[8, 8]").partition("# The graph of this program")[0]
    again = import_program(changed, path, tmp_path)
    assert again.graph.sources == found.graph.sources
    assert list(again.graph.outputs) == list(found.graph.outputs)


def import_program(text: str, data: Path, folder: Path) -> Any:
    (folder / "program.py").write_text(text)
    return wb.from_file(folder / "program.py", args={"data": str(data)})
