"""Read WebDataset samples with annotations next to the image: ``0000.jpg, 0000.json``.

The JSON file has a list as in COCO, alone or under the key ``annotations``. Each object has
``bbox`` (left, top, width, height in pixels), ``category_id`` and optionally ``keypoints`` (x, y,
visibility, ...) and ``category_name``. An archive is read in this way if a graph uses boxes or key
points, or if the kind is named (``webdataset_boxes:PATH``).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.annotation_faults import box_fault, box_remark
from workbench.sources.headers import image_header
from workbench.sources.kinds.image_masks import classes_of_masks, mask_numbers
from workbench.sources.kinds.records._tar_samples import with_component
from workbench.sources.kinds.records.webdataset import (
    SHARD_HELPERS,
    WebDataset,
    find_shards,
    first_components,
    list_shards,
)
from workbench.sources.source_kind import AnnotatedBoxes, AnnotatedKind, names_of_numbers

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them


_COMPONENT = "json"
_LOOKED_AT = 1000
"""Number of samples that are searched for class names."""
_TRIED = 8
"""Number of leading samples that are checked; at least one of them must have annotations."""
_NO_ANNOTATIONS = "has no annotations"


def find_with_json(data: Any) -> dict[str, Any]:
    """Return the arguments of the WebDataset reader for images with JSON annotations."""
    found = find_shards(data)
    return {**found, "ext": [found["ext"][0], "json"]}


def annotations_in(content: bytes) -> Any:
    """Return boxes (left, top, width, height), classes, objects, and key points of a sample.

    Each object is a row with its index and the start and end of its key points. Unlabelled key
    points are far outside the image.
    """
    import numpy as np

    found = json.loads(content)
    listed = found["annotations"] if isinstance(found, dict) else found
    boxes = np.array([one["bbox"] for one in listed], np.float32).reshape(-1, 4)
    labels = np.array([one["category_id"] for one in listed], np.int32)
    each = [np.array(one.get("keypoints", []), np.float32).reshape(-1, 3) for one in listed]
    points = np.concatenate([np.zeros((0, 3), np.float32), *each])
    ends = np.cumsum([0, *map(len, each)])
    rows = np.stack([np.arange(len(each)), ends[:-1], ends[1:]], axis=1).astype(np.int32)
    return boxes, labels, rows, np.where(points[:, 2:] > 0, points[:, :2], np.float32(-1e6))


def read_annotated(
    ltrb: bool = False, ratio: bool = False, polygon_masks: bool = False, **options: Any
) -> Any:
    """Return images, boxes, classes and key points in the format of COCO's reader."""
    options.setdefault("case_sensitive_extensions", False)
    made: Any = fn.readers.webdataset(**options)
    jpegs, encoded = made
    found: Any = fn.python_function(
        encoded, function=lambda content: annotations_in(content.tobytes()), num_outputs=4
    )
    boxes, labels, rows, points = found
    if ltrb:
        boxes = fn.cat(boxes[:, 0:2], boxes[:, 0:2] + boxes[:, 2:4], axis=1)
    if ratio:
        shape = fn.cast(fn.peek_image_shape(jpegs), dtype=types.FLOAT)
        sides = fn.stack(shape[1], shape[0])
        boxes, points = boxes / fn.cat(sides, sides), points / sides
    boxes = fn.cast(boxes, dtype=types.FLOAT)
    labels = fn.cast(labels, dtype=types.INT32)
    polygons = fn.cast(rows, dtype=types.INT32)
    vertices = fn.cast(points, dtype=types.FLOAT)
    return (jpegs, boxes, labels, polygons, vertices) if polygon_masks else (jpegs, boxes, labels)


def _annotated(samples: Iterable[Sample]) -> Iterator[tuple[Sample, bytes | None]]:
    """Yield each sample with the content of its annotation file, or None if it has no such file."""
    for sample, place in with_component(samples, _COMPONENT):
        if place is None:
            yield sample, None
            continue
        with open(sample.path, "rb") as file:
            file.seek(place[0])
            yield sample, file.read(place[1])


def _listed(content: bytes) -> list[Any]:
    found = json.loads(content)
    listed: list[Any] = found["annotations"] if isinstance(found, dict) else found
    return listed


def _fault(content: bytes, width: float | None = None, height: float | None = None) -> str:
    try:
        for number, one in enumerate(_listed(content)):
            if fault := box_fault(one["bbox"], width, height):
                return f"its box {number} {fault}"
            if type(one["category_id"]) is not int:
                return f"its class {number} is {one['category_id']!r}, not an integer"
            points = one.get("keypoints", [])
            if not isinstance(points, list) or len(points) % 3:
                return f"its key points {number} are not three numbers each"
        annotations_in(content)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        return f"its {_COMPONENT} {_NO_ANNOTATIONS}: {type(error).__name__} {error}"
    return ""


def _objects(samples: Iterable[Sample]) -> Iterator[list[Any]]:
    """Yield the annotated objects of each sample that has no fault."""
    for sample, content in _annotated(samples):
        if content is not None and not sample.fault and not _fault(content):
            yield _listed(content)


