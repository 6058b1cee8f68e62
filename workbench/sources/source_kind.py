"""``SourceKind``, the base class of all kinds of source, and ``Sample``."""

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
    """Source code of a function, cached: finding it takes a millisecond."""
    return getsource(function)


class Sample(NamedTuple):
    """One sample of a dataset: the location of its encoded image, its name, and its label.

    The name is the one the reader reports, relative to the root of the dataset.
    """

    path: str
    """The file that contains it."""
    name: str
    label: int
    offset: int = 0
    """Its offset in the file, in bytes."""
    nbytes: int | None = None
    """Its size; None if it is the whole file."""
    fault: str = ""
    """Why the reader cannot read it although its bytes are valid, such as a missing label."""
    with_pillow: bool = False
    """Whether Pillow decodes it instead of DALI."""
    sides: Sequence[int] = ()
    """Width and height for which its annotations were written."""
    mask: str = ""
    """The file with its mask, of the same width and height."""
    mask_place: Sequence[int] = ()
    """Offset and size in bytes of the mask in its file; empty if it is the whole file."""
    remark: str = ""
    """Unusual annotations: a box beyond the edge, or without width or height."""
    counted: bool = True
    """False for a faulty placeholder of entries that belong to no sample."""

    @property
    def size(self) -> int:
        """Its size in bytes. Raises OSError if the file does not exist."""
        return os.stat(self.path).st_size if self.nbytes is None else self.nbytes

    def open(self) -> BinaryIO:
        """Open its bytes as a file that begins at 0. Raises OSError."""
        if self.nbytes is None:
            return open(self.path, "rb")
        with open(self.path, "rb") as holder:
            holder.seek(self.offset)
            return io.BytesIO(holder.read(self.nbytes))

    def open_mask(self) -> BinaryIO:
        """Open the bytes of its mask as a file that begins at 0. Raises OSError."""
        if not self.mask_place:
            return open(self.mask, "rb")
        with open(self.mask, "rb") as holder:
            offset, size = self.mask_place
            holder.seek(offset)
            return io.BytesIO(holder.read(size))

    def with_location(self) -> Sample:
        """The sample with its location in a file; some kinds create it on request."""
        return self


class Header(NamedTuple):
    """Header of a file that is not an image."""

    fault: str = ""
    """Why DALI's reader cannot read it."""
    size: tuple[int, int] | None = None
    """Columns and rows of its images, if known."""
    remarks: tuple[tuple[str, str], ...] = ()
    """Findings about a file that DALI reads: kind and description."""


def folder_of(dataset: Dataset) -> str:
    """The folder of the data: the location, or its parent if it is a file.

    For files listed in Python, their common parent.
    """
    if dataset.location:
        path = os.path.abspath(dataset.location)
        return path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.commonpath([os.path.dirname(path) for path, _ in dataset.items])


def fits_list(file: Sample) -> bool:
    """Whether a file list, which has one file per line, can hold a file: no line breaks."""
    path = os.path.abspath(file.path)
    return "\n" not in path and "\r" not in path


def dump_file_list(files: Iterable[Sample]) -> bytes:
    """Write files as DALI's ``file_list``: an absolute path and a label per line.

    Returns bytes, because names need not be UTF-8. Files that fail ``fits_list`` are omitted.
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
"""Descriptions of data passed directly to an argument of DALI's reader."""


