"""What a graph can read. Adding a kind of source is adding a module here.

Each module has a ``SOURCE``; the module's name is the kind's. It says which DALI operator reads,
how the exported code finds the data, and how the workbench lists, counts and watches them.

A graph says *how* it reads (``graph.model.Source``), a ``Dataset`` *what*: each run of a graph gets
one for every parameter of the exported program that names data, most often ``data`` alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from numbers import Integral
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from workbench.errors import DataError
from workbench.sources._frames import Frame, is_frame, rows_of_frame
from workbench.sources._python_data import holds_images, names_files
from workbench.sources._remote import REMOTE, require_readable
from workbench.sources._source_kind import Header as Header
from workbench.sources._source_kind import Index as Index
from workbench.sources._source_kind import Sample as Sample
from workbench.sources._source_kind import SourceKind as SourceKind

_DIRECTLY = {
    "file_root": "folder of {noun}s by class",
    "file_list": "list of files and labels",
}
"""What is read by an argument of DALI's reader alone."""
_NO_FILES = ("No files found", "specified an empty list", "no video has as many")
"""What DALI says of a folder without images."""
PARAMETER = "data"
"""The parameter of an exported program that says where the data lie, where a graph says none."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is read, and where.

    Parameters
    ----------
    kind:
        A module of this package.
    location:
        A path; empty for data that were given in Python.
    items:
        Those: (path, label) for each file.
    title:
        What a person knows it as, where that is not ``location``.
    first:
        Where not 0: so many from the beginning stand for all, whose index is not there yet.
    """

    kind: str
    location: str = ""
    items: tuple[tuple[str, int | str], ...] = ()
    title: str = ""
    first: int = 0

    @property
    def argument(self) -> Any:
        """What the exported program is given for it."""
        argument = load_source(self.kind).argument
        if argument is not None:
            return argument(self)
        return self.location or [list(item) for item in self.items]

    @property
    def place(self) -> str:
        """Where they lie, from anywhere: an absolute path, or a remote place; else empty."""
        local = self.location and not REMOTE.match(self.location)
        return os.path.abspath(self.location) if local else self.location

    @property
    def text(self) -> str:
        """What opens them again later; empty for data that were given in Python."""
        kind = load_source(self.kind)
        named = self.location and (kind.decoder or kind.takes)
        return "" if self.title else f"{self.kind}:{self.location}" if named else self.location

    @property
    def identity(self) -> str:
        """Equal for equal data: the absolute path, or the items themselves."""
        return (self.place or repr(self.items)) + f"\nfirst {self.first}" * bool(self.first)

    @property
    def root(self) -> str:
        """The folder that the names of files are relative to."""
        return load_source(self.kind).root(self)

    @property
    def in_memory(self) -> bool:
        """Whether a process gives its samples out of its memory: no path says where they lie."""
        return load_source(self.kind).argument is not None

    def __str__(self) -> str:
        return self.title or self.location or f"a list of {len(self.items):,} files"


Datasets = Mapping[str, Dataset]
"""For each parameter of a graph's program that names data what it is given."""


