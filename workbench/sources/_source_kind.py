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
    gives_sequences:
        Whether a dataset's samples are sequences of pictures, of one that is not known those of
        most; None: no dataset's are.
    begins:
        Options that come with the source and go with it, such as the frames of a sequence.
    read_header:
        Of a file of ``suffixes`` that is no image: what its header tells.
    read_content:
        Of such a file that its reader takes: what is wrong with its numbers, or empty.
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
        Whether a path is of this kind.
    precedence:
        Of kinds that accept the same path the one with the highest is taken, of equals the first by
        name: 4 is a narrower form of another kind, 3 records of many samples, 2 samples in files of
        their own, 1 what its names alone tell, lists and images that DALI does not decode, 0 any
        folder.
    require:
        Raises DataError, with the remedy, where a dataset cannot be read at all.
    list_samples:
        Every sample, in the reader's order. Raises DataError.
    root:
        The folder that names are relative to.
    class_names:
        The name of each label, in order; empty where they have none.
    class_counts:
        Targets of each class, where they stand in one place; None: by the samples' labels.
    without_targets:
        How many samples have none, where that stands in one place.
    classes_in:
        Of each of some samples the classes of its targets: of every box, or once each that its mask
        has. Those at fault are passed over.
    targets:
        What those are counted by: ``boxes`` or ``masks``; empty where a sample has one label.
    watched:
        Paths of which one changes when files come or go.
    nothing_found:
        Why there are no samples, and what to do.
    explain:
        Given a dataset and what DALI said when its reader failed: why, and what to do, or empty.
    leave_out:
        Given a dataset, names of samples and an empty folder, writes a dataset of the same kind
        without these there, and gives its path; nothing of what is kept is copied, but for LMDB.
        None: it cannot, or its reader takes a list of files.
    sample:
        What of the folder that ``workbench samples --targets`` writes is of this kind.
    write_placeholder:
        Writes data of the kind into an empty folder and gives their path: an exported program is
        imported on them, which reads nothing.
    index:
        As of ``Index``; None where its reader begins at once.
    decoder:
        The operator that decodes its images, where DALI's decoders do not.
    with_targets:
        Kinds that read the same data with the targets in them, where a graph asks for these.
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
    looks_ahead:
        Whether ``list_samples`` soon tells the faults of the samples that a reader comes to first:
        a preview names those that its reader takes in silence.
    ends_process:
        Words in the fault of a sample that would end the reader's process, or what it feeds, of a
        kind that looks ahead: it is left out before.
    options:
        The options of readers that mean something to this one; None: all of DALI's reader.
    seeded:
        Whether the reader takes a seed.
    pipeline_arguments:
        What the exported program gives the pipeline itself for its reader, as Python writes it.
    metavar:
        What the parameter takes, as the usage of the exported program names it.
    directly:
        Given a dataset, or None where it is not known: the argument of DALI's reader that reads it
        without ``find``, or empty.
    argument_name:
        That argument, in a kind of an exported program that has no ``find``.
    guessed:
        Where a path may be of another kind too: by what it was taken for this one, and how to
        choose.
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
    class_counts: Callable[[Dataset], list[int]] | None = None
    without_targets: Callable[[Dataset], int] | None = None
    classes_in: Callable[[Dataset, Sequence[Sample]], Iterator[Collection[int]]] | None = None
    targets: Literal["", "boxes", "masks"] = ""
    explain: Callable[[Dataset, str], str] | None = None
    helpers: str = ""
    imports: tuple[str, ...] = field(default=())
    outputs: tuple[str, ...] = ("jpegs", "labels")
    reader: Callable[..., Any] | None = None
    noun: str = "image"
    pixels: str = ""
    gives_sequences: Callable[[Dataset | None], bool] | None = None
    begins: Mapping[str, int] = field(default_factory=dict, hash=False)
    read_header: Callable[[str], Header] | None = None
    read_content: Callable[[str], str] | None = None
    undecodable: Callable[[Dataset, str], str] | None = None
    unread: Mapping[str, Any] = field(default_factory=dict, hash=False)
    suffixes: tuple[str, ...] = ()
    holder: Callable[[str], str] | None = None
    leave_out: Callable[[Dataset, Collection[str], Path], Path] | None = None
    sample: str = ""
    index: Index | None = None
    decoder: str = ""
    with_targets: tuple[str, ...] = ()
    takes: frozenset[str] = frozenset()
    is_listed: bool = True
    passed_over: Callable[[Dataset], Iterator[str]] = lambda dataset: iter(())
    argument: Callable[[Dataset], Any] | None = None
    told: Callable[[Dataset, Sequence[int]], list[Sample]] | None = None
    looks_ahead: bool = False
    ends_process: str = ""
    options: frozenset[str] | None = None
    seeded: bool = True
    pipeline_arguments: tuple[str, ...] = ()
    metavar: str = "DIR"
    directly: Callable[[Dataset | None], str] = lambda dataset: ""
    argument_name: str = ""
    guessed: str = ""
    precedence: int = 2

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