class SourceKind:
    """One way to read data: attributes describe the reader, methods the data.

    A module in ``sources.kinds`` defines a subclass and its only instance, in ``SOURCES``. A kind
    overrides what differs from files that DALI's reader reads one by one. It must define ``about``,
    ``op``, ``located_by``, ``find``, ``require``, ``list_samples``, ``nothing_found`` and
    ``write_placeholder``.
    """

    # Names.

    about: str
    """What it reads, in the exported program's parameter help: ``folder of images``."""
    noun: str = "image"
    """What one sample is called."""
    metavar: str = "DIR"
    """Placeholder of the data parameter in the usage line of the exported program."""
    sample: str = ""
    """Path of this kind's data in the folder written by ``workbench samples --targets``."""
    guessed: str = ""
    """If a path may be of another kind too: why this kind was chosen, and how to override it."""

    # Which data it accepts.

    precedence: int = 2
    """Among kinds that accept a path the highest wins, then the first by name: 4 is a narrower form
    of another kind, 3 records of many samples, 2 samples in their own files, 1 guesses from names
    alone, lists and images that DALI does not decode, 0 any folder."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of files with many samples: a list of these in Python is of this kind."""
    takes: frozenset[str] = frozenset()
    """Other kinds whose data it can read without changing kind."""
    with_targets: tuple[str, ...] = ()
    """Kinds that read the same data with annotations, if a graph uses these."""

    # Its reader in a graph.

    op: str
    """DALI's reader."""
    located_by: frozenset[str]
    """Reader arguments that locate the data. A graph that sets one names its data itself."""
    options: frozenset[str] | None = None
    """Reader options that this kind supports; None: all of DALI's reader."""
    demanding: frozenset[str] = frozenset()
    """Reader options that impose requirements on the data; ``Dataset.options`` has those set."""
    seeded: bool = True
    """Whether the reader accepts a seed."""
    outputs: tuple[str, ...] = ("jpegs", "labels")
    """The output ports of its reader in a graph."""
    pixels: str = ""
    """The output with pixels, if the reader decodes; empty if decoders follow it. The exported code
    then passes ``device`` (``cpu``, ``mixed`` or ``gpu``) to ``reader``."""
    has_sequences: bool = False
    """Whether samples can be sequences of images."""
    begins: ClassVar[Mapping[str, int]] = {}
    """Options added and removed together with the source, such as the frames of a sequence."""
    decoder: str = ""
    """The operator that decodes its images, if not DALI's decoders."""

    # Code in the exported program.

    find: Callable[[Any], dict[str, Any]]
    """Static method that the exported code calls with the data parameter; returns the reader's
    arguments. Its source is exported, so it must be self-contained."""
    reader: Callable[..., Any] | None = None
    """Static method that replaces DALI's reader in the exported code if outputs differ from
    ``outputs``: it accepts the result of ``find`` and the reader's options. Its source is exported.
    The last output must be created last."""
    helpers: tuple[Any, ...] = ()
    """Functions, classes or source text that ``find`` needs, exported before it."""
    imports: tuple[str, ...] = ()
    """Modules that the exported code needs."""
    unread: ClassVar[Mapping[str, Any]] = {}
    """Substitute for the result of ``find`` if a pipeline is built without data: the minimum that
    gives the reader its outputs."""
    argument_name: str = ""
    """The reader argument for the data if the exported program has no ``find``; see
    ``directly``."""
    pipeline_arguments: tuple[str, ...] = ()
    """Arguments of the pipeline itself that its reader needs in an exported program, as Python
    code."""

    # Its samples, and the handling of faulty ones.

    is_listed: bool = True
    """Whether ``list_samples`` lists them; if not, nothing is counted, checked or excluded."""
    in_files: bool = True
    """Whether each sample is a file of its own; if not, ``container_of`` names the file."""
    in_memory: bool = False
    """Whether a process serves its samples from memory, so that no path locates them."""
    targets: Literal["", "boxes", "masks"] = ""
    """The annotations that are counted; empty if a sample has one label."""
    decodes_images: bool = False
    """Whether its reader decodes images, so that an invalid one ends the process."""
    is_indexed: bool = False
    """Whether its reader uses an index, without which it would scan all data."""
    checked_first: bool = False
    """Whether all samples are checked before the reader is built, because it silently skips some
    and ends at others."""
    looks_ahead: bool = False
    """Whether ``list_samples`` reports the first faulty samples quickly: a preview names those that
    the reader accepts silently."""
    ends_process: str = ""
    """Words in a sample's fault that would end the process, for a kind that looks ahead: such a
    sample is excluded in advance."""

    def accepts(self, path: Path) -> bool:
        """Whether a path is of this kind."""
        return False

    def files_in(self, folder: str) -> Iterator[str]:
        """Files of this kind in a folder of images."""
        return iter(())

    def has_unread_masks(self, dataset: Dataset) -> bool:
        """Whether its annotations have masks that its reader outputs only with an option."""
        return False

    def identity(self, dataset: Dataset) -> object:
        """Compares equal for two descriptions of the same data."""
        return dataset.kind, os.path.abspath(dataset.location), dataset.items

    def require(self, dataset: Dataset) -> None:
        """Raise DataError, with a fix, if a dataset cannot be read at all."""
        raise NotImplementedError

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """All samples in the reader's order. Raises DataError."""
        raise NotImplementedError

    def nothing_found(self, dataset: Dataset) -> str:
        """Explain why there are no samples, with a fix."""
        raise NotImplementedError

    def write_placeholder(self, folder: Path) -> Path:
        """Write data of the kind into an empty folder and return their path.

        An exported program is imported with them, which reads nothing.
        """
        raise NotImplementedError

    def argument(self, dataset: Dataset) -> Any:
        """The value passed to the exported program for a dataset."""
        return dataset.location or [list(item) for item in dataset.items]

    def directly(self, dataset: Dataset | None) -> str:
        """The argument with which DALI's reader reads a dataset without ``find``, or empty.

        ``dataset`` is None if it is unknown.
        """
        return ""

    def samples_are_sequences(self, dataset: Dataset | None) -> bool:
        """Whether samples are sequences of images; for None, whether most datasets' are."""
        return self.has_sequences

    def root(self, dataset: Dataset) -> str:
        """The folder that names are relative to."""
        return folder_of(dataset)

    def container_of(self, name: str) -> str:
        """The file, relative to the root, that contains the named sample."""
        return name

    def samples_at(self, dataset: Dataset, places: Sequence[int]) -> list[Sample]:
        """Name and fault of the samples at some indices of an in-memory dataset.

        DALI reports no names; ``samples`` in the pipeline's ``reader_meta`` lists those of a batch.
        """
        raise NotImplementedError

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        """Paths; at least one changes when files are added or removed."""
        return iter([dataset.location] if dataset.location else [])

    def needs_index(self, dataset: Dataset) -> bool:
        """Whether the reader would take seconds before its first sample.

        Without an index it scans all data; meanwhile the ``first`` samples are previewed.
        """
        return False

    def make_index(self, dataset: Dataset, tell: Callable[[int], None]) -> None:
        """Make a missing index in a temporary folder. Raises DataError.

        ``tell`` is called with the number of samples so far; an exception in it stops the work.
        """

    def find_indexed(self, dataset: Dataset, folder: Path) -> dict[str, Any] | None:
        """The result of ``find`` with the index, or None if there is no index.

        The index of the ``first`` samples is made in ``folder``.
        """
        return None

    def class_names(self, dataset: Dataset) -> list[str]:
        """Class names in label order; empty if labels have no names."""
        return []

    def key_point_names(self, dataset: Dataset) -> list[str]:
        """Key point names in order; empty if they have none."""
        return []

    def class_counts(self, dataset: Dataset) -> list[int] | None:
        """Annotations per class, if stored in one place; None: count the samples' labels."""
        return None

    def without_targets(self, dataset: Dataset) -> int:
        """Number of samples without annotations, if stored in one place."""
        return 0

    def classes_in(
        self, dataset: Dataset, samples: Sequence[Sample]
    ) -> Iterator[Collection[int]] | None:
        """The annotation classes of each given sample; None if samples have one label.

        One class per box, or each class of a mask once. Faulty samples are skipped.
        """
        return None

    def explain(self, dataset: Dataset, message: str) -> str:
        """Explain a reader failure from DALI's message, with a fix; empty if unknown."""
        return ""

    def undecodable(self, dataset: Dataset, device: str) -> str:
        """Why its reader cannot decode a dataset on ``cpu`` or ``mixed``, or empty."""
        return ""

    def decoding_remark(self, dataset: Dataset, device: str) -> str:
        """What its reader decodes incorrectly on ``cpu`` or ``mixed``, or empty."""
        return ""

    def read_header(self, path: str) -> Header | None:
        """The header of a non-image file with one of ``suffixes``; None: the kind reads none."""
        return None

    def read_content(self, path: str) -> str:
        """Describe invalid numbers in such a file that its reader accepts, or empty."""
        return ""

    def pillow_only(self, dataset: Dataset) -> Iterator[str]:
        """Names of images that its reader skips and ``pillow_images`` reads."""
        return iter(())

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        """Sentences about files and folders that are not read and about empty class folders.

        Raises OSError.
        """
        return iter(())

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write a dataset without the named samples to ``place`` and return its path.

        It links to the original data; only LMDB is copied. Raises DataError if the reader cannot
        exclude samples.
        """
        if not self.lists_files:
            first = ", ".join(sorted(names)[:3])
            raise DataError(
                f"{dataset}: {len(names):,} samples cannot be used ({first}), and no "
                f"reader can exclude samples of a {self.about}. Create it again without "
                "them."
            )
        return self.write_list(dataset, names, place)

    def write_list(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write DALI's ``file_list`` without the named samples."""
        path = place.with_suffix(".txt")
        path.write_bytes(
            dump_file_list(each for each in self.list_samples(dataset) if each.name not in names)
        )
        return path

    def with_argument(self, argument_name: str) -> SourceKind:
        """A variant of the kind whose program passes the data to an argument of DALI's reader."""
        kind = copy(self)
        kind.argument_name, kind.imports = argument_name, ()
        kind.about = _DIRECTLY[argument_name].format(noun=self.noun)
        kind.metavar = "FILE" if argument_name == "file_list" else "DIR"
        return kind

    @property
    def find_source(self) -> str:
        """Source code of ``helpers``, ``find`` and ``reader``, ending in a line break."""
        return self.decorated_source("")

    def decorated_source(self, decorator: str) -> str:
        """``find_source`` with a decorator above ``find`` and ``reader``, called in a pipeline."""
        if self.argument_name:
            return ""
        called = (self.find, *([self.reader] if self.reader else []))
        texts = [each if isinstance(each, str) else _source(each) for each in self.helpers]
        return "\n\n".join([*texts, *(decorator + _source(each) for each in called)])

    @property
    def remedy(self) -> str:
        """Sentence that suggests sample data of this kind."""
        if not self.sample:
            return "`workbench samples photos` writes some: open photos."
        return f"`workbench samples shapes --annotations` writes some: open shapes/{self.sample}."

    @property
    def lists_files(self) -> bool:
        """Whether samples can be excluded with a list of the others: DALI's ``file_list``."""
        return self.op == "readers.file"


