"""TFRecord: one file of ``tf.train.Example`` records per shard.

The features have the names of TensorFlow's object detection API: ``image/encoded``,
``image/class/label``, ``image/object/bbox/xmin``, ``image/object/keypoint/x``. Further images are
``image/encoded/NAME``, the first mask is ``image/segmentation/class/encoded``, and other outputs
have their own names: numbers, and arrays in NumPy's file format.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from workbench.errors import ArgumentError, DataError
from workbench.samples.records import (
    Feature,
    encode_feature,
    encode_features,
    encode_tfrecord,
)
from workbench.sources.kinds.records.tfrecord import fields_of, records_of
from workbench.versions.formats.format import (
    EncodedSample,
    VersionFormat,
    mask_ending,
    shard_path,
)
from workbench.versions.outputs import Roles
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.records import SampleRecord

_KEY = "image/source_id"
_MASK = "image/segmentation/{}/encoded"


class TFRecordFormat(VersionFormat):
    """Stores each sample as a record. The parts of a sample are its encoded features."""

    name = "tfrecord"

    picture = "image/encoded"

    def require(self, roles: Roles, plan: VersionPlan) -> None:
        if roles.outlines:
            raise ArgumentError(
                f"The format 'tfrecord' has no feature for the outlines {roles.points!r}. Use "
                "format 'coco', 'webdataset' or 'parquet'."
            )

    def write(
        self, samples: Iterator[EncodedSample], folder: Path, task: Task, plan: VersionPlan
    ) -> Iterator[tuple[EncodedSample, dict[str, str]]]:
        with shard_path(folder, task, "tfrecord").open("wb") as file:
            for each in samples:
                parts = {name: encode_feature(it) for name, it in _features(each).items()}
                file.write(encode_tfrecord(encode_features(parts)))
                yield each.with_parts(parts), {}

    def read(
        self, folder: Path, task: Task, records: Sequence[SampleRecord], plan: VersionPlan
    ) -> Iterator[tuple[str, str, bytes | None]]:
        path = shard_path(folder, task, "tfrecord")
        for offset, record in records_of(str(path)):
            try:
                found = dict(_encoded_features(record or b"\xff"))
                key = _texts(found[_KEY])[0].decode()
            except (IndexError, KeyError, ValueError):
                raise DataError(f"{path}: the record at byte {offset - 12} is damaged.") from None
            for name, part in found.items():
                yield key, name, part

    def picture_bytes(self, part: bytes) -> bytes:
        return _texts(part)[0]


def _features(encoded: EncodedSample) -> dict[str, Feature]:
    """Return the features of a sample."""
    sample, parts = encoded.sample, encoded.parts
    found: dict[str, Feature] = {_KEY: sample.key.encode()}
    for number, (ending, name) in enumerate(encoded.pictures.items()):
        found[f"image/encoded/{name}" if number else "image/encoded"] = parts[ending]
    if sample.images:
        ending = next(iter(encoded.pictures))
        height, width = next(iter(sample.images.values())).shape[:2]
        found["image/format"] = b"jpeg" if ending == "jpg" else b"png"
        found["image/filename"] = f"{sample.key}.{ending}".encode()
        found["image/height"], found["image/width"] = np.array([height]), np.array([width])
    if sample.label is not None:
        found["image/class/label"] = np.array([sample.label])
    for number, name in enumerate(sample.masks):
        found[_MASK.format(name if number else "class")] = parts[mask_ending(name)]
    if encoded.objects is not None:
        found |= _object_features(encoded)
    for name, value in sample.numbers.items():
        found[name] = np.array([value])
    for name in sample.arrays:
        found[name] = parts[f"{name}.npy"]
    return found


def _object_features(encoded: EncodedSample) -> dict[str, Feature]:
    """Return the features of the objects; coordinates are relative to the image size."""
    sample, objects = encoded.sample, encoded.objects or ()
    boxes = np.array([one["bbox"] for one in objects], np.float64).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    boxes /= np.array(sample.size * 2)
    sides = zip(("xmin", "ymin", "xmax", "ymax"), boxes.T, strict=True)
    found: dict[str, Feature] = {f"image/object/bbox/{side}": values for side, values in sides}
    found["image/object/class/label"] = np.array([one["category_id"] for one in objects], np.int64)
    if all("category_name" in one for one in objects):
        names = [one["category_name"].encode() for one in objects]
        found["image/object/class/text"] = names
    if sample.points is None:
        return found
    counts = {len(one["keypoints"]) // 3 for one in objects}
    if len(counts) > 1:
        raise DataError(
            f"{sample.source}: its objects have {' and '.join(map(str, sorted(counts)))} key "
            "points, but records have the same number for each object. Use format 'webdataset'."
        )
    rows = np.array([one["keypoints"] for one in objects], np.float64).reshape(-1, 3)
    across, down = (rows[:, :2] / np.array(sample.size)).T
    found |= {"image/object/keypoint/x": across, "image/object/keypoint/y": down}
    found["image/object/keypoint/visibility"] = rows[:, 2].astype(np.int64)
    return found


def _encoded_features(record: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the encoded value of each feature of a record."""
    for _, start, end in fields_of(record, 0, len(record)):
        for _, first, last in fields_of(record, start, end):
            (_, *name), (_, *value) = list(fields_of(record, first, last))[:2]
            yield record[slice(*name)].decode(), record[slice(*value)]


def _texts(feature: bytes) -> list[bytes]:
    """Return the values of an encoded feature of bytes."""
    ((_, start, end),) = fields_of(feature, 0, len(feature))
    return [feature[first:last] for _, first, last in fields_of(feature, start, end)]


FORMAT = TFRecordFormat()
