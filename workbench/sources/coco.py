"""COCO: images of a folder, with the boxes and classes of an annotations file (.json).

The images lie beside the file, in ``images`` there or one folder above, or in the folder that the
file is named after: ``annotations/instances_train2017.json`` and ``train2017``.
"""

from __future__ import annotations

import json
import math
import os
import pathlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind


def find_annotations(data: str) -> dict[str, str]:
    """Arguments of the COCO reader for a file of annotations: the file, and its images' folder."""
    file = pathlib.Path(data).absolute()
    names = [i.get("file_name", "") for i in json.loads(file.read_bytes())["images"]]
    beside, above, split = file.parent, file.parent.parent, file.stem.rpartition("_")[2]
    folders = (beside, beside / "images", above / "images", above / split, beside / split)
    found = max(folders, key=lambda f: sum((f / name).is_file() for name in names[:100]))
    return {"annotations_file": data, "file_root": str(found)}


@lru_cache(maxsize=2)
def _read(location: str, stamp: int) -> dict[str, Any]:
    """The annotations of a file that was changed at ``stamp``. Raises DataError."""
    try:
        with open(location, encoding="utf-8") as file:
            found = json.load(file)
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
    return dict(found)


def annotations_of(dataset: Dataset) -> dict[str, Any]:
    """What the file says. Raises DataError."""
    try:
        stamp = os.stat(dataset.location).st_mtime_ns
    except OSError:
        raise DataError(f"There is no file {dataset}. Give annotations, a .json file.") from None
    return _read(dataset.location, stamp)


_WHOLE = {
    "images": ("id", "width", "height"),
    "annotations": ("image_id", "category_id", "iscrowd"),
    "categories": ("id",),
}
"""What DALI takes whole numbers of 32 bits for, and how it ends, or leaves all boxes behind out."""


def _require(dataset: Dataset) -> None:
    found = annotations_of(dataset)
    _require_entries(dataset, found)
    try:
        known = _known(found)
        classes = {category["id"] for category in found["categories"]}
        listed = list(_list_samples(dataset))
        unnamed = {one.get("category_id") for one in found["annotations"]} - classes - {None}
    except KeyError as error:
        raise DataError(f"{dataset}: a category has no {error}. Write it.") from None
    if found["images"] and not known:
        raise DataError(f"{dataset}: no image has both id and file_name. Write them.")
    if not known and (lost := _without_image(found)):
        raise DataError(f"{dataset}: {lost.fault}. List the images.")
    if unnamed and not classes:
        raise DataError(
            f"{dataset}: annotations are of category {next(iter(unnamed))}, and it lists no "
            "categories. Add them."
        )
    named = [each for each in listed if each.path]
    if named and not any(os.path.isfile(each.path) for each in listed):
        root = _root(dataset)
        _root_of.cache_clear()  # they may be put there now
        raise DataError(
            f"{dataset}: none of its {len(known):,} images is in {root}, the first is "
            f"{named[0].name}. Put them there, or into a folder images beside."
        )


def _require_entries(dataset: Dataset, found: dict[str, Any]) -> None:
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
    unnamed = [
        each for each in found["images"] if not isinstance(each.get("file_name", ""), str | None)
    ]
    if unnamed:
        shown = json.dumps(unnamed[0]["file_name"])[:60]
        raise DataError(f"{dataset}: the file_name of an image is {shown}. Write a text.")


