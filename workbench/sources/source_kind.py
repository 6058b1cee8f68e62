"""The base class of a kind of source, and what it tells of a dataset's samples."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache
from inspect import getsource
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal, NamedTuple

from workbench.errors import DataError

if TYPE_CHECKING:
    from workbench.sources import Dataset


@cache
def _source(function: Callable[..., Any]) -> str:
    """The text of a function; finding it takes a millisecond, for it is tokenized."""
    return getsource(function)


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
    sides: Sequence[int] = ()
    """Width and height that it should have, where its targets were written for these."""
    mask: str = ""
    """The file with its mask, which has its width and height."""
    mask_place: Sequence[int] = ()
    """Where in that file the mask begins, and its size in bytes; empty where it is all of it."""
    remark: str = ""
    """What is unusual about its annotations: a box over the edge, or without width or height."""
    counted: bool = True
    """Whether it is a sample; else it stands, at fault, for entries that belong to none."""

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

    def open_mask(self) -> BinaryIO:
        """The bytes of its mask, as a file that begins at 0. Raises OSError."""
        if not self.mask_place:
            return open(self.mask, "rb")
        with open(self.mask, "rb") as holder:
            offset, size = self.mask_place
            holder.seek(offset)
            return io.BytesIO(holder.read(size))

    def placed(self) -> Sample:
        """It with its place in a file: of some kinds that is made when it is asked for."""
        return self


class Header(NamedTuple):
    """What the header of a file that is no image tells."""

    fault: str = ""
    """Why DALI's reader cannot give it."""
    size: tuple[int, int] | None = None
    """Columns and rows of its pictures, where they are told."""
    remarks: tuple[tuple[str, str], ...] = ()
    """What is unusual in a file that DALI reads: the kind of the finding, and a description."""


def folder_of(dataset: Dataset) -> str:
    """The folder in which data lie: the location or, of a file, the one round it.

    Of files that are listed in Python the one that holds them all.
    """
    if dataset.location:
        path = os.path.abspath(dataset.location)
        return path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.commonpath([os.path.dirname(path) for path, _ in dataset.items])


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


_DIRECTLY = {
    "file_root": "folder of {noun}s by class",
    "file_list": "list of files and labels",
}
"""What is read by an argument of DALI's reader alone."""


