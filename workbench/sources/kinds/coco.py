"""Read COCO data: images of a folder, with the boxes and classes of an annotations file (.json).

The image folder is the folder of the annotations file, its subfolder ``images``, a folder that the
file is named after (``annotations/instances_train2017.json``: ``train2017`` or
``images/train2017``), or one of these one level up. The one with the most images is used.
"""

from __future__ import annotations

import atexit
import json
import mmap
import os
import pathlib
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind, folder_of
from workbench.sources.annotation_faults import box_fault, box_remark, outline_fault
from workbench.sources.class_folders import describe_unlisted
from workbench.sources.file_names import is_hidden
from workbench.sources.kinds._sampler import Sampler

# COCO annotations as stored, and content that DALI misreads.


class _Document(NamedTuple):
    entries: dict[str, Any]
    is_finite: bool
    """Whether all numbers are finite, as JSON requires. Python also writes and reads NaN and
    infinity."""


@lru_cache(maxsize=2)
def _read(location: str, stamp: int) -> _Document:
    """Parse an annotations file that was modified at ``stamp``, or raise DataError."""
    constants: list[float] = []

    def keep(name: str) -> float:
        constants.append(float(name))
        return constants[-1]

    try:
        with open(location, encoding="utf-8") as file:
            found = json.load(file, parse_constant=keep)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{location} cannot be read as annotations: {error}. Use COCO annotations "
            "(instances_*.json)."
        ) from None
    lacking = [
        key
        for key in ("images", "annotations", "categories")
        if not isinstance(found, dict) or not isinstance(found.get(key), list)
    ]
    if lacking:
        raise DataError(
            f"{location} has no list{'s' * (len(lacking) > 1)} named "
            f"{', '.join(map(repr, lacking))}. Use COCO annotations (instances_*.json)."
        )
    return _Document(found, not constants)


def annotations_of(dataset: Dataset) -> dict[str, Any]:
    """Return the parsed annotations file. Raises DataError if it is invalid."""
    return _read(dataset.location, _stamp(dataset)).entries


def _stamp(dataset: Dataset) -> int:
    try:
        return os.stat(dataset.location).st_mtime_ns
    except OSError:
        raise DataError(f"There is no file {dataset}. Use an annotations file (.json).") from None


def faults_of(dataset: Dataset) -> Mapping[Any, str]:
    """Describe the faults of images and their annotations, by image id."""
    requested = OUTLINES if dataset.options is None else OUTLINES.intersection(dataset.options)
    return _faults(dataset.location, _stamp(dataset), requested)


@lru_cache(maxsize=4)
def _faults(location: str, stamp: int, outlines: frozenset[str]) -> Mapping[Any, str]:
    """Describe faults as ``faults_of`` does, for a reader with the options ``outlines``."""
    found, is_finite = _read(location, stamp)
    whole = [image for image in found["images"] if not missing_fields(image)]
    sizes = {each["id"]: sides_of(each) for each in whole}
    classes = {category["id"] for category in found["categories"]}
    times = Counter(image["id"] for image in whole)
    faults = {each: f"its id {each} is used by another image" for each, n in times.items() if n > 1}
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
            faults.setdefault(image_id, f"{called} has a NaN or infinite number")
    return faults


def box_remarks(dataset: Dataset) -> Mapping[Any, str]:
    """Describe the first box of each image that is beyond the edge or has no area, by image id."""
    return _remarks(dataset.location, _stamp(dataset))


@lru_cache(maxsize=4)
def _remarks(location: str, stamp: int) -> Mapping[Any, str]:
    return remarks_of(_read(location, stamp).entries)


def remarks_of(found: dict[str, Any]) -> dict[Any, str]:
    """Describe the first box of each image that is beyond the edge or has no area (parsed file)."""
    sizes = {each["id"]: sides_of(each) for each in found["images"] if not missing_fields(each)}
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
    """Return the width and height of an image entry, or () if they are missing or invalid."""
    sides = image.get("width"), image.get("height")
    return sides if all(_is_whole(side) and side > 0 for side in sides) else ()  # type: ignore


