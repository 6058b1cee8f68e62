"""What the data panel is shown: each type also stands in ``frontend/src/payloads.ts``."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Literal, TypedDict

from workbench.errors import DataError
from workbench.sources import Dataset, annotated_alternatives, load_source


class FileFinding(TypedDict):
    """Something that a check found in a file."""

    file: str
    level: Literal["bad", "damaged", "unusual"]
    kind: str
    reason: str


class DataParameter(TypedDict):
    """One parameter of the graph's program that names data."""

    name: str
    about: str
    """What its source reads: ``folder of images``."""
    reads: str
    """What it is given; empty where that is nothing."""
    error: str
    """Why it cannot be read, or empty."""


class FolderEntry(TypedDict):
    """A folder that may be opened, or looked into. Hidden entries do not count."""

    name: str
    path: str
    images: int
    """Directly in it."""
    folders: int
    more: bool
    """Whether there is more in it than was counted."""


class FolderListing(TypedDict):
    """What lies in a folder; all empty before the first was asked for."""

    path: str
    parent: str
    """The folder around it; empty where that may not be opened."""
    places: list[str]
    """Where to begin: the folders below which may be opened."""
    entries: list[FolderEntry]
    more: bool
    """Whether there are more than are listed."""
    error: str
    """Why it cannot be listed, or empty."""


class ClassCount(TypedDict):
    """How often there is a class."""

    name: str
    count: int


class DataView(TypedDict):
    """The data: a folder, or a list of files."""

    root: str
    kind: str
    """``folder of images``."""
    noun: str
    """What one sample is called: ``image``."""
    parameters: list[DataParameter]
    """Every one of the graph."""
    error: str
    refused: str
    """Why the folder that was asked for last was not opened in place of this one, or empty."""
    outside: str
    """That folder, where the user may confirm that it is opened; else empty."""
    count: int
    """So far, until ``counted``."""
    counted: bool
    counting: bool
    """Whether the count goes on; else it was stopped."""
    provisional: bool
    """Whether the pictures are of the first samples alone: the reader's index is being made."""
    at_fault: str
    """How many samples lack something or have targets that cannot be, and the first; or empty."""
    unusable: bool
    """Whether some of these samples cannot be used. Else ``at_fault`` is about their targets."""
    pillow_only: str
    """Which images lie there that are not read, and why; or empty."""
    read_all: str
    """What to open so that they are read."""
    also: list[OtherReading]
    """How else the same data can be read, with targets that are not read now."""
    classes: list[str]
    """The names of labels, by number."""
    class_counts: list[ClassCount]
    """Of each class its images, or its boxes, or the masks that have it."""
    counted_by: str
    """``boxes of each, in 400 images``; empty where images are counted, and all."""
    no_classes: str
    """Why no classes are counted, or empty."""
    megabytes: float
    formats: dict[str, int]
    size_counts: dict[str, int]
    """Images of each size, or of each span of the longer side, of those that were looked at."""
    sizes: str
    """``300×225 … 1200×900``; empty until known."""
    checked: bool
    """Whether every file has been decoded, to find those that are bad."""
    checking: bool
    bad: int
    """Files that DALI does not read or decode."""
    damaged: int
    """Files that it decodes, of which a decoder warned."""
    findings: list[FileFinding]
    """Of the worst files; all are in the report of ``workbench check``."""


# How else data can be read: of records with boxes or masks beside their images, with these.


class OtherReading(TypedDict):
    """Targets that the data have and the graph does not read."""

    place: str
    """What to open: ``webdataset_boxes:shards``; empty: the masks of what is open."""
    words: str
    """Of the button that reads them: ``Read COCO annotations (annotations.json)``."""


def other_readings(dataset: Dataset, read: Dataset) -> list[OtherReading]:
    """The targets of a dataset that are not read, if any; ``read`` is what the graph does.

    Looks at the first samples, and at annotations in the folder.
    """
    if not dataset.location:
        return []
    found: list[OtherReading] = []
    for each in annotated_alternatives(dataset) if read.kind == dataset.kind else ():
        file = "" if each.location == dataset.location else os.path.basename(each.location)
        words = f"Read {load_source(each.kind).about}" + f": {file}" * bool(file)
        found.append({"place": f"{each.kind}:{each.location}", "words": words})
    with suppress(DataError):  # the annotations may have gone meanwhile
        if load_source(read.kind).has_unread_masks(read):
            found.append({"place": "", "words": "Give out masks: the annotations have outlines"})
    return found
