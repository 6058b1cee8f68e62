"""COCO's annotations as their file has them, and what in them DALI does not read as meant."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.target_faults import box_fault, box_remark, outline_fault


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