def _is_finite(entries: Any) -> bool:
    """Return whether all numbers are finite. DALI outputs no boxes after NaN or infinity."""
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
"""Fields that must be 32-bit integers. For other values DALI stops, or skips all further boxes."""
_SMALLEST = 0.1
"""Size in pixels below which ``readers.coco`` drops a box (DALI's default ``size_threshold``)."""
_WORDS = (b'"images"', b'"categories"', b'"annotations"', b'"bbox"')
OUTLINES = frozenset({"polygon_masks", "pixelwise_masks"})
"""Reader options with which ``readers.coco`` reads outlines."""
_BY_SIZE = ("ratio", "pixelwise_masks")
"""Reader options for which ``readers.coco`` uses the image sizes in the file. If a size is missing,
the reader uses the size of another image."""


def require_entries(dataset: Dataset, entries: dict[str, Any]) -> None:
    """Raise DataError if an entry has a value of a type that DALI does not read.

    DALI does not report such values: at ``"iscrowd": false`` it stops and outputs no further boxes.
    """
    for part, names in _WHOLE.items():
        strange = [each for each in entries[part] if not isinstance(each, dict)]
        if strange:
            raise DataError(
                f"{dataset}: {len(strange):,} of {len(entries[part]):,} entries of {part!r} are "
                f"not objects (first: {json.dumps(strange[0])[:60]}). Remove them."
            )
        wrong = [
            (name, each)
            for each in entries[part]
            for name in names
            if name in each and not _is_whole(each[name])
        ]
        if wrong:
            name, entry = wrong[0]
            place = f"{part}[{entries[part].index(entry)}]"
            raise DataError(
                f"{dataset}: the {name} of {place} is {json.dumps(entry[name])[:60]}, and DALI "
                f"drops all boxes after such an entry ({len(wrong):,} in {part!r}). Use 32-bit "
                "integers."
            )
    finite = _read(dataset.location, _stamp(dataset)).is_finite
    for part in () if finite else entries.keys() - {"annotations"}:
        if not _is_finite(entries[part]):
            raise DataError(
                f"{dataset}: {part!r} contains a NaN or infinite number, at which DALI stops. Use "
                "a finite number or null."
            )
    unnamed = [
        each for each in entries["images"] if not isinstance(each.get("file_name", ""), str | None)
    ]
    if unnamed:
        shown = json.dumps(unnamed[0]["file_name"])[:60]
        raise DataError(f"{dataset}: the file_name of an image is {shown}. Use a string.")


def _is_whole(value: Any) -> bool:
    return type(value) is int and -(2**31) <= value < 2**31


def missing_fields(image: dict[str, Any]) -> str:
    """Return the required fields that an image entry lacks, as text, or an empty string."""
    return " and no ".join(key for key in ("id", "file_name") if image.get(key) is None)


def known_images(entries: dict[str, Any]) -> set[Any]:
    """Return the ids of the image entries that have all required fields."""
    return {image["id"] for image in entries["images"] if not missing_fields(image)}


def without_image(entries: dict[str, Any]) -> Sample | None:
    """Return a faulty sample for the annotations of unlisted images (DALI skips them), or None."""
    known = known_images(entries)
    lost = [
        one.get("image_id") for one in entries["annotations"] if one.get("image_id") not in known
    ]
    if not lost:
        return None
    belong = "belongs to an image" if len(lost) == 1 else "belong to images"
    first = "no image_id" if lost[0] is None else f"image {lost[0]}"
    fault = f"{len(lost):,} {belong} that the file does not list (first: {first})"
    return Sample("", "annotations", 0, fault=fault, counted=False)


def require_sizes(dataset: Dataset, entries: dict[str, Any]) -> None:
    """Raise DataError if the reader's options need image sizes that the file lacks."""
    options = [option for option in _BY_SIZE if option in (dataset.options or ())]
    lacking = [
        (number, side)
        for number, image in enumerate(entries["images"])
        for side in ("width", "height")
        if image.get(side, 0) < 1
    ]
    if options and lacking:
        number, side = lacking[0]
        image = entries["images"][number]
        fault = f"is {image[side]}" if side in image else "is missing"
        count = len({number for number, _ in lacking})
        raise DataError(
            f"{dataset}: the {side} of images[{number}] ({image.get('file_name')}) {fault}, but "
            f"the reader's argument {options[0]!r} requires it. Add 'width' and 'height' in "
            f"pixels ({count:,} of {len(entries['images']):,} images lack them), or unset "
            f"{options[0]!r}."
        )


