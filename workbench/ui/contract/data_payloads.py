"""Payloads of the data panel. Each type is also in ``frontend/src/payloads.ts``."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Literal, TypedDict

from workbench.errors import DataError
from workbench.sources import Dataset, annotated_alternatives, load_source


class FileFinding(TypedDict):
    """A problem with one file, found by the file check."""

    file: str
    level: Literal["bad", "damaged", "unusual"]
    kind: str
    reason: str


class DataParameter(TypedDict):
    """Data parameter of the exported program."""

    name: str
    about: str
    """Kind of data that the parameter's source reads, such as ``folder of images``."""
    reads: str
    """Name of the data that the parameter currently reads; empty if there are none."""
    error: str
    """Reason why the data cannot be read, or an empty string."""


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
    """Root folders, below which data may be opened."""
    entries: list[FolderEntry]
    more: bool
    """True if there are more subfolders than listed."""
    error: str
    """Reason why the folder cannot be listed; empty if it can."""


class ClassCount(TypedDict):
    """Number of images of a class."""

    name: str
    count: int


class DataView(TypedDict):
    """Summary of the data: a folder, or a list of files."""

    root: str
    kind: str
    """Kind of the data, such as ``folder of images``."""
    noun: str
    """Word for one sample, such as ``image``."""
    parameters: list[DataParameter]
    """All data parameters of the exported program."""
    error: str
    refused: str
    """Reason why the last requested folder was not opened; empty if it was."""
    outside: str
    """Path of the refused folder if the user may open it after a confirmation; empty otherwise."""
    count: int
    """Number of samples. Until ``counted`` is set, it is the number counted so far."""
    counted: bool
    counting: bool
    """True while samples are being counted, False if the count is paused or finished."""
    provisional: bool
    """True if pictures only show the first samples, because the reader's index is not built yet."""
    at_fault: str
    """Text with the number of incomplete or invalid samples and the first reason; empty if all are
    valid.
    """
    unusable: bool
    """True if samples of ``at_fault`` cannot be used, False if only annotations are wrong."""
    pillow_only: str
    """Text about images that only Pillow can decode; empty if there are none."""
    read_all: str
    """Location to open so that images that only Pillow can decode are read too."""
    also: list[UnreadAnnotations]
    """Other ways to read the same data, with annotations that the graph does not read."""
    classes: list[str]
    """Class names, in the order of the labels."""
    class_counts: list[ClassCount]
    """Number of images, boxes or masks per class."""
    sampled_shares: list[float]
    """Share of each class in the samples that the graph's sampler reads, from 0 to 1, as in
    ``class_counts``; empty if the source has no sampler or the shares are unknown."""
    counted_by: str
    """Description of ``class_counts``, such as ``boxes per class, in 400 images``; empty if images
    are counted.
    """
    no_classes: str
    """Reason why no classes are counted; empty if they are."""
    megabytes: float
    formats: dict[str, int]
    size_counts: dict[str, int]
    """Number of checked images by size, or by range of the longer side."""
    sizes: str
    """Smallest and largest image size, ``300×225 … 1200×900``; empty until known."""
    checked: bool
    """True if all files were decoded to find bad files."""
    checking: bool
    bad: int
    """Number of files that DALI cannot read or decode."""
    damaged: int
    """Number of files that DALI decodes with a warning."""
    findings: list[FileFinding]
    """Files with the worst problems; the report of ``workbench check`` lists all files."""


# Other ways to read data: records with boxes or masks next to their images.


class UnreadAnnotations(TypedDict):
    """Annotations in the data that the graph does not read, and how to read them."""

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
