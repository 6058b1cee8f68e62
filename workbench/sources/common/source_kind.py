"""What a kind of source says of itself, and what it says of a dataset's samples."""

from __future__ import annotations

import inspect
import io
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

if TYPE_CHECKING:
    from workbench.sources import Dataset


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


class Index(NamedTuple):
    """Of a kind whose reader looks through all data before its first sample, unless told an index.

    It is made in a temporary folder, or read, while a dataset of the ``first`` samples is
    previewed.
    """

    is_needed: Callable[[Dataset], bool]
    """Whether the reader would take seconds, to do without or to read it."""
    make: Callable[[Dataset, Callable[[int], None]], None]
    """Makes it where none is there. Tells how many samples it has; what that raises ends it. Raises
    DataError."""
    find: Callable[[Dataset, Path], dict[str, Any] | None]
    """What ``SourceKind.find`` gives, with the index, or None where there is none. That of the
    ``first`` samples is made in the given folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceKind:
    """One way to read: all that is asked of a source, by what it is asked for."""

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

    accepts: Callable[[Path], bool]
    """Whether a path is of this kind."""
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
    gives_sequences: Callable[[Dataset | None], bool] | None = None
    """Whether a dataset's samples are sequences of pictures, of one that is not known those of
    most; None: no dataset's are."""
    begins: Mapping[str, int] = field(default_factory=dict, hash=False)
    """Options that come with the source and go with it, such as the frames of a sequence."""
    decoder: str = ""
    """The operator that decodes its images, where DALI's decoders do not."""

    # What the exported program has for it.

    find: Callable[[Any], dict[str, Any]]
    """The function that the exported code calls with the parameter for the reader's arguments; its
    source is exported, so it stands on its own."""
    reader: Callable[..., Any] | None = None
    """The function that the exported code calls in the place of DALI's reader, where that gives
    other than ``outputs``: it takes what ``find`` gives and the reader's options. Its source is
    exported. What it gives last it makes last."""
    helpers: str = ""
    """Source of what ``find`` needs beside it, exported before it."""
    imports: tuple[str, ...] = field(default=())
    """Modules that it needs."""
    unread: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What ``find`` gives where a pipeline is made that is not there to read: as much as the reader
    must be given to have its outputs."""
    argument: Callable[[Dataset], Any] | None = None
    """What the exported program is given for a dataset, where that is not its location."""
    directly: Callable[[Dataset | None], str] = lambda dataset: ""
    """Given a dataset, or None where it is not known: the argument of DALI's reader that reads it
    without ``find``, or empty."""
    argument_name: str = ""
    """That argument, in a kind of an exported program that has no ``find``."""
    pipeline_arguments: tuple[str, ...] = ()
    """What the exported program gives the pipeline itself for its reader, as Python writes it."""
    write_placeholder: Callable[[Path], Path]
    """Writes data of the kind into an empty folder and gives their path: an exported program is
    imported on them, which reads nothing."""

    # Its samples.

    list_samples: Callable[[Dataset], Iterator[Sample]]
    """Every sample, in the reader's order. Raises DataError."""
    is_listed: bool = True
    """Whether ``list_samples`` lists them; else nothing is counted, checked or left out."""
    root: Callable[[Dataset], str]
    """The folder that names are relative to."""
    holder: Callable[[str], str] | None = None
    """The file, relative to the root, that holds the sample of a name; where samples are files
    None."""
    told: Callable[[Dataset, Sequence[int]], list[Sample]] | None = None
    """Name and fault of the samples at some places of a dataset (``samples`` of the pipeline's
    ``reader_meta`` says which a batch has), where DALI does not tell names."""
    watched: Callable[[Dataset], Iterator[str]]
    """Paths of which one changes when files come or go."""
    index: Index | None = None
    """As of ``Index``; None where its reader begins at once."""

    # Its classes and targets.

    class_names: Callable[[Dataset], list[str]]
    """The name of each label, in order; empty where they have none."""
    key_point_names: Callable[[Dataset], list[str]] | None = None
    """The names of key points, in order; None where they have none."""
    class_counts: Callable[[Dataset], list[int]] | None = None
    """Targets of each class, where they stand in one place; None: by the samples' labels."""
    without_targets: Callable[[Dataset], int] | None = None
    """How many samples have none, where that stands in one place."""
    targets: Literal["", "boxes", "masks"] = ""
    """What those are counted by: ``boxes`` or ``masks``; empty where a sample has one label."""
    classes_in: Callable[[Dataset, Sequence[Sample]], Iterator[Collection[int]]] | None = None
    """Of each of some samples the classes of its targets: of every box, or once each that its mask
    has. Those at fault are passed over."""

    # What is wrong with data, and what becomes of it.

    require: Callable[[Dataset], None]
    """Raises DataError, with the remedy, where a dataset cannot be read at all."""
    nothing_found: Callable[[Dataset], str]
    """Why there are no samples, and what to do."""
    explain: Callable[[Dataset, str], str] | None = None
    """Given a dataset and what DALI said when its reader failed: why, and what to do, or empty."""
    undecodable: Callable[[Dataset, str], str] | None = None
    """Given a dataset and ``cpu`` or ``mixed``: why its reader cannot decode it there, or empty."""
    remark: Callable[[Dataset, str], str] | None = None
    """Given a dataset and ``cpu`` or ``mixed``: what its reader decodes wrongly, or empty."""
    read_header: Callable[[str], Header] | None = None
    """Of a file of ``suffixes`` that is no image: what its header tells."""
    read_content: Callable[[str], str] | None = None
    """Of such a file that its reader takes: what is wrong with its numbers, or empty."""
    passed_over: Callable[[Dataset], Iterator[str]] = lambda dataset: iter(())
    """Names of images there that its reader passes over; ``pillow_images`` has them."""
    not_read: Callable[[Dataset], Iterator[str]] = lambda dataset: iter(())
    """Sentences on the files and folders there that are not read, and on empty class folders."""
    looks_ahead: bool = False
    """Whether ``list_samples`` soon tells the faults of the samples that a reader comes to first: a
    preview names those that its reader takes in silence."""
    ends_process: str = ""
    """Words in the fault of a sample that would end the reader's process, or what it feeds, of a
    kind that looks ahead: it is left out before."""
    leave_out: Callable[[Dataset, Collection[str], Path], Path] | None = None
    """Given a dataset, names of samples and an empty folder, writes a dataset of the same kind
    without these there, and gives its path; nothing of what is kept is copied, but for LMDB. None:
    it cannot, or its reader takes a list of files."""

    @property
    def find_source(self) -> str:
        """The source of ``helpers``, ``find`` and ``reader``, with a line break at its end."""
        if self.argument_name:
            return ""
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
    def decodes_images(self) -> bool:
        """Whether its reader decodes images, so that one that is none ends the process."""
        return bool(self.pixels) and self.read_header is None

    @property
    def lists_files(self) -> bool:
        """Whether samples can be left out by naming the others: DALI's ``file_list``."""
        return self.op == "readers.file"
