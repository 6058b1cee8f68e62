"""Define ``VersionFormat``, and encode samples to the parts that all formats store."""

from __future__ import annotations

import hashlib
import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from workbench.errors import DataError
from workbench.versions.outputs import RenderedSample, Roles
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.records import SampleRecord

_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*%]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
_MOST_BYTES = 200
"""Maximum length of a file name made of a class name, in bytes. File systems allow 255."""
Parts = Mapping[str, bytes]
"""The encoded parts of a sample, by file ending: ``png``, ``masks.png``, ``cls``, ``json``."""


@dataclass(frozen=True, slots=True)
class EncodedSample:
    """A sample whose pictures are encoded, ready to be written.

    ``pictures`` maps the endings of pictures to the names of their outputs. ``objects`` are COCO
    annotations without ids, or None if the graph has no objects.
    """

    sample: RenderedSample
    parts: Parts
    pictures: Mapping[str, str]
    objects: Sequence[Mapping[str, Any]] | None
    roles: Roles

    hashes: Mapping[str, str]
    """SHA-256 of each part, by ending."""

    def with_parts(self, parts: Parts) -> EncodedSample:
        """Return a copy that is stored as other parts."""
        return replace(self, parts=parts, hashes=_hashes(parts))


class VersionFormat(ABC):
    """One way to store a version: writes a shard's samples to files and reads them back."""

    name: str
    extra = ""
    """Name of the package that writing needs, or empty."""
    picture = ""
    """Name of the part with the first picture; empty if it is the file ending."""
    file_per_picture = False
    """Whether each picture is a file, and not each shard."""

    @abstractmethod
    def require(self, roles: Roles, plan: VersionPlan) -> None:
        """Raise ArgumentError if the format cannot contain an output, with the fix."""

    @abstractmethod
    def write(
        self, samples: Iterator[EncodedSample], folder: Path, task: Task, plan: VersionPlan
    ) -> Iterator[tuple[EncodedSample, dict[str, str]]]:
        """Write the samples of a shard below ``folder``, at their paths in the version.

        Yields each sample, with the path of the file that contains each part, by ending. Files in
        ``WORK`` are for ``finish``, and are not part of the version. A format that does not store
        the parts as they are replaces them by the values that it stores.
        """

    @abstractmethod
    def read(
        self, folder: Path, task: Task, records: Sequence[SampleRecord], plan: VersionPlan
    ) -> Iterator[tuple[str, str, bytes | None]]:
        """Yield (key, ending, bytes) of each part of a shard's samples, as stored below ``folder``.

        The bytes are None for a missing file. Raises DataError for a file that cannot be read.
        """

    def notes(
        self, roles: Roles, plan: VersionPlan, labels: Mapping[str, Collection[int]]
    ) -> list[str]:
        """Return sentences on what readers may not expect. ``labels`` are those of each split."""
        if not roles.has_objects or object_classes(plan, roles) == plan.classes:
            return []
        return [
            "All objects have class 1, 'object', because the graph does not output their labels."
        ]

    def picture_bytes(self, part: bytes) -> bytes:
        """Return the PNG or JPEG in the part ``picture``."""
        return part

    def finish(
        self, folder: Path, plan: VersionPlan, records: Callable[[str], Iterator[SampleRecord]]
    ) -> list[str]:
        """Write the files of the whole version, such as annotation files; return their paths.

        ``records`` returns the samples of a split. Called once all shards are complete.
        """
        return []


def encode(sample: RenderedSample, plan: VersionPlan, roles: Roles) -> EncodedSample:
    """Encode the pictures, masks and annotations of a sample.

    The first picture has the ending ``png`` or ``jpg``, others have their output's name before it.
    Raises DataError for a mask with values that a PNG cannot contain.
    """
    ending = "jpg" if plan.encoding == "jpeg" else "png"
    parts: dict[str, bytes] = {}
    pictures: dict[str, str] = {}
    for number, (name, image) in enumerate(sample.images.items()):
        part = f"{name}.{ending}" if number else ending
        parts[part], pictures[part] = encode_picture(image, plan), name
    for name, mask in sample.masks.items():
        parts[mask_ending(name)] = encode_mask(mask, sample.source, name)
    for name, array in sample.arrays.items():
        parts[f"{name}.npy"] = npy_bytes(array)
    if sample.label is not None:
        parts["cls"] = str(sample.label).encode()
    objects = annotations_of(sample, plan, roles) if roles.has_objects else None
    if objects is not None or sample.numbers:
        parts["json"] = json_part(objects, sample.numbers, sample.source)
    return EncodedSample(sample, parts, pictures, objects, roles, _hashes(parts))


