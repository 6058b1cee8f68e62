"""Read TFRecord files whose records have boxes in the form of TensorFlow's object detection API.

A record has a list of class numbers (``image/object/class/label``) and four lists of floats with
the edges of boxes, relative to the image's width and height. Their names end in ``xmin``, ``ymin``,
``xmax`` and ``ymax``: ``image/object/bbox/xmin``. Optional key points, the same number per box, are
``image/object/keypoint/x``, ``y`` and ``visibility``. Records are read in this way if a graph uses
boxes, or if the kind is named (``tfrecord_boxes:PATH``).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.annotation_faults import box_fault, box_remark
from workbench.sources.kinds.records._record_index import index_of
from workbench.sources.kinds.records.tfrecord import (
    TFRecord,
    choose_features,
    find_records,
    first_record,
    list_records,
    numbers_of,
    read_features,
    scan_records,
    texts_of,
)
from workbench.sources.source_kind import AnnotatedBoxes, names_of_numbers

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

_LOOKED_AT = 1000
"""Number of records that are searched for class names."""
Features = dict[str, tuple[str, int, int]]
"""Type, start and end of each feature, as returned by ``read_features``."""
_MISSING = ("missing", 0, 0)


def choose_boxes(features: dict[str, Any]) -> tuple[list[str], str]:
    """Return the names of the features with box edges and with classes; empty if not found."""
    floats = sorted(name for name, (kind, *_) in features.items() if kind == "float")
    ends = ("xmin", "ymin", "xmax", "ymax")
    sides = [next((name for name in floats if name.lower().endswith(end)), "") for end in ends]
    whole = sorted(name for name, (kind, *_) in features.items() if kind == "int64")
    classes = [name for name in whole if "label" in name.lower() or "class" in name.lower()]
    own = [name for name in classes if "object" in name.lower() or "bbox" in name.lower()]
    return (sides if all(sides) else []), (own or classes or [""])[0]


def choose_points(features: dict[str, Any]) -> list[str]:
    """Return the feature names of x, y and visibility of key points, by default the usual names."""
    return [
        next((n for n in sorted(features) if n.lower().endswith(f"keypoint/{end}")), usual)
        for end in ("x", "y", "visibility")
        for usual in [f"image/object/keypoint/{end}"]
    ]


def find_boxes(data: Any) -> dict[str, Any]:
    """Return the arguments of the TFRecord reader, with the features of the first record."""
    from nvidia.dali import tfrecord

    found = find_records(data)
    files = zip(found["path"], found["index_path"], strict=True)
    record = next(filter(None, (first_record(*each) for each in files)), b"")
    sides, label = choose_boxes(read_features(record))
    across, down, seen = choose_points(read_features(record))
    image = next(iter(found["features"]))
    features = {image: found["features"][image]}
    for side in sides or ["xmin", "ymin", "xmax", "ymax"]:
        features[side] = tfrecord.VarLenFeature(tfrecord.float32, 0.0)
    features[label or "label"] = tfrecord.VarLenFeature(tfrecord.int64, 0)
    features[across] = features[down] = tfrecord.VarLenFeature(tfrecord.float32, 0.0)
    features[seen] = tfrecord.VarLenFeature(tfrecord.int64, 0)
    return {**found, "features": features}


def place_points(across: Any, down: Any, seen: Any, labels: Any) -> Any:
    """Return a row per object (its index, start and end of its key points), and all key points.

    Key points are (x, y). Unlabelled key points get coordinates far outside the image.
    """
    import numpy as np

    ends = np.linspace(0, len(across), len(labels) + 1).astype(np.int32)
    rows = np.stack([np.arange(len(labels), dtype=np.int32), ends[:-1], ends[1:]], axis=1)
    points = np.stack([across, down], axis=1)
    labelled = seen > 0 if len(seen) == len(across) else np.ones(len(across), bool)
    return rows, np.where(labelled[:, None] & np.isfinite(points), points, np.float32(-1e6))


def read_boxes(
    ltrb: bool = False, ratio: bool = False, polygon_masks: bool = False, **options: Any
) -> Any:
    """Return images, boxes, classes and key points in the format of COCO's reader."""
    made: Any = fn.readers.tfrecord(**options)
    jpegs, left, top, right, bottom, labels, across, down, seen = made.values()
    low, high = fn.stack(left, top, axis=1), fn.stack(right, bottom, axis=1)
    placed: Any = fn.python_function(
        across, down, seen, labels, function=place_points, num_outputs=2
    )
    rows, points = placed
    if not ratio:
        shape = fn.cast(fn.peek_image_shape(jpegs), dtype=types.FLOAT)
        sides = fn.stack(shape[1], shape[0])
        low, high, points = low * sides, high * sides, points * sides
    boxes = fn.cat(low, high if ltrb else high - low, axis=1)
    boxes = fn.cast(boxes, dtype=types.FLOAT)
    labels = fn.cast(labels, dtype=types.INT32)
    polygons = fn.cast(rows, dtype=types.INT32)
    vertices = fn.cast(points, dtype=types.FLOAT)
    return (jpegs, boxes, labels, polygons, vertices) if polygon_masks else (jpegs, boxes, labels)


