"""Find, list and describe the data that a graph reads.

Each kind of data is a ``SourceKind`` subclass in a module of ``kinds``. It defines the DALI reader,
how exported code finds the data, and how the workbench lists and watches the files. Each module
exports its instances by name in ``SOURCES``.

A graph specifies how data are read (``graph.model.Source``), and a ``Dataset`` specifies which data
are read. Each run of a graph receives one dataset per data parameter of the exported program; most
graphs have a single parameter, ``data``.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path

from workbench.errors import DataError
from workbench.sources.data_facts import MOST_READ
from workbench.sources.data_facts import NO_FACTS as NO_FACTS
from workbench.sources.data_facts import DataFacts as DataFacts
from workbench.sources.data_facts import data_facts as data_facts
from workbench.sources.dataset import ORDER_OPTIONS as ORDER_OPTIONS
from workbench.sources.dataset import SAMPLER as SAMPLER
from workbench.sources.dataset import SAMPLER_OPTIONS as SAMPLER_OPTIONS
from workbench.sources.dataset import Dataset as Dataset
from workbench.sources.dataset import Datasets as Datasets
from workbench.sources.dataset import load_source as load_source
from workbench.sources.dataset import source_kinds as source_kinds
from workbench.sources.headers import decodes_to_silence as decodes_to_silence
from workbench.sources.headers import orientation as orientation
from workbench.sources.headers import upright_size as upright_size
from workbench.sources.opening import PARAMETER as PARAMETER
from workbench.sources.opening import Data as Data
from workbench.sources.opening import Location as Location
from workbench.sources.opening import choose_columns as choose_columns
from workbench.sources.opening import choose_split as choose_split
from workbench.sources.opening import holds_objects as holds_objects
from workbench.sources.opening import open_dataset as open_dataset
from workbench.sources.opening import open_datasets as open_datasets
from workbench.sources.source_kind import Header as Header
from workbench.sources.source_kind import Sample as Sample
from workbench.sources.source_kind import SourceKind as SourceKind
from workbench.sources.source_kind import dump_file_list as dump_file_list
from workbench.sources.source_kind import fits_list as fits_list
from workbench.sources.source_kind import folder_of as folder_of

SERVED = frozenset({"request", "array_request", "experimental.inputs.video"})
"""Operators of sources whose data the clients of a server send. Elsewhere they read sample files.
"""
_NO_FILES = ("No files found", "specified an empty list", "but the longest video has")
"""Parts of DALI's error messages for data without images."""


def is_reader(op: str) -> bool:
    """Return whether an operator, named as in ``nvidia.dali.fn``, is a reader."""
    return op.startswith(("readers.", "experimental.readers.")) or op in (
        "external_source",
        "external_source_fields",
        "python_source",
        *SERVED,
    )


@cache
def kind_of_reader(op: str) -> str:
    """Return the first source kind that uses a reader, or an empty string if no kind uses it."""
    return next((kind for kind in source_kinds() if load_source(kind).op == op), "")


def describe_datasets(data: Datasets) -> str:
    """Describe the locations of the datasets, with parameter names if there are several."""
    if len(data) == 1:
        return str(next(iter(data.values())))
    return ", ".join(f"{name}={dataset}" for name, dataset in data.items())


def every_sample(data: Datasets) -> Iterator[Sample]:
    """Yield the samples of all datasets. Raises DataError if a dataset cannot be read."""
    for dataset in dict.fromkeys(data.values()):
        yield from list_samples(dataset)


def list_samples(dataset: Dataset) -> Iterator[Sample]:
    """Yield the samples of a dataset in the reader's order. Raises DataError if unreadable."""
    return load_source(dataset.kind).list_samples(dataset)


def write_remaining(dataset: Dataset, names: Collection[str], place: Path) -> Path:
    """Write a dataset without the named samples to ``place`` and return its path.

    The result is a list of files (``place`` ends in ``.txt``) or a folder that links to the
    original data; only LMDB is copied. Raises DataError if samples of this kind cannot be excluded.
    """
    return load_source(dataset.kind).write_without(dataset, names, place)