@cache
def source_kinds() -> tuple[str, ...]:
    """Every kind of source, ``folder`` first."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return tuple(sorted(names, key=lambda name: (name != "folder", name)))


@cache
def _by_precedence() -> tuple[str, ...]:
    """Every kind, in the order in which they are asked whether a path is of them."""
    return tuple(sorted(source_kinds(), key=lambda kind: (-load_source(kind).precedence, kind)))


@cache
def load_source(kind: str) -> SourceKind:
    """The kind of that name. Raises DataError with the nearest known ones.

    ``folder:file_root`` is one of which an exported program gives DALI's reader the data as they
    are, in that argument.
    """
    kind, _, argument = kind.partition(":")
    if argument:
        metavar = "FILE" if argument == "file_list" else "DIR"
        kind_of = load_source(kind)
        about = _DIRECTLY[argument].format(noun=kind_of.noun)
        return replace(kind_of, argument_name=argument, imports=(), about=about, metavar=metavar)
    if kind not in source_kinds():
        near = get_close_matches(kind, source_kinds(), n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(source_kinds())}."
        raise DataError(f"There is no kind of source {kind!r}. {hint}")
    found = import_module(f"{__name__}.{kind}").SOURCE
    assert isinstance(found, SourceKind)
    return found


def is_reader(op: str) -> bool:
    """Whether an operator, named as in ``nvidia.dali.fn``, brings data into a pipeline."""
    return op.startswith(("readers.", "experimental.readers.")) or op in (
        "external_source",
        "request",
    )


@cache
def kind_of_reader(op: str) -> str:
    """The first kind that reads with an operator; empty where there is none."""
    return next((kind for kind in source_kinds() if load_source(kind).op == op), "")


Location = str | Path | Dataset | Sequence[str | Path | tuple[str | Path, int | str]] | Frame | Any
"""What a person may give for one dataset: a path, or in Python files, (file, label) pairs, a frame
with a column of paths, or images: arrays, encoded bytes, a data set (``memory.py``)."""
Data = Location | Mapping[str, Location]
"""What a person may give for a graph: one dataset, or one for each of its parameters."""


def open_dataset(data: Location) -> Dataset:
    """The dataset that a person means. Raises DataError for what is none.

    A path is read as the kind that it is taken for, or as the one whose name stands before it,
    ``webdataset:photos``. One that does not exist is taken for a folder: what runs on it says that
    it is missing.
    """
    if isinstance(data, Dataset):
        return data
    if is_frame(data) and not holds_images(data):
        data = rows_of_frame(data)
    if isinstance(data, str) and not data:
        raise DataError("The path of the data is empty. Give a folder or a list of files.")
    if isinstance(data, str | Path):
        named, _, place = str(data).partition(":")
        named_so = named in source_kinds() and place and not place.startswith("//")
        if named_so and not os.path.exists(data):
            return Dataset(named, os.path.expanduser(place))
        mistyped = place and get_close_matches(named, source_kinds(), n=1)
        if mistyped and os.path.exists(os.path.expanduser(place)) and not os.path.exists(data):
            load_source(named)  # which names the nearest
        if REMOTE.match(str(data)):
            return Dataset("s3", require_readable(str(data)))
        path = Path(os.path.expanduser(data))
        kinds = (kind for kind in _by_precedence() if load_source(kind).accepts(path))
        return Dataset(next(kinds, "folder"), os.path.expanduser(str(data)))
    if isinstance(data, list | tuple) and not data:
        raise DataError("The list is empty. Give at least one path or image.")
    if not isinstance(data, list | tuple) or not names_files(data):
        kept: Dataset = import_module(f"{__name__}.memory").keep_images(data)
        return kept
    items = tuple(map(_item, data))
    for kind in source_kinds():
        suffixes = load_source(kind).suffixes
        if suffixes and all(path.lower().endswith(suffixes) for path, _ in items):
            return Dataset(kind, items=items)
    return import_module(f"{__name__}.file_list").listed(items)  # type: ignore[no-any-return]


def _item(item: Any) -> tuple[str, int | str]:
    if type(item) is tuple and len(item) == 2:  # what most of a million are
        path, label = item
        labelled = type(label) is int or (type(label) is str and label.strip())
        if type(path) is str and path[:1] == os.sep and labelled:
            return item
    match item:
        case str() | Path():
            return os.path.abspath(item), 0
        case (str() | Path() as path, Integral() as label):
            return os.path.abspath(path), int(label)
        case (str() | Path() as path, str() as label) if label.strip():
            return os.path.abspath(path), label
    raise DataError(
        f"{repr(item)[:60]} is no file. Give paths, or pairs of a path and a label: a whole number "
        "or the name of a class."
    )


def open_datasets(data: Data) -> Datasets:
    """What each parameter is given; data without a name are those of the parameter ``data``."""
    named = data if isinstance(data, Mapping) else {PARAMETER: data}
    return {name: open_dataset(each) for name, each in named.items()}


def describe_datasets(data: Datasets) -> str:
    """The data in words: where they lie, with the parameter where there are several."""
    if len(data) == 1:
        return str(next(iter(data.values())))
    return ", ".join(f"{name}={dataset}" for name, dataset in data.items())


def every_sample(data: Datasets) -> Iterator[Sample]:
    """Every sample of all datasets, one dataset after the other. Raises DataError."""
    for dataset in dict.fromkeys(data.values()):
        yield from list_samples(dataset)


def list_samples(dataset: Dataset) -> Iterator[Sample]:
    """Every sample of a dataset in the reader's order. Raises DataError."""
    return load_source(dataset.kind).list_samples(dataset)


