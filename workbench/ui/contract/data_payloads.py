"""Payloads of the data panel. Each type is also in ``frontend/src/payloads.ts``."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Literal, TypedDict

from workbench.errors import DataError
from workbench.sources import Dataset, annotated_alternatives, load_source


class FileFinding(TypedDict):
    """Finding of a file check."""

    file: str
    level: Literal["bad", "damaged", "unusual"]
    kind: str
    reason: str


class DataParameter(TypedDict):
    """Parameter of the graph's program that names data."""

    name: str
    about: str
    """Kind of data that the parameter's source reads, such as ``folder of images``."""
    reads: str
    """Name of the data that the parameter reads; empty if it reads none."""
    error: str
    """Why the data cannot be read, or empty."""


class FolderEntry(TypedDict):
    """Folder that can be opened or browsed. Hidden entries are not counted."""

    name: str
    path: str
    images: int
    """Number of images directly in the folder."""
    folders: int
    more: bool
    """True if the folder has more entries than were counted."""


class FolderListing(TypedDict):
    """Contents of a folder; empty before the first request."""

    path: str
    parent: str
    """Parent folder; empty if it may not be opened."""
    places: list[str]
    """Folders below which data may be opened."""
    entries: list[FolderEntry]
    more: bool
    """Whether there are more folders than listed."""
    error: str
    """Why the folder cannot be listed, or empty."""


class ClassCount(TypedDict):
    """Number of images of a class."""

    name: str
    count: int


class DataView(TypedDict):
    """The data: a folder, or a list of files."""

    root: str
    kind: str
    """Kind of the data, such as ``folder of images``."""
    noun: str
    """Name of one sample, such as ``image``."""
    parameters: list[DataParameter]
    """All parameters of the graph that name data."""
    error: str
    refused: str
    """Why the last requested folder was not opened, or empty."""
    outside: str
    """Path of that folder if the user may open it after a confirmation; otherwise empty."""
    count: int
    """Number of samples; until ``counted`` is set, the number so far."""
    counted: bool
    counting: bool
    """Whether the count is running; otherwise it is paused or finished."""
    provisional: bool
    """Whether the pictures show only the first samples, until the reader's index is built."""
    at_fault: str
    """Number of incomplete or invalid samples, with the first reason; empty if there are none."""
    unusable: bool
    """Whether any of these samples cannot be used. Otherwise ``at_fault`` is about annotations."""
    pillow_only: str
    """Text about images that only Pillow can decode; empty if there are none."""
    read_all: str
    """Location to open so that these images are read."""
    also: list[UnreadAnnotations]
    """Other ways to read the same data, with annotations that are not read now."""
    classes: list[str]
    """Class names, in the order of the labels."""
    class_counts: list[ClassCount]
    """Number of images, boxes or masks per class."""
    counted_by: str
    """What is counted, such as ``boxes per class, in 400 images``; empty if all images are counted.
    """
    no_classes: str
    """Why no classes are counted, or empty."""
    megabytes: float
    formats: dict[str, int]
    size_counts: dict[str, int]
    """Number of checked images by size, or by range of the longer side."""
    sizes: str
    """Smallest and largest image size, ``300×225 … 1200×900``; empty until known."""
    checked: bool
    """Whether all files were decoded to find bad ones."""
    checking: bool
    bad: int
    """Number of files that DALI cannot read or decode."""
    damaged: int
    """Number of files that DALI decodes with a warning."""
    findings: list[FileFinding]
    """Findings of the worst files; the report of ``workbench check`` has all findings."""


# Other ways to read data: records with boxes or masks next to their images.


class UnreadAnnotations(TypedDict):
    """Annotations in the data that the graph does not read."""

    place: str
    """Location to open, such as ``webdataset_boxes:shards``; empty for masks of the open data."""
    words: str
    """Label of the button, such as ``Read COCO annotations (annotations.json)``."""


def unread_annotations(dataset: Dataset, read: Dataset) -> list[UnreadAnnotations]:
    """Return the annotations of a dataset that the graph does not read.

    ``read`` is the dataset as the graph reads it. Only the first samples, and annotation files in
    the folder, are examined.
    """
    if not dataset.location:
        return []
    found: list[UnreadAnnotations] = []
    for each in annotated_alternatives(dataset) if read.kind == dataset.kind else ():
        file = "" if each.location == dataset.location else os.path.basename(each.location)
        words = f"Read {load_source(each.kind).about}" + f": {file}" * bool(file)
        found.append({"place": f"{each.kind}:{each.location}", "words": words})
    with suppress(DataError):  # the annotations may have gone meanwhile
        if load_source(read.kind).has_unread_masks(read):
            found.append(
                {"place": "", "words": "Output masks from the outlines in the annotations"}
            )
    return found