def find_annotations(data: str) -> dict[str, str]:
    """Return the arguments of the COCO reader: the annotations file and the folder of its images.

    For annotations/instances_train2017.json the folders train2017, images/train2017, images and the
    file's own folder are searched, there and one level up; the one with the most images is used.
    Raises FileNotFoundError if none of these has an image.
    """
    file = pathlib.Path(data).absolute()
    names = [image.get("file_name") or "" for image in json.loads(file.read_bytes())["images"]]
    places = (split := file.stem.rpartition("_")[2], f"images/{split}", "images", "")
    folders = [parent / place for parent in file.parents[:2] for place in places]
    found = {f: f.is_dir() and sum((f / name).is_file() for name in names) for f in folders}
    if not any(found.values()):
        raise FileNotFoundError(f"No image of {data} is in {', '.join(map(str, folders))}")
    return {"annotations_file": data, "file_root": str(max(folders, key=found.__getitem__))}


def read_sampled_annotations(
    name: str,
    annotations_file: str,
    file_root: str,
    *,
    ratio: bool = False,
    ltrb: bool = False,
    skip_empty: bool = False,
    include_iscrowd: bool = True,
    avoid_class_remapping: bool = False,
    size_threshold: float = 0.1,
    **options: Any,
) -> Any:
    """Return encoded images, boxes and labels in the order of a sampler, as ``readers.coco``."""
    found = json.loads(pathlib.Path(annotations_file).read_bytes())
    numbers = {each["id"]: at for at, each in enumerate(found["categories"], start=1)}
    rows: dict[int, list[Any]] = {each["id"]: [] for each in found["images"]}
    for one in found["annotations"]:
        *_, width, height = one["bbox"]
        wanted = include_iscrowd or not one.get("iscrowd")
        if wanted and min(width, height) >= size_threshold and one["image_id"] in rows:
            rows[one["image_id"]].append(one)
    images = sorted(found["images"], key=lambda each: each["id"])
    images = [each for each in images if rows[each["id"]] or not skip_empty]
    sampler = Sampler(len(images), **options)
    sampler.name_files(name, [each["file_name"] for each in images])

    def boxes_of(places: Any) -> list[Any]:
        batch = []
        for image in (images[place] for place in places):
            boxes = np.array([one["bbox"] for one in rows[image["id"]]], np.float32).reshape(-1, 4)
            if ltrb:
                boxes[:, 2:] += boxes[:, :2]
            if ratio:
                sides = [image["width"], image["height"]]
                boxes /= np.array(sides * 2, np.float32)
            batch.append(boxes)
        return batch

    def labels_of(places: Any) -> list[Any]:
        found = ([one["category_id"] for one in rows[images[place]["id"]]] for place in places)
        if not avoid_class_remapping:
            found = ([numbers[each] for each in ids] for ids in found)
        return [np.array(ids, np.int32) for ids in found]

    encoded = sampler.read_files([each["file_name"] for each in images], file_root)
    return encoded, sampler.output(boxes_of), sampler.output(labels_of)


@lru_cache(maxsize=8)
def _root_of(location: str, stamp: int) -> str:
    """Return the same image folder as ``find_annotations``, using cached annotations.

    Parsing 156 MB takes 5 s. If no image is found, the folder of the annotations file is returned.
    """
    names = [image.get("file_name") or "" for image in _read(location, stamp).entries["images"]]
    file = pathlib.Path(location).absolute()
    places = (split := file.stem.rpartition("_")[2], f"images/{split}", "images", "")
    folders = [parent / place for parent in file.parents[:2] for place in places]
    found = {f: f.is_dir() and sum((f / name).is_file() for name in names) for f in folders}
    return str(max(folders, key=found.__getitem__) if any(found.values()) else file.parent)


def annotation_files(folder: str) -> Iterator[str]:
    """Yield the .json files with boxes in a folder and its subfolder ``annotations``."""
    for place in (folder, os.path.join(folder, "annotations")):
        if not os.path.isdir(place):
            continue
        for name in sorted(os.listdir(place)):
            path = os.path.join(place, name)
            named = name.lower().endswith(".json") and not is_hidden(name)
            if named and os.path.isfile(path) and _lists_boxes(path, os.stat(path).st_mtime_ns):
                yield path


