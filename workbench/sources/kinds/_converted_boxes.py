"""Base class of kinds whose annotation files are converted to one COCO file for DALI's reader."""

from __future__ import annotations

import atexit
import json
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.annotation_faults import box_fault
from workbench.sources.class_folders import IMAGES
from workbench.sources.kinds.coco import OUTLINES, Coco, remarks_of


def upright_sides(path: str) -> tuple[int, int]:
    """Return the width and height of an image as DALI decodes it, after EXIF rotation."""
    from PIL import Image

    with Image.open(path) as image:
        turned = "exif" in image.info and image.getexif().get(274, 1) > 4
        return image.size[::-1] if turned else image.size


def write_annotations(found: dict[str, Any]) -> dict[str, str]:
    """Write COCO annotations to a temporary file, and return the arguments of COCO's reader."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        file.write(json.dumps(found))
    atexit.register(pathlib.Path(file.name).unlink, missing_ok=True)
    return {"annotations_file": file.name, "file_root": found["root"]}


class Converted(NamedTuple):
    """Annotation files as one COCO document, and the faults of images by image id."""

    document: dict[str, Any]
    faults: Mapping[int, str]


@lru_cache(maxsize=4)
def _converted(convert: Callable[..., Any], location: str, stamp: int) -> Converted:
    faults: dict[int, str] = {}
    document = convert(location, faults)
    sides = {each["id"]: (each["width"], each["height"]) for each in document["images"]}
    for one in document["annotations"]:
        if fault := box_fault(one["bbox"], *sides[one["image_id"]]):
            faults.setdefault(one["image_id"], f"the box {one['bbox']} {fault}")
    return Converted(document, faults)


@lru_cache(maxsize=4)
def _remarks(convert: Callable[..., Any], location: str, stamp: int) -> Mapping[Any, str]:
    return remarks_of(_converted(convert, location, stamp).document)


class ConvertedBoxes(Coco):
    """Base class of source kinds that convert their annotation files to COCO.

    A subclass defines ``convert``, ``files_of`` and ``require_found``.
    """

    metavar = "PATH"
    demanding = OUTLINES
    is_indexed = True
    precedence = 3
    convert: Callable[..., dict[str, Any]]
    """Static method that returns COCO annotations, with the folder of the images as ``root``. It
    raises ValueError or OSError for invalid data. With a dict as second argument, it stores the
    faults of images there by image id instead."""
    helpers: tuple[Any, ...] = (upright_sides, write_annotations)
    imports: tuple[str, ...] = ("atexit", "json", "os", "pathlib", "tempfile")

    def files_of(self, dataset: Dataset) -> list[str]:
        """Return the paths of all files that the annotations are made from."""
        raise NotImplementedError

    def orphans(self, dataset: Dataset) -> list[str]:
        """Return the paths of the annotation files without an image."""
        return []

    def nothing_annotated(self, dataset: Dataset) -> str:
        """Explain why no image has annotations, with a fix."""
        raise NotImplementedError

    def converted(self, dataset: Dataset) -> Converted:
        """Return the cached annotations. Raises DataError if the data are invalid as a whole."""
        return _converted(*self._key(dataset))

    def _key(self, dataset: Dataset) -> tuple[Callable[..., Any], str, int]:
        place = os.path.abspath(dataset.location)
        try:
            stamp = hash(tuple(map(_stamp, self.files_of(dataset))))
            key = type(self).convert, place, stamp
            _converted(*key)
        except (OSError, ValueError) as error:
            raise DataError(_described(dataset, error)) from None
        return key

    def document(self, dataset: Dataset) -> dict[str, Any]:
        return self.converted(dataset).document

    def require(self, dataset: Dataset) -> None:
        found = self.converted(dataset)
        if not found.document["images"]:
            raise DataError(self.nothing_found(dataset))
        if not found.document["annotations"] and not found.faults:
            raise DataError(self.nothing_annotated(dataset))
        asked = sorted(OUTLINES.intersection(dataset.options or ()))
        if asked and not any(one.get("segmentation") for one in found.document["annotations"]):
            raise DataError(
                f"{dataset} has boxes, but no polygons for the argument {asked[0]!r} of the "
                f"reader. Reset {asked[0]!r}, or use data with polygons."
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the images in the order of their paths, then annotation files without an image."""
        key = self._key(dataset)
        (found, faults), remarks = _converted(*key), _remarks(*key)
        for image in found["images"]:
            number, name = image["id"], image["file_name"]
            yield Sample(
                os.path.join(found["root"], name),
                name,
                0,
                fault=faults.get(number, ""),
                sides=tuple(image.get("stated", ())),
                remark=remarks.get(number, ""),
            )
        for path in self.orphans(dataset):
            name = os.path.relpath(path, found["root"])
            yield Sample(path, name, 0, fault="it has annotations, but no image", counted=False)

    def root(self, dataset: Dataset) -> str:
        try:
            return str(self.document(dataset)["root"])
        except DataError:
            return os.path.abspath(dataset.location)

    def find_indexed(self, dataset: Dataset, folder: Path) -> dict[str, Any]:
        found, path = self.document(dataset), folder / "annotations.json"
        path.write_text(json.dumps(found), encoding="utf-8")
        return {"annotations_file": str(path), "file_root": found["root"]}

    def files_in(self, folder: str) -> Iterator[str]:
        return iter(())

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        try:
            files = self.files_of(dataset)
            yield from sorted({os.path.dirname(path) for path in files})
            yield from (path for path in files if not path.lower().endswith(IMAGES))
        except (OSError, ValueError):
            yield dataset.location  # the reader reports the cause


def _stamp(path: str) -> tuple[str, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return path, 0, 0
    return path, found.st_mtime_ns, found.st_size


def _described(dataset: Dataset, error: OSError | ValueError) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        text = f"{error.filename} cannot be read: {error.strerror}."
    if isinstance(error, UnicodeDecodeError):
        text = f"a text file is not UTF-8 ({error})."
    return text if str(dataset) in text else f"{dataset}: {text}"