def mask_ending(name: str) -> str:
    """Return the ending of a mask. Readers of WebDataset recognise it by ``mask`` or ``seg``."""
    return f"{name}.png" if "mask" in name.lower() or "seg" in name.lower() else f"{name}.mask.png"


def json_part(objects: Any, numbers: Mapping[str, Any], source: str) -> bytes:
    """Return the part ``json`` of a sample: its annotations, and its scalars if there are any."""
    found = {} if objects is None else {"annotations": objects}
    if numbers:
        found["numbers"] = dict(numbers)
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        raise DataError(
            f"{source}: an annotation is infinite or not a number. Check the operators before it."
        ) from None


def encode_picture(image: Any, plan: VersionPlan) -> bytes:
    """Encode a picture (h, w, 1 or 3) as PNG, or as JPEG with the plan's quality."""
    buffer = io.BytesIO()
    made = Image.fromarray(image[:, :, 0] if image.shape[2] == 1 else image)
    if plan.encoding == "jpeg":
        made.save(buffer, "JPEG", quality=plan.quality, subsampling=0)
    else:
        made.save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def encode_mask(mask: Any, source: str, name: str) -> bytes:
    """Encode a mask (h, w) of integers as PNG, with 8 or 16 bits."""
    low, high = (int(mask.min()), int(mask.max())) if mask.size else (0, 0)
    if low < 0 or high > 65535:
        raise DataError(
            f"{source}: the mask {name!r} has the value {low if low < 0 else high}, but a PNG "
            "contains 0 to 65535. Map the values with lookup_table."
        )
    buffer = io.BytesIO()
    Image.fromarray(mask.astype(np.uint8 if high < 256 else np.uint16)).save(
        buffer, "PNG", compress_level=1
    )
    return buffer.getvalue()