@lru_cache(maxsize=64)
def _lists_boxes(path: str, stamp: int) -> bool:
    """Return whether a file contains the keys of COCO annotations, without parsing it."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            return all(text.find(word) >= 0 for word in _WORDS)
    except (OSError, ValueError):  # an empty file cannot be mapped
        return False


class Coco(SourceKind):
    """Source kind for images with COCO annotations."""

    about = "COCO annotations (.json)"
    metavar = "COCO.json"
    op = "readers.coco"
    located_by = frozenset({"annotations_file", "file_root"})
    find = staticmethod(find_annotations)
    outputs = ("jpegs", "boxes", "labels")
    sampled: Callable[..., Any] | None = staticmethod(read_sampled_annotations)
    sampler_helpers = (Sampler,)
    sampler_options = frozenset({"ratio", "ltrb", "skip_empty", "include_iscrowd"}) | {
        *("avoid_class_remapping", "size_threshold")
    }
    imports: tuple[str, ...] = ("json", "pathlib")
    targets = "boxes"
    sample = "coco/annotations.json"
    looks_ahead = True
    demanding = OUTLINES | {"ratio"}
    polygons = "outlines"

    def document(self, dataset: Dataset) -> dict[str, Any]:
        """Return the annotations. Raises DataError if they are invalid."""
        return annotations_of(dataset)

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
            raise DataError(f"{dataset}: a category has no field {error}. Add it.") from None
        if found["images"] and not known:
            raise DataError(
                f"{dataset}: no entry of 'images' has both 'id' and 'file_name'. Add them."
            )
        if not known and without_image(found):
            lost = f"{len(found['annotations']):,} annotations"
            raise DataError(f'{dataset}: "images" is empty, but there are {lost}. Add the images.')
        if unnamed and not classes:
            raise DataError(
                f"{dataset}: annotations use category {next(iter(unnamed))}, but 'categories' is "
                "missing or empty. Add the categories."
            )
        named = [each for each in listed if each.path]
        if named and not any(os.path.isfile(each.path) for each in listed):
            root = self.root(dataset)
            _root_of.cache_clear()  # they may be added later
            raise DataError(
                f"{dataset}: none of its {len(known):,} images (first: {named[0].name}) is in "
                f"{root}. Put them there, or in a folder named images next to it."
            )

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples in file order.

        An image is faulty if it lacks id or file_name, shares its id, or has an invalid box, an
        invalid outline, or an annotation of an unlisted category. A final faulty sample represents
        all annotations of unlisted images.
        """
        root, found, faults = self.root(dataset), annotations_of(dataset), faults_of(dataset)
        remarks = box_remarks(dataset)
        for number, image in enumerate(found["images"]):
            if lacking := missing_fields(image):
                yield Sample("", f"images[{number}]", 0, fault=f"the entry has no {lacking}")
                continue
            name, fault = image["file_name"], faults.get(image["id"], "")
            remark = remarks.get(image["id"], "")
            path = os.path.join(root, name)
            yield Sample(path, name, 0, fault=fault, sides=sides_of(image), remark=remark)
        if lost := without_image(found):
            yield lost

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write the annotations of the remaining images, with a link to the image folder."""
        place.mkdir()
        found = annotations_of(dataset)
        images = [each for each in found["images"] if not missing_fields(each)]
        images = [each for each in images if each["file_name"] not in names]
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
        """Return the category names in file order. DALI numbers them from 1."""
        listed = self.document(dataset)["categories"]
        return ["background", *(str(category.get("name") or category["id"]) for category in listed)]

    def class_counts(self, dataset: Dataset) -> list[int]:
        found = self.document(dataset)
        times = Counter(one.get("category_id") for one in found["annotations"])
        return [0, *(times[category["id"]] for category in found["categories"])]

    def without_targets(self, dataset: Dataset) -> int:
        """Return the number of listed images without annotations."""
        found = self.document(dataset)
        return len(known_images(found) - {one.get("image_id") for one in found["annotations"]})

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        images = [each.get("file_name") or "" for each in self.document(dataset)["images"]]
        watched = self.watched_paths(dataset)
        yield from describe_unlisted(folder_of(dataset), self.root(dataset), images, watched)

    def files_in(self, folder: str) -> Iterator[str]:
        return annotation_files(folder)

    def has_unread_masks(self, dataset: Dataset) -> bool:
        if OUTLINES.intersection(dataset.options or ()):
            return False
        return any(one.get("segmentation") for one in self.document(dataset)["annotations"])

    def nothing_found(self, dataset: Dataset) -> str:
        images = self.document(dataset)["images"]
        if not images:
            return f"{dataset} lists no images. Add them."
        return (
            f"{dataset}: none of its {len(images):,} images has an annotation, and the reader's "
            "argument 'skip_empty' skips such images. Add annotations, or reset 'skip_empty'."
        )

    def accepts(self, path: Path) -> bool:
        return path.suffix.lower() == ".json" and not os.path.isdir(path)

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "annotations.json"
        image = {"id": 1, "file_name": path.name, "width": 1, "height": 1}  # the file exists
        placeholder = {"images": [image], "annotations": [], "categories": []}
        path.write_text(json.dumps(placeholder), encoding="utf-8")
        return path


# COCO key points: annotations in a file with ``keypoints`` in its name.
#
# DALI's COCO reader has no key points but outputs outlines: with ``polygon_masks`` the polygon
# corners are ``vertices``, in file order. The reader therefore receives a temporary copy of the
# annotations with key points in place of outlines. Unlabelled key points lie far outside the image,
# so they are never visible.


def keypoints_as_polygons(data: str) -> str:
    """Return the annotations as JSON, with key points as polygons, which DALI's reader supports."""
    annotations = json.loads(pathlib.Path(data).read_bytes())
    for annotation in annotations["annotations"]:
        points = np.array(annotation["keypoints"]).reshape(-1, 3)
        points[points[:, 2] == 0] = -1e6  # unlabelled: far outside, so never visible
        annotation["segmentation"] = [points[:, :2].ravel().tolist()]
    return json.dumps(annotations)


