"""COCO: images of a folder, with the boxes and classes of an annotations file (.json).

The images are next to the file, in ``images`` there, or in the folder that the file is named after
(``annotations/instances_train2017.json`` and ``train2017`` or ``images/train2017``), or in one of
these a folder above: in the one that has most of them.
"""

from __future__ import annotations

import atexit
import json
import mmap
import os
import pathlib
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.target_faults import box_fault, box_remark, outline_fault

# COCO's annotations as their file has them, and what in them DALI does not read as meant.


class _Document(NamedTuple):
    entries: dict[str, Any]
    is_finite: bool
    """Whether all its numbers are: JSON has no others, and Python writes and reads them."""


@lru_cache(maxsize=2)
def _read(location: str, stamp: int) -> _Document:
    """The annotations of a file that was changed at ``stamp``. Raises DataError."""
    constants: list[float] = []

    def keep(name: str) -> float:
        constants.append(float(name))
        return constants[-1]

    try:
        with open(location, encoding="utf-8") as file:
            found = json.load(file, parse_constant=keep)
    except (OSError, ValueError) as error:
        raise DataError(f"{location} cannot be read as annotations: {error}.") from None
    lacking = [
        key
        for key in ("images", "annotations", "categories")
        if not isinstance(found, dict) or not isinstance(found.get(key), list)
    ]
    if lacking:
        raise DataError(
            f"{location} has no list of {' and of '.join(lacking)}. Give the annotations of a COCO "
            "data set (instances_*.json)."
        )
    return _Document(found, not constants)


def annotations_of(dataset: Dataset) -> dict[str, Any]:
    """What the file says. Raises DataError."""
    return _read(dataset.location, _stamp(dataset)).entries


def _stamp(dataset: Dataset) -> int:
    try:
        return os.stat(dataset.location).st_mtime_ns
    except OSError:
        raise DataError(f"There is no file {dataset}. Give annotations, a .json file.") from None


def faults_of(dataset: Dataset) -> Mapping[Any, str]:
    """By the id of an image: why it, or one of its annotations, cannot be read as it is meant."""
    asked = OUTLINES if dataset.options is None else OUTLINES.intersection(dataset.options)
    return _faults(dataset.location, _stamp(dataset), asked)


@lru_cache(maxsize=4)
def _faults(location: str, stamp: int, outlines: frozenset[str]) -> Mapping[Any, str]:
    """As of ``faults_of``, of a reader with these options."""
    found, is_finite = _read(location, stamp)
    whole = [image for image in found["images"] if not lacking_in(image)]
    sizes = {each["id"]: sides_of(each) for each in whole}
    classes = {category["id"] for category in found["categories"]}
    times = Counter(image["id"] for image in whole)
    faults = {each: f"its id {each} is another's too" for each, n in times.items() if n > 1}
    for number, one in enumerate(found["annotations"]):
        called, category = f"its annotation {one.get('id', number)}", one.get("category_id")
        image_id = one.get("image_id")
        sides = sizes.get(image_id, ())
        if category is None:
            faults.setdefault(image_id, f"{called} has no category_id")
        elif category not in classes:
            shown = f"{called} is of category {category}, which the file does not list"
            faults.setdefault(image_id, shown)
        if fault := box_fault(one.get("bbox"), *(sides or (None, None))):
            faults.setdefault(image_id, f"the box {one.get('bbox')} of {called} {fault}")
        outline = one.get("segmentation") if outlines else None
        is_read = not isinstance(outline, dict) or "pixelwise_masks" in outlines
        if is_read and (fault := outline_fault(outline, sides)):
            faults.setdefault(image_id, f"the segmentation of {called} {fault}")
        if not is_finite and not _is_finite(one):
            faults.setdefault(image_id, f"{called} has a number that is none, NaN or Infinity")
    return faults


def remarks_of(dataset: Dataset) -> Mapping[Any, str]:
    """By the id of an image: the first box over its edge, or without width or height."""
    return _remarks(dataset.location, _stamp(dataset))