def require_dataset(dataset: Dataset, device: str = "") -> None:
    """Raise DataError, with a fix, if a dataset cannot be read.

    If ``device`` is ``cpu`` or ``mixed``, the reader must also be able to decode on that device.
    """
    kind = load_source(dataset.kind)
    kind.require(dataset)
    if device and (reason := kind.undecodable(dataset, device)):
        raise DataError(reason)


def header_of(path: str) -> Header | None:
    """Parse the header of a file, or return None if no source kind supports its suffix."""
    found = (kind.read_header(path) for kind in _kinds_of_file(path))
    return next(filter(None, found), None)


def content_fault(path: str) -> str:
    """Describe invalid values in a file with a valid header, or return an empty string."""
    return next(filter(None, (kind.read_content(path) for kind in _kinds_of_file(path))), "")


def _kinds_of_file(path: str) -> Iterator[SourceKind]:
    kinds = map(load_source, source_kinds())
    return (kind for kind in kinds if path.lower().endswith(kind.suffixes))


def describe_kind(dataset: Dataset) -> str:
    """Describe the kind of a dataset. If it was guessed, explain why and how to change it."""
    kind = load_source(dataset.kind)
    guessed = kind.guessed and kind.accepts(Path(dataset.location))
    return f"{kind.about}, {kind.guessed}" if guessed else kind.about


def annotated_alternatives(dataset: Dataset) -> list[Dataset]:
    """Return datasets that read the same data with annotations, such as COCO files in a folder."""
    found = []
    own = load_source(dataset.kind)
    for kind in own.with_targets:
        if not load_source(kind).targets and not any(own.unread_notes(dataset)):
            continue  # its features are those that are read
        with suppress(DataError):
            load_source(kind).require(dataset)
            found.append(replace(dataset, kind=kind))
    if os.path.isdir(dataset.location):
        with suppress(OSError):
            found += map(open_dataset, load_source("coco").files_in(dataset.location))
    return found


def class_names(dataset: Dataset) -> list[str]:
    """Return the class names in label order, or an empty list if labels have no names."""
    return load_source(dataset.kind).class_names(dataset)


def is_unlabelled(dataset: Dataset) -> bool:
    """Return whether the first 20,000 samples have label 0 and no class names."""
    try:
        if class_names(dataset):
            return False
        return all(each.label == 0 for each in islice(list_samples(dataset), MOST_READ))
    except (DataError, OSError):
        return False


def describe_not_read(dataset: Dataset) -> list[str]:
    """Return sentences about files and folders that are not read, and about empty class folders."""
    try:
        return list(load_source(dataset.kind).unread_notes(dataset))
    except DataError:
        return []  # the reader reports the cause
    except OSError as error:
        return [f"{error.filename} cannot be listed: {error.strerror}."]


def no_files_reason(dataset: Dataset) -> str:
    """Explain why a readable dataset has no files, with a fix."""
    return load_source(dataset.kind).nothing_found(dataset)


def failure_reason(dataset: Dataset, message: str) -> str:
    """Explain a reader failure, with a fix, or return an empty string if the error is unknown.

    ``message`` is DALI's error message.
    """
    if any(words in message for words in _NO_FILES):
        return no_files_reason(dataset)
    return load_source(dataset.kind).explain(dataset, message)


def name_with_ending(path: str) -> str:
    """Return the file name of an image at ``path`` plus a suffix, or "" if there is none."""
    folder, stem = os.path.split(path)
    names = (f"{stem}{each}" for each in (".jpg", ".jpeg", ".png", ".JPG", ".tif", ".bmp", ".webp"))
    return next((name for name in names if os.path.isfile(os.path.join(folder, name))), "")


def unreadable_reason(path: str) -> str | None:
    """Return why the operating system cannot read a file, or None if it can."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return "it is a folder" if stat.S_ISDIR(found.st_mode) else "it is not a file"
        if found.st_size == 0:
            return "the file is empty"
    except OSError as error:
        reason, name = error.strerror or str(error), name_with_ending(path)
        return f"{reason}; {name} exists: add the ending" if name else reason
    return None if os.access(path, os.R_OK) else "no permission to read it"
