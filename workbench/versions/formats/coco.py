"""COCO: a folder of pictures per split, and an annotation file per split.

``annotations/instances_train.json`` describes the pictures in ``train``; with key points, it is
``annotations/keypoints_train.json``. Masks are stored as ``masks/train/NAME.png``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.errors import ArgumentError, DataError
from workbench.versions.formats.format import (
    EncodedSample,
    VersionFormat,
    json_part,
    object_classes,
    read_part,
    write_part,
)
from workbench.versions.outputs import Roles, plan_roles
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.records import WORK, SampleRecord


class CocoFormat(VersionFormat):
    """Stores pictures as files, and the objects of a split in one file."""

    name = "coco"
    file_per_picture = True

    def require(self, roles: Roles, plan: VersionPlan) -> None:
        if not roles.has_objects:
            raise ArgumentError(
                "The format 'coco' contains boxes, outlines or key points, but the graph outputs "
                "none. Use format 'folder' or 'webdataset'."
            )
        if len(roles.images) != 1:
            raise ArgumentError(
                "The format 'coco' contains one uint8 image per sample, but the graph outputs "
                f"{', '.join(map(repr, roles.images)) or 'none'}. Use format 'webdataset'."
            )
        if roles.arrays:
            raise ArgumentError(
                f"The format 'coco' cannot contain {', '.join(map(repr, roles.arrays))}. Use "
                "format 'webdataset' or 'parquet', or remove the output."
            )

    def notes(
        self, roles: Roles, plan: VersionPlan, labels: Mapping[str, Collection[int]]
    ) -> list[str]:
        return super().notes(roles, plan, labels) + [
            f"{name}: stored as pictures in {name!r}, because COCO annotations only have outlines."
            for name in roles.masks
        ]

    def write(
        self, samples: Iterator[EncodedSample], folder: Path, task: Task, plan: VersionPlan
    ) -> Iterator[tuple[EncodedSample, dict[str, str]]]:
        (rows := _rows_path(folder, task)).parent.mkdir(parents=True, exist_ok=True)
        with rows.open("w", encoding="utf-8") as file:
            for each in samples:
                paths = {}
                for ending, part in each.parts.items():
                    if ending in ("cls", "json"):
                        continue
                    place = "" if ending in each.pictures else f"{ending.partition('.')[0]}/"
                    name = f"{each.sample.key}.{ending.rpartition('.')[2]}"
                    paths[ending] = f"{place}{task.split}/{name}"
                    write_part(folder / paths[ending], part)
                width, height = each.sample.size
                label = {} if each.sample.label is None else {"label": each.sample.label}
                image = {
                    "file_name": f"{each.sample.key}.{next(iter(each.pictures))}",
                    "width": width,
                    "height": height,
                    **label,
                    **({"numbers": each.sample.numbers} if each.sample.numbers else {}),
                }
                file.write(json.dumps([image, each.objects], ensure_ascii=False) + "\n")
                yield each, paths

    def read(
        self, folder: Path, task: Task, records: Sequence[SampleRecord], plan: VersionPlan
    ) -> Iterator[tuple[str, str, bytes | None]]:
        file = next((folder / "annotations").glob(f"*_{task.split}.json"), None)
        listed = {} if file is None else _samples_of(file, file.stat().st_mtime_ns)
        for each in records:
            for ending, path in each.paths.items():
                yield each.key, ending, read_part(folder / path)
            if each.key not in listed:
                continue
            image, objects = listed[each.key]
            yield each.key, "json", json_part(objects, image.get("numbers", {}), each.source)
            if "label" in image:
                yield each.key, "cls", str(image["label"]).encode()

    def finish(
        self, folder: Path, plan: VersionPlan, records: Callable[[str], Iterator[SampleRecord]]
    ) -> list[str]:
        roles = plan_roles(plan, "train")
        prefix = "keypoints" if roles.points and not roles.outlines else "instances"
        paths = []
        (folder / "annotations").mkdir(exist_ok=True)
        for split in plan.splits:
            paths.append(f"annotations/{prefix}_{split.name}.json")
            tasks = [task for task in plan.tasks() if task.split == split.name]
            with (folder / paths[-1]).open("w", encoding="utf-8") as file:
                file.writelines(_document(folder, tasks, plan, roles))
        return paths


def _rows_path(folder: Path, task: Task) -> Path:
    """Return the file with the annotations of a shard, which exists until the version is complete.

    Each line is the entry of an image, without its id, and its annotations.
    """
    return folder / WORK / "coco" / f"{task.name}.jsonl"


def _rows(folder: Path, tasks: Sequence[Task]) -> Iterator[tuple[int, Any, Any]]:
    """Yield the number of each image of the shards, from 1, its entry, and its annotations."""
    number = 0
    for task in tasks:
        with _rows_path(folder, task).open(encoding="utf-8") as lines:
            for line in lines:
                number += 1
                yield number, *json.loads(line)


def _document(
    folder: Path, tasks: Sequence[Task], plan: VersionPlan, roles: Roles
) -> Iterator[str]:
    """Yield the text of an annotation file, with one entry per line."""
    used: set[int] = set()
    yield '{"info": {"description": "rendered by DALI Workbench"},\n"images": ['
    for number, image, objects in _rows(folder, tasks):
        used.update(one["category_id"] for one in objects)
        yield ",\n" * (number > 1) + json.dumps({"id": number, **image}, ensure_ascii=False)
    yield '],\n"annotations": ['
    count = 0
    for number, _, objects in _rows(folder, tasks):
        for one in objects:
            count += 1
            entry = {"id": count, "image_id": number, **one}
            yield ",\n" * (count > 1) + json.dumps(entry, ensure_ascii=False)
    yield f'],\n"categories": {json.dumps(_categories(used, plan, roles), ensure_ascii=False)}}}\n'


def _categories(used: Collection[int], plan: VersionPlan, roles: Roles) -> list[dict[str, Any]]:
    """Return the categories in the order of the class numbers, without gaps.

    DALI numbers categories by their order, from 1, so that the class numbers are those of the data.
    """
    classes = object_classes(plan, roles)
    first, last = min([1, *used]), max([*used, len(classes) - 1])
    points = {"keypoints": roles.point_names, "skeleton": []} if roles.point_names else {}
    names = dict(enumerate(classes))
    return [
        {"id": number, "name": names.get(number, str(number)), **points}
        for number in range(first, last + 1)
    ]


@lru_cache(maxsize=2)
def _samples_of(path: Path, stamp: int) -> dict[str, tuple[Any, list[Any]]]:
    """Return the image entry and the annotations, without ids, of each sample by its key."""
    try:
        found = json.loads(path.read_bytes())
        images = {each["id"]: each for each in found["images"]}
        objects: dict[int, list[Any]] = {number: [] for number in images}
        for one in found["annotations"]:
            kept = {name: value for name, value in one.items() if name not in ("id", "image_id")}
            objects[one["image_id"]].append(kept)
        return {
            each["file_name"].rpartition(".")[0]: (each, objects[number])
            for number, each in images.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path} cannot be read as annotations: {error}.") from None


FORMAT = CocoFormat()
