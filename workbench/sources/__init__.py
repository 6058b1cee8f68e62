"""What a graph can read. Adding a kind of source is adding a module here.

Each module has a ``SOURCE``; the module's name is the kind's. It says which DALI operator reads,
how the exported code finds the data, and how the workbench lists, counts and watches them.

A graph says *how* it reads (``graph.model.Source``), a ``Dataset`` *what*: each run of a graph gets
one for every parameter of the exported program that names data, most often ``data`` alone.
"""

from __future__ import annotations

import inspect
import io
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from numbers import Integral
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, BinaryIO, NamedTuple

from workbench.errors import DataError
from workbench.sources._frames import Frame, is_frame, rows_of_frame
from workbench.sources._python_data import holds_images, names_files
from workbench.sources._remote import REMOTE, require_readable

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


class Sample(NamedTuple):
    """One sample of a dataset: where its encoded image lies, its name, and its label.

    The name is that by which the reader tells of it, relative to the root of the dataset.
    """

    path: str
    """The file that holds it."""
    name: str
    label: int
    offset: int = 0
    """Where in that file it begins, in bytes."""
    nbytes: int | None = None
    """Its size; None where it is the whole file."""
    fault: str = ""
    """Why the reader cannot give it, where its bytes do not tell: a label that is missing."""
    with_pillow: bool = False
    """Whether Pillow decodes it, and not DALI."""

    @property
    def size(self) -> int:
        """Its size in bytes. Raises OSError where the file is not there."""
        return os.stat(self.path).st_size if self.nbytes is None else self.nbytes

    def open(self) -> BinaryIO:
        """Its bytes, as a file that begins at 0. Raises OSError."""
        if self.nbytes is None:
            return open(self.path, "rb")
        with open(self.path, "rb") as holder:
            holder.seek(self.offset)
            return io.BytesIO(holder.read(self.nbytes))

    def placed(self) -> Sample:
        """It with its place in a file: of some kinds that is made when it is asked for."""
        return self


class Header(NamedTuple):
    """What the header of a file that is no image tells."""

    fault: str = ""
    """Why DALI's reader cannot give it."""
    size: tuple[int, int] | None = None
    """Columns and rows of its pictures, where they are told."""