def find_keypoints(data: str) -> dict[str, str]:
    """Copy the annotations with key points as polygons, and return the COCO reader's arguments."""
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as copy:
        copy.write(keypoints_as_polygons(data))
    atexit.register(pathlib.Path(copy.name).unlink, missing_ok=True)
    return {**find_annotations(data), "annotations_file": copy.name}


def _has_points(points: Any) -> bool:
    return isinstance(points, list) and len(points) >= 9 and len(points) % 3 == 0


class CocoKeypoints(Coco):
    """Source kind for COCO key points, read as outlines because DALI's reader has no key points."""

    about = "COCO key points (*keypoints*.json)"
    begins: ClassVar = {"polygon_masks": True}
    polygons = "key points"
    find = staticmethod(find_keypoints)
    sampled = None
    helpers = (find_annotations, keypoints_as_polygons)
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
                f"{dataset}: no valid key points in {len(bad):,} of {len(annotations):,} "
                f"annotations (first: image {bad[0].get('image_id')}). Add three or more "
                "(x, y, visibility) to each, or rename the file: 'keypoints' in its name selects "
                "this format."
            )

    def find_indexed(self, dataset: Dataset, folder: Path) -> dict[str, Any]:
        """Write the converted annotations to ``folder``, and return the reader arguments."""
        path = folder / "annotations.json"
        path.write_text(keypoints_as_polygons(dataset.location), encoding="utf-8")
        return {"annotations_file": str(path), "file_root": self.root(dataset)}

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the same samples as ``Coco``, but ignore faults of outlines."""
        requested = tuple(option for option in dataset.options or () if option not in OUTLINES)
        return super().list_samples(replace(dataset, options=requested))

    def has_unread_masks(self, dataset: Dataset) -> bool:
        return False  # its polygons are key points

    def key_point_names(self, dataset: Dataset) -> list[str]:
        categories = self.document(dataset)["categories"]
        listed = [
            each["keypoints"] for each in categories if isinstance(each.get("keypoints"), list)
        ]
        return list(dict.fromkeys(str(name) for names in listed for name in names))

    def key_point_pairs(self, dataset: Dataset) -> list[tuple[str, str]]:
        count = len(self.key_point_names(dataset))
        annotations = annotations_of(dataset)["annotations"]
        alike = all(len(one.get("keypoints") or ()) == 3 * count for one in annotations)
        return super().key_point_pairs(dataset) if alike else []

    def accepts(self, path: Path) -> bool:
        return super().accepts(path) and "keypoints" in path.name


SOURCES = {"coco": Coco(), "coco_keypoints": CocoKeypoints()}