READER_OPTIONS = frozenset(
    {
        *("random_shuffle", "initial_fill", "pad_last_batch", "num_shards", "shard_id"),
        *("stick_to_shard", "prefetch_queue_depth", "dont_use_mmap"),
    }
)
"""Options of DALI's readers that do not decode."""


class Annotated(SourceKind):
    """A kind that is used only if a graph uses its annotations, or if it is named.

    It precedes the kind of the same data in the bases: ``class Masks(Annotated, WebDataset)``.
    """

    options: frozenset[str] | None = READER_OPTIONS
    suffixes: tuple[str, ...] = ()
    with_targets: tuple[str, ...] = ()
    is_indexed = False

    def accepts(self, path: Path) -> bool:
        return False  # most data have one class per image


class AnnotatedBoxes(Annotated):
    """Images with boxes and key points, in the outputs of COCO's reader."""

    outputs = ("jpegs", "boxes", "labels", "polygons", "vertices")
    targets = "boxes"
    options = READER_OPTIONS | {"ltrb", "ratio", "polygon_masks"}


def names_of_numbers(named: Mapping[int, str]) -> list[str]:
    """Class names by number, where 0 is the background; empty if there are no names."""
    if not named:
        return []
    return ["background", *(named.get(each, str(each)) for each in range(1, max(named) + 1))]
