"""Readers that a graph has otherwise, older names, and the user's folder in a reader's place."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import nvidia.dali.tfrecord as tfrec
import pytest
from nvidia.dali import fn, pipeline_def, types

import workbench as wb
from tests.helpers import arrays_of, require_parity, same, script_batches
from workbench.catalog import load_catalog
from workbench.emit.targets import export
from workbench.errors import DataError
from workbench.graph.model import Source
from workbench.graph.storage.layout import dump_document, load_document

FEATURES = {
    "image/encoded": tfrec.FixedLenFeature((), tfrec.string, ""),
    "image/class/label": tfrec.FixedLenFeature([1], tfrec.int64, -1),
    "image/bbox": tfrec.VarLenFeature(tfrec.float32, 0.0),
}


def source(found: Any) -> Source:
    (only,) = found.graph.sources
    assert isinstance(only, Source)
    return only


def pipe(define: Any) -> Any:
    return pipeline_def(define)(batch_size=2, num_threads=1, device_id=None, seed=5)


def test_records_are_read_by_the_names_of_their_features() -> None:
    def define(*used: str) -> Any:
        read = fn.readers.tfrecord(path="a.tfrecord", index_path="a.idx", features=FEATURES)
        return tuple(
            fn.decoders.image(read[name]) if "encoded" in name else read[name] for name in used
        )

    found = wb.from_pipeline(pipe(lambda: define("image/encoded", "image/class/label")))
    assert source(found).kind == "tfrecord_features"
    assert source(found).args["features"] == (
        *("image/encoded: image", "image/class/label: int64", "image/bbox: float32[?]"),
    )
    assert "read a.tfrecord: pass that as the data" in str(found.report)
    boxes = wb.from_pipeline(pipe(lambda: define("image/encoded", "image/bbox")))
    assert not boxes.report.opaque


def test_rows_of_a_list_are_reported() -> None:
    def define() -> Any:
        features = {
            "image": tfrec.FixedLenFeature((), tfrec.string, ""),
            "bbox": tfrec.VarLenFeature([4], tfrec.float32, 0.0),
        }
        read = fn.readers.tfrecord(path="a.tfrecord", index_path="a.idx", features=features)
        return fn.decoders.image(read["image"]), read["bbox"]

    (changed,) = wb.from_pipeline(pipe(define)).report.changed
    assert "if it is that of 'bbox: float32[?]', write it there, such as [?, 4]" in changed.why


def test_a_saved_report_names_no_folder(tmp_path: Path) -> None:
    """It goes with a shared link and picture; the report of the import itself has whole paths."""
    folder = tmp_path / "by Ann"
    record, arrays = folder / "a.tfrecord", folder / "b.npy"

    def define() -> Any:
        read = fn.readers.tfrecord(
            path=str(record), index_path=f"{tmp_path}/a.idx", features=FEATURES
        )
        return read["image/encoded"], fn.readers.numpy(files=[str(arrays)])

    found = wb.from_pipeline(pipe(define))
    said = str(found.report)
    assert f"read '{record}': pass that" in said
    assert str(arrays) in said
    saved = dump_document(found.document)
    assert str(tmp_path) not in saved
    kept = str(load_document(saved).report)
    assert "read '.../a.tfrecord': pass that" in kept
    assert "files=('.../b.npy',) is not imported" in kept


def test_arrays_and_videos(tmp_path: Path) -> None:
    arrays = wb.from_pipeline(pipe(lambda: fn.readers.numpy(files=["a.npy"])))
    assert source(arrays).kind == "numpy_files"
    (changed,) = arrays.report.changed
    assert "files=('a.npy',) is not imported" in changed.why
    assert "an array without channels gets an axis" in changed.why
    for shape, added in ((6, 5), True), ((6, 5, 3), False), ((4, 6, 5), True):
        folder = tmp_path / str(shape)
        folder.mkdir()
        array = np.arange(np.prod(shape), dtype=np.int16).reshape(shape)
        np.save(folder / "a.npy", array)
        found = wb.from_pipeline(pipe(partial(fn.readers.numpy, file_root=str(folder))))
        assert [node.op for node in found.graph.nodes[1:]] == ["squeeze"] * added
        ((output,),) = script_batches(found.graph, str(folder), 1, tmp_path)
        np.testing.assert_array_equal(output[0], array)

    def clips() -> Any:
        frames, labels = fn.readers.video_resize(
            device="gpu", filenames=["a.mp4"], labels=[0], sequence_length=4, resize_x=32,
            resize_y=16, dtype=types.FLOAT, pad_sequences=True, skip_vfr_check=False,
        )  # fmt: skip
        return frames, labels

    found = wb.from_pipeline(pipe(clips))
    reader, *steps = found.graph.nodes
    assert (reader.op, reader.args["pad_mode"]) == ("experimental.readers.video", "constant")
    assert [node.op for node in steps] == ["cast", "resize"]
    (changed,) = found.report.changed
    assert "reads it, also on the CPU, without skip_vfr_check=False" in changed.why
    assert "rounded to integers before they become floats. filenames=('a.mp4',)" in changed.why


def test_several_readers_keep_their_own_paths(photos: Path, tmp_path: Path) -> None:
    """Arrays and masks of two folders, a list of some files, and a folder of photos."""
    for folder, first in (("volumes", 0), ("masks", 100)):
        (tmp_path / folder).mkdir()
        for number in range(6):
            array = np.full((4, 5, 1), first + number, np.uint8)
            np.save(tmp_path / folder / f"{number}.npy", array)

    def files(folder: str, count: int) -> list[str]:
        return [str(tmp_path / folder / f"{number}.npy") for number in range(count)]

    def define() -> Any:
        volumes = fn.readers.numpy(files=files("volumes", 6))
        masks = fn.readers.numpy(files=files("masks", 6))
        fewer = fn.readers.numpy(file_root=str(tmp_path / "masks"), files=["1.npy", "3.npy"])
        jpegs, _ = fn.readers.file(file_root=str(photos))
        return volumes, masks, fewer, fn.resize(fn.decoders.image(jpegs), size=[8, 8])

    theirs = pipe(define)
    found = wb.from_pipeline(theirs)
    assert not found.report.faults
    names = [each.dataset for each in found.graph.sources]
    assert names == ["data_volumes", "data_masks", "data_fewer", "data"]
    assert str(found.graph.datasets["data_masks"]) == str(tmp_path / "masks")
    assert "data_fewer=PATH" in str(found.report)
    assert '"--data_masks"' in export(found.graph, "script").main.text
    theirs.build()
    for batch in script_batches(found.graph, found.graph.datasets, 3, tmp_path):
        for ours, other in zip(batch, theirs.run(), strict=True):
            assert same(ours, arrays_of(other))
    require_parity(found.graph, found.graph.datasets, tmp_path, batches=(7, 0))


def test_settings_that_only_check_are_told(tmp_path: Path) -> None:
    checked = pipeline_def(lambda: fn.decoders.image(fn.readers.file(file_root="x")[0]))
    made = checked(batch_size=2, num_threads=1, device_id=None, output_ndim=3)
    found = wb.from_pipeline(made)
    assert found.report.is_exact
    assert "output_ndim=3 only checks the outputs" in str(found.report)


def feed() -> Any:
    yield from ()


@pytest.mark.parametrize("kind", ["python", "request", "arrays", "records", "mxnet"])
def test_a_folder_in_the_place_of_what_feeds_it(kind: str, photos: Path, tmp_path: Path) -> None:
    def define() -> Any:
        if kind == "mxnet":
            jpegs, labels = fn.readers.mxnet(path="a.rec", index_path="a.idx")
        elif kind == "records":
            read = fn.readers.tfrecord(path="a", index_path="b", features=FEATURES)
            jpegs, labels = read["image/encoded"], read["image/class/label"]
        elif kind == "request":
            jpegs, labels = fn.external_source(name="INPUT"), fn.constant(idata=[0])
        else:
            jpegs, labels = fn.external_source(source=feed, num_outputs=2)
        images = jpegs if kind == "arrays" else fn.decoders.image(jpegs)
        return fn.resize(images, size=[32, 48]), labels

    found = wb.from_pipeline(pipe(define), source=photos)
    assert source(found).kind == "folder"
    assert not found.report.opaque
    assert not found.report.faults
    assert "it reads your folder instead of the data of" in str(found.report)

    def wanted() -> Any:
        jpegs, labels = fn.readers.file(file_root=str(photos))
        images = fn.resize(fn.decoders.image(jpegs), size=[32, 48])
        return images, fn.constant(idata=[0]) if kind == "request" else labels

    theirs = pipe(wanted)
    theirs.build()
    for batch in script_batches(found.graph, photos, 3, tmp_path):
        for ours, other in zip(batch, theirs.run(), strict=True):
            assert same(ours, arrays_of(other))


def test_what_the_program_feeds_is_told() -> None:
    found = wb.from_pipeline(pipe(lambda: fn.decoders.image(fn.external_source(name="jpegs"))))
    assert source(found).kind == "request"
    (note,) = [note for note in found.report.notes if "feeds" in note]
    assert note.startswith(f"{source(found).id}: the program feeds it: the files, their order")


def test_a_source_that_is_not_there() -> None:
    with pytest.raises(DataError, match="nowhere"):
        wb.from_pipeline(pipe(lambda: fn.readers.file(file_root="x")[0]), source="nowhere")


def test_videos_without_labels_are_read_as_they_are() -> None:
    def define() -> Any:
        return fn.experimental.readers.video(filenames=["a.avi"], sequence_length=4)

    found = wb.from_pipeline(pipe(define))
    assert source(found).kind == "video"
    (changed,) = found.report.changed
    assert "filenames=('a.avi',) is not imported" in changed.why


@pytest.mark.parametrize("reader", ["readers.video", "experimental.readers.video"])
@pytest.mark.parametrize("labels", [{}, {"labels": [7]}])
@pytest.mark.parametrize(
    "enabled", [{"enable_frame_num": True}, {"enable_timestamps": True}, {
        "enable_frame_num": "sequence", "enable_timestamps": True}],
    ids=str,
)  # fmt: skip
def test_frame_numbers_and_times_are_outputs_with_their_names(
    reader: str, labels: dict[str, Any], enabled: dict[str, Any]
) -> None:
    def define(used: slice) -> Any:
        call = fn.experimental.readers.video if "experimental" in reader else fn.readers.video
        args = {"device": "gpu", "filenames": ["a.mp4"], "sequence_length": 4, **labels}
        return tuple(call(**args, **enabled))[used]

    whole = wb.from_pipeline(pipe(lambda: define(slice(None))))
    assert not whole.report.opaque
    assert not whole.report.faults
    names = {"enable_frame_num": "frame_num", "enable_timestamps": "timestamps"}
    wanted = ["frames", *labels, *map(names.get, enabled)]
    assert [port.output for port in whole.graph.outputs.values()] == wanted
    kept = wb.from_pipeline(pipe(lambda: define(slice(1 + len(labels)))))
    assert not kept.report.opaque
    assert not kept.report.faults
    assert not set(enabled) & set(source(kept).args)
    assert [port.output for port in kept.graph.outputs.values()] == ["frames", *labels]


def test_readers_of_video_of_a_gpu_alone_name_the_one_to_use() -> None:
    for name in ("readers.video", "readers.video_resize"):
        assert "experimental.readers.video" in str(load_catalog()[name].unusable)