class SourceKind:
    """One way to read: its attributes describe the reader, its methods the data.

    A module in ``sources.kinds`` has a subclass and its only instance, in ``SOURCES``. A kind
    overrides what differs from files that DALI's reader takes one by one: it must have ``about``,
    ``op``, ``located_by``, ``find``, ``require``, ``list_samples``, ``nothing_found`` and
    ``write_placeholder``.
    """

    # What it is called.

    about: str
    """What it reads, as the help of the exported program's parameter: ``folder of images``."""
    noun: str = "image"
    """What one sample is called."""
    metavar: str = "DIR"
    """What the parameter takes, as the usage of the exported program names it."""
    sample: str = ""
    """What of the folder that ``workbench samples --targets`` writes is of this kind."""
    guessed: str = ""
    """Where a path may be of another kind too: by what it was taken for this one, and how to
    choose."""

    # Which data are of it.

    precedence: int = 2
    """Of kinds that accept the same path the one with the highest is taken, of equals the first by
    name: 4 is a narrower form of another kind, 3 records of many samples, 2 samples in files of
    their own, 1 what its names alone tell, lists and images that DALI does not decode, 0 any
    folder."""
    suffixes: tuple[str, ...] = ()
    """Endings of files that hold many samples: a list of these in Python is of this kind."""
    takes: frozenset[str] = frozenset()
    """Kinds of data that it reads, too, and stays what it is."""
    with_targets: tuple[str, ...] = ()
    """Kinds that read the same data with the targets in them, where a graph asks for these."""

    # Its reader in a graph.

    op: str
    """DALI's reader."""
    located_by: frozenset[str]
    """Its arguments that say what it reads. A graph that gives one names its data itself."""
    options: frozenset[str] | None = None
    """The options of readers that mean something to this one; None: all of DALI's reader."""
    demanding: frozenset[str] = frozenset()
    """Options of its reader that ask more of the data: ``Dataset.options`` has those that are
    set."""
    seeded: bool = True
    """Whether the reader takes a seed."""
    outputs: tuple[str, ...] = ("jpegs", "labels")
    """The ports that its reader has in a graph."""
    pixels: str = ""
    """The output that gives pixels, where its reader decodes; empty where decoders follow it. The
    exported code then tells ``reader`` the side: ``device`` is ``cpu``, ``mixed`` or ``gpu``."""
    has_sequences: bool = False
    """Whether samples can be sequences of pictures."""
    begins: ClassVar[Mapping[str, int]] = {}
    """Options that come with the source and go with it, such as the frames of a sequence."""
    decoder: str = ""
    """The operator that decodes its images, where DALI's decoders do not."""

    # What the exported program has for it.

    find: Callable[[Any], dict[str, Any]]
    """A static method that the exported code calls with the parameter for the reader's arguments;
    its source is exported, so it stands on its own."""
    reader: Callable[..., Any] | None = None
    """A static method that the exported code calls in the place of DALI's reader, where that gives
    other than ``outputs``: it takes what ``find`` gives and the reader's options. Its source is
    exported. What it gives last it makes last."""
    helpers: tuple[Any, ...] = ()
    """What ``find`` needs beside it, exported before it: functions, classes or source text."""
    imports: tuple[str, ...] = ()
    """Modules that the exported code needs."""
    unread: ClassVar[Mapping[str, Any]] = {}
    """What ``find`` gives where a pipeline is made that is not there to read: as much as the reader
    must be given to have its outputs."""
    argument_name: str = ""
    """The argument of DALI's reader for the data, in a kind of an exported program that has no
    ``find``: see ``directly``."""
    pipeline_arguments: tuple[str, ...] = ()
    """What the exported program gives the pipeline itself for its reader, as Python writes it."""

    # Its samples, and what becomes of those at fault.

    is_listed: bool = True
    """Whether ``list_samples`` lists them; else nothing is counted, checked or left out."""
    in_files: bool = True
    """Whether each sample is a file of its own; else ``holder`` names the file."""
    in_memory: bool = False
    """Whether a process gives its samples out of its memory: no path says where they lie."""
    targets: Literal["", "boxes", "masks"] = ""
    """What is counted of its targets; empty where a sample has one label."""
    decodes_images: bool = False
    """Whether its reader decodes images, so that one that is none ends the process."""
    is_indexed: bool = False
    """Whether an index can be made for its reader, which would look through all data without."""
    checked_first: bool = False
    """Whether all samples are looked at before the reader is made: it passes over some without a
    word, and ends at others."""
    looks_ahead: bool = False
    """Whether ``list_samples`` soon tells the faults of the samples that a reader comes to first: a
    preview names those that its reader takes in silence."""
    ends_process: str = ""
    """Words in the fault of a sample that would end the reader's process, or what it feeds, of a
    kind that looks ahead: it is left out before."""

    def accepts(self, path: Path) -> bool:
        """Whether a path is of this kind."""
        return False

    def files_in(self, folder: str) -> Iterator[str]:
        """Files in a folder of images that are of this kind."""
        return iter(())

    def has_unread_masks(self, dataset: Dataset) -> bool:
        """Whether its annotations have masks that its reader outputs only with an option."""
        return False

    def require(self, dataset: Dataset) -> None:
        """Raise DataError, with the remedy, where a dataset cannot be read at all."""
        raise NotImplementedError

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Every sample, in the reader's order. Raises DataError."""
        raise NotImplementedError

    def nothing_found(self, dataset: Dataset) -> str:
        """Why there are no samples, and what to do."""
        raise NotImplementedError

    def write_placeholder(self, folder: Path) -> Path:
        """Write data of the kind into an empty folder and give their path.

        An exported program is imported on them, which reads nothing.
        """
        raise NotImplementedError

    def argument(self, dataset: Dataset) -> Any:
        """What the exported program is given for a dataset."""
        return dataset.location or [list(item) for item in dataset.items]

    def directly(self, dataset: Dataset | None) -> str:
        """The argument of DALI's reader that reads a dataset without ``find``, or empty.

        None where the dataset is not known.
        """
        return ""

    def gives_sequences(self, dataset: Dataset | None) -> bool:
        """Whether a dataset's samples are sequences of pictures; of None those of most are."""
        return self.has_sequences

    def root(self, dataset: Dataset) -> str:
        """The folder that names are relative to."""
        return folder_of(dataset)

    def holder(self, name: str) -> str:
        """The file, relative to the root, that holds the sample of a name."""
        return name

    def told(self, dataset: Dataset, places: Sequence[int]) -> list[Sample]:
        """Name and fault of the samples at some places of a dataset in memory.

        ``samples`` of the pipeline's ``reader_meta`` says which a batch has: DALI tells no names.
        """
        raise NotImplementedError

    def watched(self, dataset: Dataset) -> Iterator[str]:
        """Paths of which one changes when files come or go."""
        return iter([dataset.location] if dataset.location else [])

    def needs_index(self, dataset: Dataset) -> bool:
        """Whether the reader would take seconds before its first sample.

        It looks through all data without an index. The ``first`` samples are previewed meanwhile.
        """
        return False

    def make_index(self, dataset: Dataset, tell: Callable[[int], None]) -> None:
        """Make an index, where none is there, in a temporary folder. Raises DataError.

        ``tell`` is called with the number of samples so far; what it raises ends the work.
        """

    def find_indexed(self, dataset: Dataset, folder: Path) -> dict[str, Any] | None:
        """What ``find`` gives, with the index, or None where there is none.

        That of the ``first`` samples is made in the given folder.
        """
        return None

    def class_names(self, dataset: Dataset) -> list[str]:
        """The name of each label, in order; empty where they have none."""
        return []

    def key_point_names(self, dataset: Dataset) -> list[str]:
        """The names of key points, in order; empty where they have none."""
        return []

    def class_counts(self, dataset: Dataset) -> list[int] | None:
        """Targets of each class, where they stand in one place; None: by the samples' labels."""
        return None

    def without_targets(self, dataset: Dataset) -> int:
        """How many samples have no targets, where that stands in one place."""
        return 0

    def classes_in(
        self, dataset: Dataset, samples: Sequence[Sample]
    ) -> Iterator[Collection[int]] | None:
        """Of each of some samples the classes of its targets; None where it has one label.

        Of every box, or once each that its mask has. Those at fault are passed over.
        """
        return None

    def explain(self, dataset: Dataset, said: str) -> str:
        """Why its reader failed, by what DALI said, and what to do; empty where not known."""
        return ""

    def undecodable(self, dataset: Dataset, device: str) -> str:
        """Why its reader cannot decode a dataset on ``cpu`` or ``mixed``, or empty."""
        return ""

    def remark(self, dataset: Dataset, device: str) -> str:
        """What its reader decodes wrongly on ``cpu`` or ``mixed``, or empty."""
        return ""

    def read_header(self, path: str) -> Header | None:
        """What the header of a file of ``suffixes`` tells that is no image; None: nothing."""
        return None

    def read_content(self, path: str) -> str:
        """What is wrong with the numbers of such a file that its reader takes, or empty."""
        return ""

    def passed_over(self, dataset: Dataset) -> Iterator[str]:
        """Names of images there that its reader skips; ``pillow_images`` reads them."""
        return iter(())

    def not_read(self, dataset: Dataset) -> Iterator[str]:
        """Sentences on the files and folders there that are not read, and on empty class folders.

        Raises OSError.
        """
        return iter(())

    def leave_out(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write a dataset without the samples of these names at a new place, and give its path.

        It refers to the given data: no image is copied, but for LMDB. Raises DataError where the
        reader can leave out none.
        """
        if not self.lists_files:
            first = ", ".join(sorted(names)[:3])
            raise DataError(
                f"{dataset}: {len(names):,} samples cannot be used ({first}). No reader can leave "
                f"out samples of a {self.about}: write it anew without these."
            )
        return self.write_list(dataset, names, place)

    def write_list(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write DALI's ``file_list`` of the samples without those of these names."""
        path = place.with_suffix(".txt")
        path.write_bytes(
            dump_file_list(each for each in self.list_samples(dataset) if each.name not in names)
        )
        return path

    def given(self, argument_name: str) -> SourceKind:
        """The kind in a program that gives DALI's reader the data as they are, in an argument."""
        kind = copy(self)
        kind.argument_name, kind.imports = argument_name, ()
        kind.about = _DIRECTLY[argument_name].format(noun=self.noun)
        kind.metavar = "FILE" if argument_name == "file_list" else "DIR"
        return kind

    @property
    def find_source(self) -> str:
        """The source of ``helpers``, ``find`` and ``reader``, with a line break at its end."""
        return self.decorated_source("")

    def decorated_source(self, decorator: str) -> str:
        """``find_source`` with a line above ``find`` and ``reader``, which a pipeline calls."""
        if self.argument_name:
            return ""
        called = (self.find, *([self.reader] if self.reader else []))
        texts = [each if isinstance(each, str) else _source(each) for each in self.helpers]
        return "\n\n".join([*texts, *(decorator + _source(each) for each in called)])

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


READER_OPTIONS = frozenset(
    {
        *("random_shuffle", "initial_fill", "pad_last_batch", "num_shards", "shard_id"),
        *("stick_to_shard", "prefetch_queue_depth", "dont_use_mmap"),
    }
)
"""Options of DALI's readers that decode nothing."""


class Annotated(SourceKind):
    """A kind that is read only where a graph takes its targets, or where it is named.

    It stands before the kind of the same data: ``class Masks(Annotated, WebDataset)``.
    """

    options: frozenset[str] | None = READER_OPTIONS
    suffixes: tuple[str, ...] = ()
    with_targets: tuple[str, ...] = ()
    is_indexed = False

    def accepts(self, path: Path) -> bool:
        return False  # most data have a class for each image


class AnnotatedBoxes(Annotated):
    """Images with boxes and key points, in the outputs that COCO's reader has."""

    outputs = ("jpegs", "boxes", "labels", "polygons", "vertices")
    targets = "boxes"
    options = READER_OPTIONS | {"ltrb", "ratio", "polygon_masks"}


def names_of_numbers(named: Mapping[int, str]) -> list[str]:
    """The names of classes from 0 on, of which 0 is the background; empty where none is named."""
    if not named:
        return []
    return ["background", *(named.get(each, str(each)) for each in range(1, max(named) + 1))]
