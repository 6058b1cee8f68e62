"""Choose samples of a version, and plot their pictures with classes and annotations."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.errors import ArgumentError, DataError
from workbench.preview.pictures.annotation_overlays import (
    AnnotationOverlay,
    draw_overlays,
    fitting_mask,
)
from workbench.versions.formats import load_format
from workbench.versions.formats.format import mask_ending
from workbench.versions.outputs import plan_roles
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.records import SampleRecord

if TYPE_CHECKING:
    from workbench.versions.manifest import Version

_MARKED_SIDE = 224
"""Images with annotations are enlarged about to this size, because class names need space."""
Chosen = tuple[Task, SampleRecord]


def samples_by_class(version: Version, split: str = "", most: int = 16) -> list[Chosen]:
    """Return up to ``most`` samples per class from the first copies: one of each class in turn.

    Raises ArgumentError for an unknown split.
    """
    if split and split not in version.samples:
        raise ArgumentError(f"split is {split!r}. Use one of {', '.join(version.samples)}.")
    found: dict[int | None, list[Chosen]] = {}
    for task, record in tasks_and_records(version):
        own = found.setdefault(record.label, [])
        if task.copy == 0 and split in ("", task.split) and len(own) < most:
            own.append((task, record))
    in_turn = zip_longest(*(found[key] for key in sorted(found, key=lambda each: each or 0)))
    return [each for turn in in_turn for each in turn if each is not None]


def tasks_and_records(version: Version) -> Iterator[Chosen]:
    """Yield each sample of a version, with its shard."""
    for task in version.plan.tasks():
        for record in version.records_of(task):
            yield task, record


def pictures_of(version: Version, chosen: Iterable[Chosen]) -> dict[str, NDArray[np.uint8]]:
    """Return the first picture of each sample by key.

    Boxes, points and masks are drawn for the formats ``folder``, ``coco`` and ``webdataset``.

    Raises DataError if a picture is missing or damaged, and ArgumentError if there are none.
    """
    plan = version.plan
    name = load_format(plan.format).picture or picture_ending(plan)
    masks = {mask_ending(each) for each in plan_roles(plan, "train").masks}
    by_task: dict[Task, list[SampleRecord]] = {}
    for task, record in chosen:
        by_task.setdefault(task, []).append(record)
    found = {}
    for task, records in by_task.items():
        parts: dict[str, dict[str, bytes | None]] = {each.key: {} for each in records}
        for key, part, content in load_format(plan.format).read(version.path, task, records, plan):
            if key in parts:
                parts[key][part] = content
        for record in records:
            if name not in record.parts:
                raise ArgumentError(f"{version.path} has no pictures: its samples are arrays.")
            found[record.key] = _picture(version, record, parts[record.key], masks)
    return found


def picture_ending(plan: VersionPlan) -> str:
    """Return the file ending of the first picture of a sample."""
    return "jpg" if plan.encoding == "jpeg" else "png"


def class_of(plan: VersionPlan, label: int | None) -> str:
    """Return the name of a class, its number if it has no name, or an empty text for None."""
    if label is None:
        return ""
    return plan.classes[label] if 0 <= label < len(plan.classes) else str(label)


def caption_of(plan: VersionPlan, record: SampleRecord) -> str:
    """Return the class and the file name of a sample."""
    name = class_of(plan, record.label)
    return f"{name} · {os.path.basename(record.source)}".removeprefix(" · ")


def _picture(
    version: Version, record: SampleRecord, parts: Mapping[str, bytes | None], masks: set[str]
) -> NDArray[np.uint8]:
    form = load_format(version.plan.format)
    name = form.picture or picture_ending(version.plan)
    where = version.path / record.paths.get(name, record.key)
    content = parts.get(name)
    if content is None:
        raise DataError(f"{where} is missing. Render the version again, into a new folder.")
    try:
        with Image.open(io.BytesIO(form.picture_bytes(content))) as opened:
            picture = np.asarray(opened.convert("RGB"))
    except OSError as error:
        raise DataError(f"{where} cannot be read: {error}.") from None
    marks = list(_objects(picture, parts.get("json")))
    for name in masks & parts.keys():
        mask = np.asarray(Image.open(io.BytesIO(parts[name] or b"")))
        marks += fitting_mask(mask[..., None], (picture.shape[1], picture.shape[0]), [])
    if not marks:
        return picture
    times = max(1, _MARKED_SIDE // max(picture.shape[:2]))
    return draw_overlays(picture.repeat(times, 0).repeat(times, 1), tuple(marks), names=True)


def _objects(picture: NDArray[Any], content: bytes | None) -> Iterator[AnnotationOverlay]:
    """Yield the boxes, outlines and key points of a sample's COCO annotations."""
    sides = np.array([picture.shape[1], picture.shape[0]], np.float64)
    for one in json.loads(content or b"{}").get("annotations", ()):
        number, text = one["category_id"], str(one.get("category_name", one["category_id"]))
        left, top, width, height = one["bbox"]
        box = np.array([left, top, left + width, top + height]) / (*sides, *sides)
        outlines = one.get("segmentation", ())
        for each in outlines:
            shares = (np.reshape(each, (-1, 2)) / sides).ravel()
            yield AnnotationOverlay(tuple(box), text, number, outline=tuple(shares))
        if not outlines:
            yield AnnotationOverlay(tuple(box), text, number)
        for x, y, seen in np.reshape(one.get("keypoints", ()), (-1, 3)):
            if seen:
                place = x / sides[0], y / sides[1]
                yield AnnotationOverlay((*place, *place), "", number)