class WebDatasetBoxes(AnnotatedBoxes, WebDataset):
    """Source kind for tar archives that have boxes and key points for each image."""

    about = "WebDataset with annotations (0000.jpg, 0000.json)"
    op = "readers.webdataset_boxes"
    find = staticmethod(find_with_json)
    reader = staticmethod(read_annotated)
    helpers = (*SHARD_HELPERS, find_shards, annotations_in)
    imports = (*WebDataset.imports, "json")
    takes = frozenset({"webdataset"})

    def require(self, dataset: Dataset) -> None:
        super().require(dataset)
        (path, *_) = list_shards(dataset.argument)
        components = first_components(path)
        reason = "" if _COMPONENT in components else f"found: {', '.join(sorted(components))}"
        if not reason:
            first = islice(_annotated(super().list_samples(dataset)), _TRIED)
            faults = [_fault(content) for _, content in first if content is not None]
            if faults and all(_NO_ANNOTATIONS in fault for fault in faults):
                reason = faults[0]
        if reason:
            raise DataError(
                f"{dataset}: its first samples have no annotations ({reason}). Next to "
                'each image, add a JSON file such as 0000.json with a list of {"bbox": [left, top, '
                'width, height], "category_id": 1}, in pixels.'
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples. Samples without valid annotations are faulty."""
        self.require(dataset)
        for sample, content in _annotated(super().list_samples(dataset)):
            missing = f"it has no component {_COMPONENT!r}, unlike the others"
            if sample.fault or content is None:
                yield sample._replace(label=0, fault=sample.fault or missing)
                continue
            header = image_header(sample)
            sides = header.upright if header else (None, None)
            fault = _fault(content, *sides)
            boxes = [] if fault else [one["bbox"] for one in _listed(content)]
            found = [(box, box_remark(box, *sides)) for box in boxes]
            remark = next((f"the box {box} {r}" for box, r in found if r), "")
            yield sample._replace(label=0, fault=fault, remark=remark)

    def classes_in(self, dataset: Dataset, samples: Sequence[Sample]) -> Iterator[Collection[int]]:
        for objects in _objects(samples):
            yield [one["category_id"] for one in objects]

    def class_names(self, dataset: Dataset) -> list[str]:
        """Return the class names in ``category_name`` of the annotations, or an empty list."""
        named: dict[int, str] = {}
        samples = islice(super().list_samples(dataset), _LOOKED_AT)
        for objects in _objects(samples):
            for one in objects:
                if isinstance(one.get("category_name"), str):
                    named[one["category_id"]] = one["category_name"]
        return names_of_numbers(named)


# WebDataset samples with a mask next to the image: ``0000.jpg, 0000.mask.png``.
#
# Masks are read as in ``image_masks``: one number per pixel, opened by Pillow inside the reader. An
# archive is read in this way if a graph uses masks, or if the kind is named
# (``webdataset_masks:PATH``).


def mask_component(components: Any) -> str:
    """Return the first component that is an image with mask or seg in its name, or ""."""
    files = (".png", ".bmp", ".tif", ".tiff", ".webp")
    found = sorted(name for name in components if f".{name}".endswith(files))
    return next((name for name in found if "mask" in name or "seg" in name), "")


def find_with_masks(data: Any) -> dict[str, Any]:
    """Return the arguments of the WebDataset reader for images with masks."""
    found = find_shards(data)
    return {**found, "ext": [found["ext"][0], mask_component(first_components(found["paths"][0]))]}


def read_masked(**options: Any) -> Any:
    """Return the images and their masks, which are int32 of shape (height, width, 1)."""
    options.setdefault("case_sensitive_extensions", False)
    made: Any = fn.readers.webdataset(**options)
    jpegs, encoded = made
    masks = fn.python_function(
        encoded, function=lambda content: mask_numbers(content.tobytes()), output_layouts=["HWC"]
    )
    return jpegs, masks


class WebDatasetMasks(AnnotatedKind, WebDataset):
    """Source kind for tar archives that have a mask for each image."""

    about = "WebDataset with masks (0000.jpg, 0000.mask.png)"
    op = "readers.webdataset_masks"
    find = staticmethod(find_with_masks)
    reader = staticmethod(read_masked)
    outputs = ("jpegs", "masks")
    helpers = (*SHARD_HELPERS, find_shards, mask_numbers, mask_component)
    imports = (*WebDataset.imports, "io")
    takes = frozenset({"webdataset"})
    targets = "masks"

    def _component(self, dataset: Dataset) -> str:
        (path, *_) = list_shards(dataset.argument)
        components = first_components(path)
        found = mask_component(components)
        if not found:
            raise DataError(
                f"{dataset}: its first samples have no mask (found: "
                f"{', '.join(sorted(components))}). Add one for each image, "
                "0000.mask.png, with a number for each pixel."
            )
        return found

    def require(self, dataset: Dataset) -> None:
        super().require(dataset)
        self._component(dataset)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples. Samples without a mask of the image's size are faulty."""
        component = self._component(dataset)
        for sample, place in with_component(super().list_samples(dataset), component):
            fault = sample.fault or (
                "" if place else f"it has no component {component!r}, unlike the others"
            )
            yield sample._replace(label=0, fault=fault, mask=sample.path, mask_place=place or ())

    def classes_in(self, dataset: Dataset, samples: Sequence[Sample]) -> Iterator[Collection[int]]:
        found = with_component(samples, self._component(dataset))
        return classes_of_masks(
            sample._replace(mask=sample.path, mask_place=place) for sample, place in found if place
        )


SOURCES = {"webdataset_boxes": WebDatasetBoxes(), "webdataset_masks": WebDatasetMasks()}
