"""The same photos as data of each kind."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nvidia.dali import fn, pipeline_def, types
from PIL import Image

from tests.sources.clips import frame_of, jpeg
from workbench.samples import records
from workbench.samples.records import encode_datum, encode_tfrecord, recorded, tensors, write_shard
from workbench.sources import Sample, list_samples, open_dataset

Photos = list[tuple[bytes, int]]
"""The encoded image and the label of each, in the order of the folder."""


def read_photos(folder: Path) -> Photos:
    """The files of class folders, in the reader's order."""
    found: list[Sample] = list(list_samples(open_dataset(folder)))
    return [(Path(each.path).read_bytes(), each.label) for each in found]


def write_webdataset(photos: Photos, folder: Path) -> Path:
    """Two shards, with labels."""
    folder.mkdir()
    half = len(photos) // 2
    for shard, part in enumerate([photos[:half], photos[half:]]):
        components = ({"jpg": image, "cls": str(label).encode()} for image, label in part)
        write_shard(components, folder / f"{shard:06}.tar")
    return folder


framed_once = cache(encode_tfrecord)
"""Its checksum, in Python, takes 6 ms a photo."""


def example(image: bytes, label: int) -> bytes:
    """A ``tf.train.Example`` as TensorFlow's data sets write it."""
    return records.encode_example({"image/encoded": image, "image/class/label": [label]})


def write_tfrecord(photos: Photos, folder: Path) -> Path:
    """Two files, with labels and without an index."""
    folder.mkdir()
    half = len(photos) // 2
    for number, part in enumerate([photos[:half], photos[half:]]):
        records_ = (framed_once(example(image, label)) for image, label in part)
        (folder / f"photos-{number}.tfrecord").write_bytes(b"".join(records_))
    return folder


def write_record_io(photos: Photos, folder: Path) -> Path:
    """A file without an index."""
    folder.mkdir()
    path = folder / "photos.rec"
    path.write_bytes(b"".join(recorded(image, label) for image, label in photos))
    return path


def write_lmdb(values: list[bytes], folder: Path) -> Path:
    """Values in a new folder."""
    folder.mkdir()
    records.write_lmdb(values, folder / "data.mdb")
    return folder


def write_caffe_lmdb(photos: Photos, folder: Path) -> Path:
    """An LMDB of Caffe."""
    return write_lmdb([encode_datum(image, label) for image, label in photos], folder)


def write_caffe2_lmdb(photos: Photos, folder: Path) -> Path:
    """An LMDB of Caffe2."""
    return write_lmdb([tensors(image, label) for image, label in photos], folder)


def write_coco(photos: Photos, folder: Path) -> Path:
    """Images next to their annotations; all but every third have one box."""
    (folder / "images").mkdir(parents=True)
    images, annotations = [], []
    for number, (image, label) in enumerate(photos):
        name = f"{number:06}.jpg"
        (folder / "images" / name).write_bytes(image)
        width, height = _size(image)
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        if number % 3:
            box = {"bbox": [1, 2, 10, 20], "area": 200, "iscrowd": 0}
            annotations.append({"id": number, "image_id": number, "category_id": label, **box})
    categories = [{"id": label, "name": f"c{label}"} for label in sorted({p[1] for p in photos})]
    path = folder / "annotations.json"
    found = {"images": images, "annotations": annotations, "categories": categories}
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


def _size(image: bytes) -> tuple[int, int]:
    """Width and height; of what is no image some."""
    with suppress(OSError), Image.open(io.BytesIO(image)) as opened:
        return opened.size
    return 300, 300


def write_parquet(photos: Photos, folder: Path) -> Path:
    """A Parquet file as Hugging Face writes a data set of images."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    folder.mkdir()
    images = [{"bytes": image, "path": f"{number}.jpg"} for number, (image, _) in enumerate(photos)]
    table = pyarrow.table({"image": images, "label": [label for _, label in photos]})
    path = folder / "photos.parquet"
    parquet.write_table(table, path)
    return path


WRITERS: Mapping[str, Callable[[Photos, Path], Path]] = {
    "webdataset": write_webdataset,
    "tfrecord": write_tfrecord,
    "record_io": write_record_io,
    "caffe_lmdb": write_caffe_lmdb,
    "caffe2_lmdb": write_caffe2_lmdb,
    "coco": write_coco,
    "memory": write_parquet,
}
"""Source kind -> a function that writes photos and returns the path to open."""


def write_arrays(photos: Path, folder: Path) -> Path:
    """Each photo of class folders as a .npy file of a class folder, decoded by DALI."""
    samples = list(list_samples(open_dataset(photos)))

    @pipeline_def(batch_size=len(samples), num_threads=1, device_id=None)
    def decoded() -> Any:
        encoded, _ = fn.readers.file(files=[sample.path for sample in samples])
        return fn.decoders.image(encoded, output_type=types.RGB)

    pipe: Any = decoded()
    pipe.build()
    (images,) = pipe.run()
    for sample, image in zip(samples, images, strict=True):
        place = folder / Path(sample.name).with_suffix(".npy")
        place.parent.mkdir(parents=True, exist_ok=True)
        np.save(place, np.asarray(image))
    return folder


def write_volumes(folder: Path, count: int = 6, dtype: str = "int16") -> Path:
    """Volumes of 6 slices with 24 rows, 32 columns and two channels, in classes a and b."""
    for number in range(count):
        place = folder / "ab"[number * 2 // count]
        place.mkdir(parents=True, exist_ok=True)
        values = np.arange(6 * 24 * 32 * 2).reshape(6, 24, 32, 2) + 100 * number
        np.save(place / f"{number}.npy", values.astype(dtype))
    return folder


def write_frames(folder: Path, *, videos: int = 4, frames: int = 20) -> Path:
    """The pictures of ``write_clips``, as frames in a folder for each video."""
    for video in range(videos):
        place = folder / "ab"[video * 2 // videos] / f"video{video}"
        place.mkdir(parents=True)
        for number in range(frames):
            (place / f"{number:04}.jpg").write_bytes(jpeg(frame_of(video, number)))
    return folder