def _record_of(sample: Sample) -> bytes:
    with open(sample.path, "rb") as file:
        file.seek(int(sample.name.rpartition(" at index ")[2]))
        size = int.from_bytes(file.read(8), "little")
        file.seek(4, os.SEEK_CUR)
        return file.read(size)


def _boxes_fault(record: bytes, features: Features, sides: list[str], label: str) -> str:
    for name, wanted in (*((side, "float") for side in sides), (label, "int64")):
        kind, start, end = features.get(name, _MISSING)
        if kind == "missing" or (kind != wanted and start != end):  # empty lists have no type
            return f"its feature {name!r} is {kind}, not {wanted} as in the first record"
    lists = [numbers_of(record, features[name]) for name in (*sides, label)]
    counts = [len(each) for each in lists]
    if len(set(counts)) > 1:
        return f"it has {', '.join(map(str, counts))} of {', '.join((*sides, label))}"
    for number, box in enumerate(zip(*lists[:4], strict=True)):
        if fault := box_fault(box, 1, 1, corners=True):
            shown = ", ".join(f"{side:.4g}" for side in box)
            return f"its box {number} ({shown}) {fault}"
    return ""


def _boxes_remark(record: bytes, features: Features, sides: list[str]) -> str:
    """Describe the first box that is beyond the edge or has no area, or return an empty string."""
    lists = [numbers_of(record, features[side]) for side in sides]
    for number, box in enumerate(zip(*lists, strict=True)):
        if remark := box_remark(box, 1, 1, corners=True):
            return f"its box {number} ({', '.join(f'{s:.6g}' for s in box)}) {remark}"
    return ""


def _points_fault(record: bytes, features: Features, points: list[str], label: str) -> str:
    names = (*points, label)
    counts = [len(numbers_of(record, features.get(name, _MISSING))) for name in names]
    across, down, seen, objects = counts
    if across != down or seen not in (0, across):
        return f"it has {across}, {down}, {seen} of {', '.join(points)}"
    uneven = across % objects if objects else across
    return f"it has {across} key points for {objects} boxes" if uneven else ""


class TFRecordBoxes(AnnotatedBoxes, TFRecord):
    """Source kind for TFRecord files that have boxes and key points for each image."""

    about = "TFRecord with boxes (image/object/bbox/xmin)"
    op = "readers.tfrecord_boxes"
    find = staticmethod(find_boxes)
    reader = staticmethod(read_boxes)
    helpers = (*TFRecord.helpers, find_records, choose_boxes, choose_points, place_points)
    takes = frozenset({"tfrecord"})

    def _first(self, dataset: Dataset) -> bytes:
        files = list_records(dataset.argument)
        found = (first_record(path, index_of(path, scan_records)) for path in files)
        return next(filter(None, found), b"")

    def _boxes_of(self, dataset: Dataset) -> tuple[list[str], str]:
        """Return the feature names of box edges and classes; raise DataError if there are none."""
        features = read_features(self._first(dataset))
        sides, label = choose_boxes(features)
        if not sides or not label:
            shown = ", ".join(f"{name} ({kind})" for name, (kind, *_) in sorted(features.items()))
            raise DataError(
                f"{dataset}: its first record has no boxes (found: {shown}). Store "
                "image/object/bbox/xmin, ymin, xmax and ymax as floats relative to width "
                "and height, and image/object/class/label."
            )
        return sides, label

    def require(self, dataset: Dataset) -> None:
        super().require(dataset)
        self._boxes_of(dataset)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples.

        Records with an invalid box, or without the features of the first record, are faulty.
        """
        sides, label = self._boxes_of(dataset)
        points = choose_points(read_features(self._first(dataset)))
        image = ""
        for sample in super().list_samples(dataset):
            if sample.fault and not sample.fault.startswith(f"its feature {label!r} "):
                yield sample
                continue
            record = _record_of(sample)
            features = read_features(record)
            image = image or choose_features(record)[0]
            _, start, end = features.get(image, _MISSING)
            offset = int(sample.name.rpartition(" at index ")[2]) + 12 + start
            fault = _boxes_fault(record, features, sides, label)
            fault = fault or _points_fault(record, features, points, label)
            remark = "" if fault else _boxes_remark(record, features, sides)
            yield sample._replace(
                label=0, fault=fault, remark=remark, offset=offset, nbytes=end - start
            )

    def classes_in(self, dataset: Dataset, samples: Sequence[Sample]) -> Iterator[Collection[int]]:
        sides, label = self._boxes_of(dataset)
        for sample in samples:
            record = b"" if sample.nbytes == 0 else _record_of(sample)
            with suppress(IndexError, KeyError, ValueError):  # damaged, or not an example
                features = read_features(record)
                if not _boxes_fault(record, features, sides, label):
                    yield numbers_of(record, features[label])

    def class_names(self, dataset: Dataset) -> list[str]:
        """Return the class names stored with the class numbers, or an empty list."""
        _, label = self._boxes_of(dataset)
        text = f"{label.rpartition('/')[0]}/text"
        named: dict[int, str] = {}
        for sample in islice(super().list_samples(dataset), _LOOKED_AT):
            if sample.fault:
                continue
            record = _record_of(sample)
            numbers = numbers_of(record, read_features(record).get(label, _MISSING))
            named |= dict(zip(numbers, texts_of(record, text), strict=False))
        return names_of_numbers(named)


SOURCES = {"tfrecord_boxes": TFRecordBoxes()}