def fits_list(file: Sample) -> bool:
    """Whether a list, which has a file on each line, can hold this one: not with a line break."""
    path = os.path.abspath(file.path)
    return "\n" not in path and "\r" not in path


def dump_file_list(files: Iterable[Sample]) -> bytes:
    """The files as DALI's ``file_list``: on each line an absolute path and a label.

    Bytes, for names need not be UTF-8. One that does not ``fits_list`` is left out.
    """
    return b"".join(
        b"%b %d\n" % (os.fsencode(os.path.abspath(file.path)), file.label)
        for file in files
        if fits_list(file)
    )


def write_without(dataset: Dataset, names: Collection[str], place: Path) -> Path:
    """Write a dataset without the samples of these names at a new place, and give its path.

    A list of files (``place`` with ``.txt``), or a folder of what the kind's ``leave_out`` writes:
    that refers to the given data, and copies no image. Raises DataError where a kind has none.
    """
    kind = load_source(dataset.kind)
    if kind.lists_files:
        path = place.with_suffix(".txt")
        path.write_bytes(
            dump_file_list(file for file in list_samples(dataset) if file.name not in names)
        )
        return path
    if kind.leave_out is None:
        first = ", ".join(sorted(names)[:3])
        raise DataError(
            f"{dataset}: {len(names):,} samples cannot be used ({first}). No reader can leave out "
            f"samples of a {kind.about}: write it anew without these."
        )
    place.mkdir()
    return kind.leave_out(dataset, names, place)


def require_dataset(dataset: Dataset, device: str = "") -> None:
    """Raise DataError, with the remedy, where a dataset cannot be read.

    Where ``device`` is ``cpu`` or ``mixed``, also where its reader cannot decode it there.
    """
    kind = load_source(dataset.kind)
    kind.require(dataset)
    if device and kind.undecodable is not None and (reason := kind.undecodable(dataset, device)):
        raise DataError(reason)


def header_of(path: str) -> Header | None:
    """What the header of a file tells; None where its name is not that of a kind of its own."""
    for kind in map(load_source, source_kinds()):
        if kind.read_header is not None and path.lower().endswith(kind.suffixes):
            return kind.read_header(path)
    return None


def content_fault(path: str) -> str:
    """What is wrong with the content of a file that ``header_of`` knows and a reader takes."""
    kinds = [load_source(kind) for kind in source_kinds()]
    reads = (each.read_content for each in kinds if path.lower().endswith(each.suffixes))
    return next((read(path) for read in reads if read is not None), "")


def taken_as(dataset: Dataset) -> str:
    """What a dataset is read as, in words; where that was guessed, by what, and how to choose."""
    kind = load_source(dataset.kind)
    guessed = kind.guessed and kind.accepts(Path(dataset.location))
    return f"{kind.about}, {kind.guessed}" if guessed else kind.about


def kinds_with_targets(dataset: Dataset) -> list[str]:
    """The kinds that would read the same data with targets, which these have."""
    found = []
    for kind in load_source(dataset.kind).with_targets:
        with suppress(DataError):
            load_source(kind).require(dataset)
            found.append(kind)
    return found


def class_names(dataset: Dataset) -> list[str]:
    """The name of each label, in order; empty where they have none."""
    return load_source(dataset.kind).class_names(dataset)


def no_files_reason(dataset: Dataset) -> str:
    """Why a dataset that can be read has no files, and what to do."""
    return load_source(dataset.kind).nothing_found(dataset)


def failure_reason(dataset: Dataset, said: str) -> str:
    """Why a dataset's reader failed, by what DALI said, and what to do; empty: it is not known."""
    if any(words in said for words in _NO_FILES):
        return no_files_reason(dataset)
    explain = load_source(dataset.kind).explain
    return explain(dataset, said) if explain is not None else ""


def unreadable_reason(path: str) -> str | None:
    """Why the operating system cannot hand out a file's bytes, or None."""
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode):
            return "it is a folder" if stat.S_ISDIR(found.st_mode) else "it is no file"
        if found.st_size == 0:
            return "the file is empty"
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(path, os.R_OK) else "no permission to read it"