@lru_cache(maxsize=4)
def _remarks(location: str, stamp: int) -> Mapping[Any, str]:
    found = _read(location, stamp).entries
    sizes = {each["id"]: sides_of(each) for each in found["images"] if not lacking_in(each)}
    remarks: dict[Any, str] = {}
    for number, one in enumerate(found["annotations"]):
        sides = sizes.get(one.get("image_id"), ()) or (None, None)
        if one.get("image_id") in remarks or box_fault(one.get("bbox"), *sides):
            continue
        if remark := box_remark(one["bbox"], *sides, smallest=_SMALLEST):
            called = f"the box {one['bbox']} of its annotation {one.get('id', number)}"
            remarks[one.get("image_id")] = f"{called} {remark}"
    return remarks


def sides_of(image: dict[str, Any]) -> tuple[int, ...]:
    """Width and height that the entry of an image tells; empty where it does not."""
    sides = image.get("width"), image.get("height")
    return sides if all(_is_whole(side) and side > 0 for side in sides) else ()  # type: ignore


def _is_finite(entries: Any) -> bool:
    """Whether all numbers in them are: at another DALI stops, and gives no box from there on."""
    try:
        json.dumps(entries, allow_nan=False)
    except ValueError:
        return False
    return True


_WHOLE = {
    "images": ("id", "width", "height"),
    "annotations": ("image_id", "category_id", "iscrowd"),
    "categories": ("id",),
}
"""What DALI takes whole numbers of 32 bits for, and how it ends, or leaves all boxes behind out."""
_SMALLEST = 0.1
"""Pixels: DALI's default of ``size_threshold``, below which ``readers.coco`` drops a box."""
_WORDS = (b'"images"', b'"categories"', b'"annotations"', b'"bbox"')
OUTLINES = frozenset({"polygon_masks", "pixelwise_masks"})
"""Options of the reader with which it reads outlines."""
_BY_SIZE = ("ratio", "pixelwise_masks")
"""Those with which it goes by the sizes that the file tells; where one is missing, by another's."""


def require_entries(dataset: Dataset, found: dict[str, Any]) -> None:
    """Raise DataError where an entry has something of a type that DALI does not read.

    Of these DALI names none: at ``"iscrowd": false`` it stops, and gives no box from there on.
    """
    for part, names in _WHOLE.items():
        strange = [each for each in found[part] if not isinstance(each, dict)]
        if strange:
            raise DataError(
                f"{dataset}: {len(strange):,} of its {part} are no objects, the first is "
                f"{json.dumps(strange[0])[:60]}. Remove them."
            )
        wrong = [
            (name, each)
            for each in found[part]
            for name in names
            if name in each and not _is_whole(each[name])
        ]
        if wrong:
            name, entry = wrong[0]
            place = f"{part}[{found[part].index(entry)}]"
            raise DataError(
                f"{dataset}: {name} of {place} is {json.dumps(entry[name])[:60]} ({len(wrong):,} "
                f"such in {part}). DALI reads whole numbers of 32 bits there, and loses all boxes "
                "behind another value. Write whole numbers."
            )
    finite = _read(dataset.location, _stamp(dataset)).is_finite
    for part in () if finite else found.keys() - {"annotations"}:
        if not _is_finite(found[part]):
            raise DataError(
                f"{dataset}: {part} has a number that is none, NaN or Infinity, at which DALI "
                "stops. Write another, or null."
            )
    unnamed = [
        each for each in found["images"] if not isinstance(each.get("file_name", ""), str | None)
    ]
    if unnamed:
        shown = json.dumps(unnamed[0]["file_name"])[:60]
        raise DataError(f"{dataset}: the file_name of an image is {shown}. Write a text.")