def npy_bytes(array: Any) -> bytes:
    """Return an array in NumPy's file format, which includes its shape and type."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def annotations_of(sample: RenderedSample, plan: VersionPlan, roles: Roles) -> list[dict[str, Any]]:
    """Return the objects of a sample as COCO annotations, without ids.

    ``bbox`` is left, top, width and height in pixels. Without boxes, it encloses the points of the
    object that are in the image, with sides of at least 1, and objects without any are skipped.
    Key points that are hidden or outside the image have visibility 0. Raises DataError if the
    outputs do not match.
    """
    classes, objects = object_classes(plan, roles), _points_by_object(sample, roles.outlines)
    highest = max(objects, default=-1)
    count = highest + 1 if sample.boxes is None else len(sample.boxes)
    _require_rows(sample, roles, count, highest)
    found = []
    for at in range(count):
        points, visible = objects.get(at, (np.zeros((0, 2)), np.zeros(0, bool)))
        outlines = list(_outlines_of(sample, at)) if roles.outlines else []
        if sample.boxes is not None:
            left, top, right, bottom = sample.boxes[at].tolist()
        elif not visible.any():
            continue
        else:
            seen = np.clip(points, 0, sample.size) if roles.outlines else points[visible]
            (left, top), (right, bottom) = seen.min(axis=0).tolist(), seen.max(axis=0).tolist()
            right, bottom = max(right, left + 1), max(bottom, top + 1)
        number = int(sample.labels[at]) if sample.labels is not None else 1
        one: dict[str, Any] = {"category_id": number}
        if 0 <= number < len(classes):
            one["category_name"] = classes[number]
        one["bbox"] = [round(each, 4) for each in (left, top, right - left, bottom - top)]
        area = (right - left) * (bottom - top)
        one["area"] = _area(outlines, sample.size) if outlines else round(area, 4)
        one["iscrowd"] = 0
        if roles.outlines:
            one["segmentation"] = [_flat(each) for each in outlines]
        elif roles.points:
            rows = np.concatenate([points, 2.0 * visible[:, None]], axis=1)
            rows[~visible] = 0
            one["keypoints"] = _flat(rows)
            one["num_keypoints"] = int(visible.sum())
        found.append(one)
    return found


def object_classes(plan: VersionPlan, roles: Roles) -> tuple[str, ...]:
    """Return the class names of objects, by number; one class if the graph outputs no labels."""
    is_known = roles.box_labels or len(plan.classes) == 2  # the background, and one class
    return plan.classes if is_known else ("background", "object")


def _require_rows(sample: RenderedSample, roles: Roles, count: int, highest: int) -> None:
    """Raise DataError if there are other numbers of boxes, labels and points."""
    if highest >= count:
        raise DataError(
            f"{sample.source}: {roles.points!r} has points of {highest + 1} objects, but "
            f"{roles.boxes!r} has {count} boxes. Connect polygons and places of follow_points, so "
            "that the points of removed boxes are removed."
        )
    labels = count if sample.labels is None else len(sample.labels)
    if labels < count or (sample.boxes is not None and labels > count):
        raise DataError(
            f"{sample.source}: {roles.box_labels!r} has {labels} values, but "
            f"{roles.boxes or roles.points!r} has {count} objects. Use the labels of the same "
            "follower."
        )
    seen = np.size(sample.visible) if sample.visible is not None else None
    if sample.points is not None and seen not in (None, len(sample.points)):
        raise DataError(
            f"{sample.source}: {roles.visible!r} has {seen} values, but {roles.points!r} has "
            f"{len(sample.points)} points. Use the outputs of one follower."
        )


def _area(outlines: list[Any], size: tuple[int, int]) -> int:
    """Return the number of pixels of an image that are inside of outlines, each (n, 2)."""
    mask = Image.new("L", size)
    for each in outlines:
        ImageDraw.Draw(mask).polygon(each.ravel().tolist(), fill=1)
    return int(np.asarray(mask).sum())


def _flat(values: Any) -> list[float]:
    return [round(float(each), 4) for each in np.ravel(values)]


def _points_by_object(sample: RenderedSample, outlines: bool) -> dict[int, tuple[Any, Any]]:
    """Return the points of each object (n, 2), and which of them are visible (n,).

    Of outlines, all points count if the outline's bounding box and the image overlap.
    """
    if sample.points is None:
        return {}
    seen = sample.visible
    visible = np.ones(len(sample.points), bool) if seen is None else np.ravel(seen).astype(bool)
    width, height = sample.size
    inside = ((sample.points >= 0) & (sample.points <= (width, height))).all(axis=1)
    visible = visible & inside
    if sample.objects is None:
        return {0: (sample.points, visible)} if len(sample.points) else {}
    found: dict[int, list[slice]] = {}
    for number, first, end in np.asarray(sample.objects).reshape(-1, 3).tolist():
        if number >= 0 and end > first:  # -1: its box was removed
            found.setdefault(int(number), []).append(slice(int(first), int(end)))
    if outlines:
        for slices in found.values():
            for each in slices:
                low, high = sample.points[each].min(axis=0), sample.points[each].max(axis=0)
                visible[each] = ((high > 0) & (low < (width, height))).all()
    return {
        number: (
            np.concatenate([sample.points[each] for each in slices]),
            np.concatenate([visible[each] for each in slices]),
        )
        for number, slices in found.items()
    }


def _outlines_of(sample: RenderedSample, at: int) -> Iterator[Any]:
    assert sample.points is not None
    for number, first, end in np.asarray(sample.objects).reshape(-1, 3).tolist():
        if number == at:
            yield sample.points[int(first) : int(end)]


def shard_path(folder: Path, task: Task, suffix: str) -> Path:
    """Return the path of the file of a shard, and create its folder."""
    path = folder / task.split / f"{task.name}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _hashes(parts: Parts) -> dict[str, str]:
    return {name: hashlib.sha256(part).hexdigest() for name, part in parts.items()}


def write_part(path: Path, part: bytes) -> None:
    """Write a part to a file of its own."""
    try:
        path.write_bytes(part)
    except FileNotFoundError:  # faster than to look for the folder each time
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(part)


def read_part(path: Path) -> bytes | None:
    """Return the content of a file, or None if it does not exist."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None


def safe_name(name: str) -> str:
    """Return a name that is valid for a file on any system, equal to ``name`` if that is valid.

    Characters that are not allowed become ``%`` and their number, as in URLs.
    """
    made = _UNSAFE.sub(lambda found: _escaped(found[0]), name)
    if ends := re.search(r"[. ]+$", made):  # Windows removes them
        made = made[: ends.start()] + "".join(map(_escaped, ends[0]))
    if _RESERVED.fullmatch(made):
        made = _escaped(made[0]) + made[1:]
    made = made or "%00"
    encoded = made.encode(errors="surrogateescape")
    if len(encoded) <= _MOST_BYTES:
        return made
    digest = hashlib.sha256(encoded).hexdigest()[:12]
    return f"{encoded[: _MOST_BYTES - 13].decode(errors='ignore')}~{digest}"


def _escaped(character: str) -> str:
    return f"%{ord(character):02X}"


def class_folders(classes: tuple[str, ...]) -> list[str]:
    """Return a folder name for each class, different even where letter case is ignored."""
    found: list[str] = []
    taken: set[str] = set()
    for number, name in enumerate(classes):
        made = safe_name(name)
        if made.casefold() in taken:
            made = f"{made}~{number}"
        taken.add(made.casefold())
        found.append(made)
    return found
