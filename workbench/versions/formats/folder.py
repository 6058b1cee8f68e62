"""Folders of pictures: by class, or with the subfolders ``images`` and ``masks``.

``train/cat/cat_01-0000003-copy0.png`` is what ``ImageFolder`` of torchvision reads from
``train``. Graphs with masks have ``train/images/NAME.png`` and ``train/masks/NAME.png``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from workbench.errors import ArgumentError
from workbench.versions.formats.format import (
    EncodedSample,
    VersionFormat,
    class_folders,
    read_part,
    write_part,
)
from workbench.versions.outputs import Roles
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.records import SampleRecord

_IMAGES = "images"


class FolderFormat(VersionFormat):
    """Stores each part of a sample in a file of its own."""

    name = "folder"
    file_per_picture = True

    def require(self, roles: Roles, plan: VersionPlan) -> None:
        if not roles.images:
            raise ArgumentError(
                "The format 'folder' contains pictures, but no output is a uint8 image of 1 or 3 "
                "channels. Use format 'webdataset' with arrays."
            )
        if roles.has_objects:
            raise ArgumentError(
                f"The format 'folder' cannot contain {roles.boxes or roles.points!r}. Use format "
                "'coco', 'webdataset', 'tfrecord' or 'parquet'."
            )
        if others := (*roles.arrays, *roles.numbers):
            raise ArgumentError(
                f"The format 'folder' cannot contain {', '.join(map(repr, others))}. Use "
                "format 'webdataset', 'tfrecord' or 'parquet', or remove the output."
            )
        if roles.masks and roles.label:
            raise ArgumentError(
                f"The format 'folder' contains either classes ({roles.label!r}) or masks "
                f"({roles.masks[0]!r}). Use format 'webdataset', 'tfrecord' or 'parquet'."
            )
        if roles.masks and len(roles.images) > 1:
            raise ArgumentError(
                f"The format 'folder' contains one image for each mask, but the graph outputs "
                f"{', '.join(map(repr, roles.images))}. Use format 'webdataset'."
            )

    def notes(
        self, roles: Roles, plan: VersionPlan, labels: Mapping[str, Collection[int]]
    ) -> list[str]:
        folders = class_folders(plan.classes)
        found = [
            f"The class {name!r} is stored as {folder!r}, because its name is not valid for a file."
            for name, folder in zip(plan.classes, folders, strict=True)
            if name != folder
        ]
        if not roles.label:
            return found
        if len(roles.images) > 1:
            names = ", ".join(map(repr, roles.images))
            found.append(f"Readers of class folders read {names} as separate images.")
        numbers = {*range(len(folders)), *set().union(*labels.values())}
        named = sorted((class_folder(folders, number), number) for number in numbers)
        for there, (name, here) in enumerate(named):
            if there != here:
                found.append(
                    "ImageFolder of torchvision numbers classes by the order of their names: "
                    f"{name!r} is {there} there, {here} here."
                )
                break
        for split, present in labels.items():
            if missing := [class_folder(folders, each) for each in sorted(numbers - set(present))]:
                more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
                found.append(
                    f"{split} has no sample of class {missing[0]!r}{more}. ImageFolder of "
                    "torchvision numbers the classes after it differently there."
                )
        return found

    def write(
        self, samples: Iterator[EncodedSample], folder: Path, task: Task, plan: VersionPlan
    ) -> Iterator[tuple[EncodedSample, dict[str, str]]]:
        folders = class_folders(plan.classes)
        for each in samples:
            label, paths = each.sample.label, dict[str, str]()
            group = "" if label is None else class_folder(folders, label)
            for ending, part in each.parts.items():
                if ending == "cls":
                    continue  # the folder's name
                paths[ending] = place_of(task, group, each.sample.key, ending, each.pictures)
                write_part(folder / paths[ending], part)
            yield each, paths

    def read(
        self, folder: Path, task: Task, records: Sequence[SampleRecord], plan: VersionPlan
    ) -> Iterator[tuple[str, str, bytes | None]]:
        for each in records:
            for ending, path in each.paths.items():
                yield each.key, ending, read_part(folder / path)
            if "cls" in each.parts:
                yield each.key, "cls", str(each.label).encode()  # its folder is in the paths


def class_folder(folders: list[str], label: int) -> str:
    """Return the folder of a class; classes without a name have their number."""
    return folders[label] if 0 <= label < len(folders) else str(label)


def place_of(task: Task, group: str, key: str, ending: str, pictures: Mapping[str, str]) -> str:
    """Return the path of a part in the version."""
    if group:
        return f"{task.split}/{group}/{key}.{ending}"
    if ending in pictures:
        return f"{task.split}/{_IMAGES}/{key}.{ending}"
    return f"{task.split}/{ending.partition('.')[0]}/{key}.{ending.rpartition('.')[2]}"


FORMAT = FolderFormat()