class Index(NamedTuple):
    """Of a kind whose reader looks through all data before its first sample, unless told an index.

    It is made in a temporary folder, while a dataset of the ``first`` samples is previewed.
    """

    is_needed: Callable[[Dataset], bool]
    """Whether none is there and the reader would take seconds."""
    make: Callable[[Dataset, Callable[[int], None]], None]
    """Makes it. Tells how many samples it has; what that raises ends it. Raises DataError."""
    find: Callable[[Dataset, Path], dict[str, Any] | None]
    """What ``SourceKind.find`` gives, with the index, or None where there is none. That of the
    ``first`` samples is made in the given folder."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """One way to read.

    Parameters
    ----------
    about:
        What it reads, as the help of the exported program's parameter: ``folder of images``.
    op:
        DALI's reader.
    located_by:
        Its arguments that say what it reads. A graph that gives one names its data itself.
    find:
        The function that the exported code calls with the parameter for the reader's arguments;
        its source is exported, so it stands on its own.
    outputs:
        The ports that its reader has in a graph.
    reader:
        The function that the exported code calls in the place of DALI's reader, where that gives
        other than ``outputs``: it takes what ``find`` gives and the reader's options. Its source is
        exported. What it gives last it makes last.
    noun:
        What one sample is called.
    pixels:
        The output that gives pixels, where its reader decodes; empty where decoders follow it. The
        exported code then tells ``reader`` the side: ``device`` is ``cpu``, ``mixed`` or ``gpu``.
    begins:
        Options that come with the source and go with it, such as the frames of a sequence.
    read_header:
        Of a file of ``suffixes`` that is no image: what its header tells.
    undecodable:
        Given a dataset and ``cpu`` or ``mixed``: why its reader cannot decode it there, or empty.
    unread:
        What ``find`` gives where a pipeline is made that is not there to read: as much as the
        reader must be given to have its outputs.
    suffixes:
        Endings of files that hold many samples: a list of these in Python is of this kind.
    holder:
        The file, relative to the root, that holds the sample of a name; where samples are files
        None.
    helpers:
        Source of what ``find`` needs beside it, exported before it.
    imports:
        Modules that it needs.
    accepts:
        Whether a path is of this kind. ``folder``, which takes any folder, is asked last.
    require:
        Raises DataError, with the remedy, where a dataset cannot be read at all.
    list_samples:
        Every sample, in the reader's order. Raises DataError.
    root:
        The folder that names are relative to.
    class_names:
        The name of each label, in order; empty where they have none.
    watched:
        Paths of which one changes when files come or go.
    nothing_found:
        Why there are no samples, and what to do.
    leave_out:
        Given a dataset, names of samples and an empty folder, writes a dataset of the same kind
        without these there, and gives its path; nothing of what is kept is copied. None: it
        cannot, or its reader takes a list of files.
    sample:
        What of the folder that ``workbench samples --targets`` writes is of this kind.
    write_placeholder:
        Writes data of the kind into an empty folder and gives their path: an exported program is
        imported on them, which reads nothing.
    index:
        As of ``Index``; None where its reader begins at once.
    decoder:
        The operator that decodes its images, where DALI's decoders do not.
    takes:
        Kinds of data that it reads, too, and stays what it is.
    is_listed:
        Whether ``list_samples`` lists them; else nothing is counted, checked or left out.
    passed_over:
        Names of images there that its reader passes over; ``pillow_images`` has them.
    argument:
        What the exported program is given for a dataset, where that is not its location.
    told:
        Name and fault of the samples at some places of a dataset (``samples`` of the pipeline's
        ``reader_meta`` says which a batch has), where DALI does not tell names.
    options:
        The options of readers that mean something to this one; None: all of DALI's reader.
    pipeline_arguments:
        What the exported program gives the pipeline itself for its reader, as Python writes it.
    metavar:
        What the parameter takes, as the usage of the exported program names it.
    """

    about: str
    op: str
    located_by: frozenset[str]
    find: Callable[[Any], dict[str, Any]]
    accepts: Callable[[Path], bool]
    require: Callable[[Dataset], None]
    list_samples: Callable[[Dataset], Iterator[Sample]]
    root: Callable[[Dataset], str]
    class_names: Callable[[Dataset], list[str]]
    watched: Callable[[Dataset], Iterator[str]]
    nothing_found: Callable[[Dataset], str]
    write_placeholder: Callable[[Path], Path]
    helpers: str = ""
    imports: tuple[str, ...] = field(default=())
    outputs: tuple[str, ...] = ("jpegs", "labels")
    reader: Callable[..., Any] | None = None
    noun: str = "image"
    pixels: str = ""
    begins: Mapping[str, int] = field(default_factory=dict, hash=False)
    read_header: Callable[[str], Header] | None = None
    undecodable: Callable[[Dataset, str], str] | None = None
    unread: Mapping[str, Any] = field(default_factory=dict, hash=False)
    suffixes: tuple[str, ...] = ()
    holder: Callable[[str], str] | None = None
    leave_out: Callable[[Dataset, Collection[str], Path], Path] | None = None
    sample: str = ""
    index: Index | None = None
    decoder: str = ""
    takes: frozenset[str] = frozenset()
    is_listed: bool = True
    passed_over: Callable[[Dataset], Iterator[str]] = lambda dataset: iter(())
    argument: Callable[[Dataset], Any] | None = None
    told: Callable[[Dataset, Sequence[int]], list[Sample]] | None = None
    options: frozenset[str] | None = None
    pipeline_arguments: tuple[str, ...] = ()
    metavar: str = "DIR"

    @property
    def find_source(self) -> str:
        """The source of ``helpers``, ``find`` and ``reader``, with a line break at its end."""
        written = [self.helpers] if self.helpers else []
        written += map(inspect.getsource, filter(None, [self.find, self.reader]))
        return "\n\n".join(written)

    @property
    def remedy(self) -> str:
        """Where there are data of this kind to try, as a sentence."""
        if not self.sample:
            return "`workbench samples photos` writes some: give photos."
        return f"`workbench samples shapes --targets` writes some: give shapes/{self.sample}."

    @property
    def lists_files(self) -> bool:
        """Whether samples can be left out by naming the others: DALI's ``file_list``."""
        return self.op == "readers.file"


@cache
def source_kinds() -> tuple[str, ...]:
    """Every kind of source, ``folder`` first."""
    names = [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]
    return tuple(sorted(names, key=lambda name: (name != "folder", name)))


@cache
def load_source(kind: str) -> SourceKind:
    """The kind of that name. Raises DataError with the nearest known ones."""
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
        if REMOTE.match(str(data)):
            return Dataset("s3", require_readable(str(data)))
        path = Path(os.path.expanduser(data))
        kinds = (kind for kind in reversed(source_kinds()) if load_source(kind).accepts(path))
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


def class_names(dataset: Dataset) -> list[str]:
    """The name of each label, in order; empty where they have none."""
    return load_source(dataset.kind).class_names(dataset)


def no_files_reason(dataset: Dataset) -> str:
    """Why a dataset that can be read has no files, and what to do."""
    return load_source(dataset.kind).nothing_found(dataset)


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