def _is_whole(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    """In the order of the file.

    At fault is an image without id or file_name, with a box that cannot be one, with an annotation
    of a category that is not listed, or with the id of another. So is, last, what stands for all
    annotations of images that are not listed.
    """
    root, found = _root(dataset), annotations_of(dataset)
    whole = [image for image in found["images"] if not _lacking(image)]
    sizes = {each["id"]: (each.get("width"), each.get("height")) for each in whole}
    classes = {category["id"] for category in found["categories"]}
    times = Counter(image["id"] for image in whole)
    faults = {each: f"its id {each} is another's too" for each, n in times.items() if n > 1}
    for number, one in enumerate(found["annotations"]):
        called, category = f"its annotation {one.get('id', number)}", one.get("category_id")
        image_id = one.get("image_id")
        if category is None:
            faults.setdefault(image_id, f"{called} has no category_id")
        elif category not in classes:
            shown = f"{called} is of category {category}, which the file does not list"
            faults.setdefault(image_id, shown)
        if fault := box_fault(one.get("bbox"), *sizes.get(image_id, (None, None))):
            faults.setdefault(image_id, f"the box {one.get('bbox')} of {called} {fault}")
    for number, image in enumerate(found["images"]):
        if lacking := _lacking(image):
            yield Sample("", f"images[{number}]", 0, fault=f"the entry has no {lacking}")
            continue
        name, fault = image["file_name"], faults.get(image["id"], "")
        sides = sizes[image["id"]] if None not in sizes[image["id"]] else ()
        yield Sample(os.path.join(root, name), name, 0, fault=fault, sides=sides)
    if lost := _without_image(found):
        yield lost


def _lacking(image: dict[str, Any]) -> str:
    """What an entry of an image must have and has not, or empty."""
    return " and no ".join(key for key in ("id", "file_name") if image.get(key) is None)


def _known(found: dict[str, Any]) -> set[Any]:
    """The ids of the images that can be read."""
    return {image["id"] for image in found["images"] if not _lacking(image)}


def _without_image(found: dict[str, Any]) -> Sample | None:
    """What stands for the annotations of images that the file does not list: DALI skips them."""
    known = _known(found)
    lost = [one.get("image_id") for one in found["annotations"] if one.get("image_id") not in known]
    if not lost:
        return None
    first = "of none" if lost[0] is None else f"of {lost[0]}"
    fault = f"{len(lost):,} are of images that the file does not list, the first {first}"
    return Sample("", "annotations", 0, fault=fault)


def box_fault(box: Any, width: float | None, height: float | None) -> str:
    """What is wrong with a box (left, top, width, height in pixels); empty for nothing.

    One that ends outside of its image is cut there by what draws it, and usual in COCO.
    """
    if not isinstance(box, list) or len(box) != 4:
        return "is not four numbers"
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in box):
        return "has a number that is none"
    left, top, wide, high = box
    if wide < 0 or high < 0:
        return "has a negative size"
    over = (width is not None and left >= width) or (height is not None and top >= height)
    return "lies outside the image" if over or left + wide < 0 or top + high < 0 else ""


def _leave_out(dataset: Dataset, names: Collection[str], folder: Path) -> Path:
    """The annotations of the other images, beside a link to the folder of these."""
    found = annotations_of(dataset)
    images = [
        image
        for image in found["images"]
        if not _lacking(image) and image["file_name"] not in names
    ]
    known = {image["id"] for image in images}
    annotations = [one for one in found["annotations"] if one.get("image_id") in known]
    os.symlink(os.path.abspath(_root(dataset)), folder / "images")
    path = folder / "annotations.json"
    left = {**found, "images": images, "annotations": annotations}
    path.write_text(json.dumps(left), encoding="utf-8")
    return path


@lru_cache(maxsize=8)
def _root_of(location: str) -> str:
    return str(find_annotations(location)["file_root"])


def _root(dataset: Dataset) -> str:
    try:
        return _root_of(dataset.location)
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return os.path.dirname(os.path.abspath(dataset.location))


def _class_names(dataset: Dataset) -> list[str]:
    """DALI numbers the categories from 1, in the order in which the file lists them."""
    listed = annotations_of(dataset)["categories"]
    return ["background", *(str(category.get("name") or category["id"]) for category in listed)]


def _class_counts(dataset: Dataset) -> list[int]:
    """Annotations of each category, of those that the file lists."""
    found = annotations_of(dataset)
    times = Counter(one.get("category_id") for one in found["annotations"])
    return [0, *(times[category["id"]] for category in found["categories"])]


def _without_targets(dataset: Dataset) -> int:
    """Images that the file lists, and no annotation."""
    found = annotations_of(dataset)
    return len(_known(found) - {one.get("image_id") for one in found["annotations"]})


def _nothing_found(dataset: Dataset) -> str:
    images = annotations_of(dataset)["images"]
    if not images:
        return f"{dataset} lists no images. Add them."
    return (
        f"{dataset}: none of its {len(images):,} images has an annotation, and images without one "
        "are skipped. Add annotations, or take skip_empty from the reader."
    )


def _accepts(path: Path) -> bool:
    return path.suffix.lower() == ".json" and not os.path.isdir(path)


def _write_placeholder(folder: Path) -> Path:
    path = folder / "annotations.json"
    path.write_text('{"images": [], "annotations": [], "categories": []}', encoding="utf-8")
    return path


SOURCE = SourceKind(
    about="COCO annotations (.json)",
    metavar="COCO.json",
    op="readers.coco",
    located_by=frozenset({"annotations_file", "file_root"}),
    find=find_annotations,
    outputs=("jpegs", "boxes", "labels"),
    imports=("json", "pathlib"),
    accepts=_accepts,
    require=_require,
    list_samples=_list_samples,
    leave_out=_leave_out,
    root=_root,
    class_names=_class_names,
    class_counts=_class_counts,
    without_targets=_without_targets,
    targets="boxes",
    watched=lambda dataset: iter([dataset.location]),
    nothing_found=_nothing_found,
    sample="coco/annotations.json",
    looks_ahead=True,
    write_placeholder=_write_placeholder,
)