def _is_whole(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


def lacking_in(image: dict[str, Any]) -> str:
    """What an entry of an image must have and has not, or empty."""
    return " and no ".join(key for key in ("id", "file_name") if image.get(key) is None)


def known_images(found: dict[str, Any]) -> set[Any]:
    """The ids of the images that can be read."""
    return {image["id"] for image in found["images"] if not lacking_in(image)}


def without_image(found: dict[str, Any]) -> Sample | None:
    """What stands for the annotations of images that the file does not list: DALI skips them."""
    known = known_images(found)
    lost = [one.get("image_id") for one in found["annotations"] if one.get("image_id") not in known]
    if not lost:
        return None
    first = "of none" if lost[0] is None else f"of {lost[0]}"
    fault = f"{len(lost):,} are of images that the file does not list, the first {first}"
    return Sample("", "annotations", 0, fault=fault, counted=False)


def require_sizes(dataset: Dataset, found: dict[str, Any]) -> None:
    """Raise DataError where a reader's options need sizes of images that the file does not tell."""
    asking = [option for option in _BY_SIZE if option in (dataset.options or ())]
    lacking = [
        (number, side)
        for number, image in enumerate(found["images"])
        for side in ("width", "height")
        if image.get(side, 0) < 1
    ]
    if asking and lacking:
        number, side = lacking[0]
        image = found["images"][number]
        said = f"is {image[side]}" if side in image else "is missing"
        count = len({number for number, _ in lacking})
        raise DataError(
            f"{dataset}: {side} of images[{number}] ({image.get('file_name')}) {said}, as of "
            f"{count:,} of {len(found['images']):,} images, and {asking[0]} of the reader goes by "
            f"it. Write width and height in pixels, or take {asking[0]} from the reader."
        )


def folder_of_images(file: pathlib.Path, names: list[str]) -> pathlib.Path:
    """The folder that has most of the images that an annotations file names.

    Looked in: train2017 for annotations/instances_train2017.json, as in COCO, images/train2017,
    images, and the file's own folder, there and one above. Raises FileNotFoundError if none has an
    image.
    """
    split = file.stem.rpartition("_")[2]
    places = (split, f"images/{split}", "images", "")
    folders = [parent / place for parent in file.parents[:2] for place in places]
    counts = [sum((f / name).is_file() for name in names) if f.is_dir() else 0 for f in folders]
    if not any(counts):
        raise FileNotFoundError(f"No image of {file} is in {', '.join(map(str, folders))}")
    return folders[counts.index(max(counts))]


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader: the annotations, and the folder of their images."""
    file = pathlib.Path(data).absolute()
    names = [image.get("file_name") or "" for image in json.loads(file.read_bytes())["images"]]
    return {"annotations_file": data, "file_root": str(folder_of_images(file, names))}


@lru_cache(maxsize=8)
def _root_of(location: str, stamp: int) -> str:
    """The folder that ``find_annotations`` finds, of annotations that are read: 156 MB take 5 s.

    Without an image the annotations' own.
    """
    names = [image.get("file_name") or "" for image in _read(location, stamp).entries["images"]]
    file = pathlib.Path(location).absolute()
    try:
        return str(folder_of_images(file, names))
    except FileNotFoundError:
        return str(file.parent)


def annotation_files(folder: str) -> Iterator[str]:
    """The .json files of a folder, and of ``annotations`` in it, with boxes of images."""
    for place in (folder, os.path.join(folder, "annotations")):
        if not os.path.isdir(place):
            continue
        for name in sorted(os.listdir(place)):
            path = os.path.join(place, name)
            if name.lower().endswith(".json") and os.path.isfile(path) and _lists_boxes(path):
                yield path


def _lists_boxes(path: str) -> bool:
    """Whether a file has the words of COCO's annotations, which takes no reading of its JSON."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return all(text.find(word) >= 0 for word in _WORDS)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return False


class Coco(SourceKind):
    """Images with COCO's annotations."""

    about = "COCO annotations (.json)"
    metavar = "COCO.json"
    op = "readers.coco"
    located_by = frozenset({"annotations_file", "file_root"})
    find = staticmethod(find_annotations)
    helpers: tuple[Any, ...] = (folder_of_images,)
    outputs = ("jpegs", "boxes", "labels")
    imports: tuple[str, ...] = ("json", "pathlib")
    targets = "boxes"
    sample = "coco/annotations.json"
    looks_ahead = True
    demanding = OUTLINES | {"ratio"}

    def require(self, dataset: Dataset) -> None:
        found = annotations_of(dataset)
        require_entries(dataset, found)
        require_sizes(dataset, found)
        try:
            known = known_images(found)
            classes = {category["id"] for category in found["categories"]}
            listed = list(self.list_samples(dataset))
            unnamed = {one.get("category_id") for one in found["annotations"]} - classes - {None}
        except KeyError as error:
            raise DataError(f"{dataset}: a category has no {error}. Write it.") from None
        if found["images"] and not known:
            raise DataError(f"{dataset}: no image has both id and file_name. Write them.")
        if not known and (lost := without_image(found)):
            raise DataError(f"{dataset}: {lost.fault}. List the images.")
        if unnamed and not classes:
            raise DataError(
                f"{dataset}: annotations are of category {next(iter(unnamed))}, and it lists no "
                "categories. Add them."
            )
        named = [each for each in listed if each.path]
        if named and not any(os.path.isfile(each.path) for each in listed):
            root = self.root(dataset)
            _root_of.cache_clear()  # they may be put there now
            raise DataError(
                f"{dataset}: none of its {len(known):,} images is in {root}, the first is "
                f"{named[0].name}. Put them there, or into a folder images next to it."
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """In the order of the file.

        An image is at fault without id or file_name, with the id of another, with a box or an
        outline that cannot be one, or with an annotation of a category that is not listed. So is,
        last, what stands for all annotations of images that are not listed.
        """
        root, found, faults = self.root(dataset), annotations_of(dataset), faults_of(dataset)
        remarks = remarks_of(dataset)
        for number, image in enumerate(found["images"]):
            if lacking := lacking_in(image):
                yield Sample("", f"images[{number}]", 0, fault=f"the entry has no {lacking}")
                continue
            name, fault = image["file_name"], faults.get(image["id"], "")
            remark = remarks.get(image["id"], "")
            path = os.path.join(root, name)
            yield Sample(path, name, 0, fault=fault, sides=sides_of(image), remark=remark)
        if lost := without_image(found):
            yield lost

    def leave_out(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """The annotations of the other images, beside a link to the folder of these."""
        place.mkdir()
        found = annotations_of(dataset)
        images = [
            image
            for image in found["images"]
            if not lacking_in(image) and image["file_name"] not in names
        ]
        known = {image["id"] for image in images}
        annotations = [one for one in found["annotations"] if one.get("image_id") in known]
        os.symlink(os.path.abspath(self.root(dataset)), place / "images")
        path = place / "annotations.json"
        left = {**found, "images": images, "annotations": annotations}
        path.write_text(json.dumps(left), encoding="utf-8")
        return path

    def root(self, dataset: Dataset) -> str:
        try:
            return _root_of(dataset.location, _stamp(dataset))
        except (DataError, OSError, ValueError, TypeError, AttributeError):
            return os.path.dirname(os.path.abspath(dataset.location))

    def class_names(self, dataset: Dataset) -> list[str]:
        """DALI numbers the categories from 1, in the order in which the file lists them."""
        listed = annotations_of(dataset)["categories"]
        return ["background", *(str(category.get("name") or category["id"]) for category in listed)]

    def class_counts(self, dataset: Dataset) -> list[int]:
        """Annotations of each category, of those that the file lists."""
        found = annotations_of(dataset)
        times = Counter(one.get("category_id") for one in found["annotations"])
        return [0, *(times[category["id"]] for category in found["categories"])]

    def without_targets(self, dataset: Dataset) -> int:
        """Images that the file lists, and no annotation."""
        found = annotations_of(dataset)
        return len(known_images(found) - {one.get("image_id") for one in found["annotations"]})

    def files_in(self, folder: str) -> Iterator[str]:
        return annotation_files(folder)

    def has_unread_masks(self, dataset: Dataset) -> bool:
        if OUTLINES.intersection(dataset.options or ()):
            return False
        return any(one.get("segmentation") for one in annotations_of(dataset)["annotations"])

    def nothing_found(self, dataset: Dataset) -> str:
        images = annotations_of(dataset)["images"]
        if not images:
            return f"{dataset} lists no images. Add them."
        return (
            f"{dataset}: none of its {len(images):,} images has an annotation, and images without "
            "one are skipped. Add annotations, or take skip_empty from the reader."
        )

    def accepts(self, path: Path) -> bool:
        return path.suffix.lower() == ".json" and not os.path.isdir(path)

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "annotations.json"
        image = {"id": 1, "file_name": path.name, "width": 1, "height": 1}  # a file that is there
        placeholder = {"images": [image], "annotations": [], "categories": []}
        path.write_text(json.dumps(placeholder), encoding="utf-8")
        return path


# Key points of COCO: annotations in a file that has ``keypoints`` in its name.
#
# As COCO, whose reader knows no key points, but gives outlines: with ``polygon_masks`` the corners
# of those in the file are ``vertices``, point for point in their order. So the reader is given the
# same annotations with the key points in the place of outlines, in a temporary file. A key point
# that is not labelled lies far outside of the image, and is therefore never visible.


def keypoints_as_polygons(data: str) -> str:
    """Annotations whose polygons are the key points: DALI's COCO reader has no key points."""
    annotations = json.loads(pathlib.Path(data).read_bytes())
    for annotation in annotations["annotations"]:
        points = np.array(annotation["keypoints"]).reshape(-1, 3)
        points[points[:, 2] == 0] = -1e6  # not labelled: so far outside, it is never visible
        annotation["segmentation"] = [points[:, :2].ravel().tolist()]
    return json.dumps(annotations)


def find_keypoints(data: str) -> dict[str, str]:
    """Arguments of the COCO reader; the annotations are a temporary copy with key points."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as copy:
        copy.write(keypoints_as_polygons(data))
    atexit.register(pathlib.Path(copy.name).unlink, missing_ok=True)
    return {**find_annotations(data), "annotations_file": copy.name}


def _has_points(points: Any) -> bool:
    return isinstance(points, list) and len(points) >= 9 and len(points) % 3 == 0


class CocoKeypoints(Coco):
    """COCO's key points, read as outlines."""

    about = "COCO key points (*keypoints*.json)"
    begins: ClassVar = {"polygon_masks": True}
    find = staticmethod(find_keypoints)
    helpers = (folder_of_images, find_annotations, keypoints_as_polygons)
    imports = ("atexit", "json", "numpy as np", "pathlib", "tempfile")
    is_indexed = True
    precedence = 4
    sample = "coco/keypoints.json"

    def require(self, dataset: Dataset) -> None:
        super().require(dataset)
        annotations = annotations_of(dataset)["annotations"]
        bad = [one for one in annotations if not _has_points(one.get("keypoints"))]
        if bad:
            raise DataError(
                f"{dataset}: {len(bad):,} annotations have no key points, the first of image "
                f"{bad[0].get('image_id')}. Write three or more of three numbers each, or leave "
                "keypoints out of the file's name."
            )

    def find_indexed(self, dataset: Dataset, folder: Path) -> dict[str, Any]:
        """What ``find`` gives; the copy is in the given folder, which a preview removes."""
        path = folder / "annotations.json"
        path.write_text(keypoints_as_polygons(dataset.location), encoding="utf-8")
        return {"annotations_file": str(path), "file_root": self.root(dataset)}

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """As of COCO, but for the outlines in the file, which are not read."""
        asked = tuple(option for option in dataset.options or () if option not in OUTLINES)
        return super().list_samples(replace(dataset, options=asked))

    def has_unread_masks(self, dataset: Dataset) -> bool:
        return False  # what it reads as outlines are points

    def key_point_names(self, dataset: Dataset) -> list[str]:
        categories = annotations_of(dataset)["categories"]
        listed = [
            each["keypoints"] for each in categories if isinstance(each.get("keypoints"), list)
        ]
        return list(dict.fromkeys(str(name) for names in listed for name in names))

    def accepts(self, path: Path) -> bool:
        return super().accepts(path) and "keypoints" in path.name


SOURCES = {"coco": Coco(), "coco_keypoints": CocoKeypoints()}
