"""Define ``SourceKind``, the base class of all source kinds, and ``Sample``."""

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
from workbench.names import side_pairs
from workbench.sources.file_names import is_pattern, pattern_folder

if TYPE_CHECKING:
    from workbench.sources import Dataset


@cache
def _source(function: Callable[..., Any]) -> str:
    """Return the source code of a function. Cached, because ``getsource`` takes a millisecond."""
    return getsource(function)


class Sample(NamedTuple):
    """One sample of a dataset: the location of its encoded image, its name, and its label.

    The name is relative to the root of the dataset, as the reader reports it.
    """

    path: str
    """Path of the file that contains the sample."""
    name: str
    label: int
    offset: int = 0
    """Offset of the sample in the file, in bytes."""
    nbytes: int | None = None
    """Size in bytes, or None if the sample is the whole file."""
    fault: str = ""
    """Reason why the reader cannot read the sample as intended, such as a missing label."""
    with_pillow: bool = False
    """Whether Pillow decodes the image instead of DALI."""
    sides: Sequence[int] = ()
    """Width and height of the image according to its annotations."""
    mask: str = ""
    """Path of the file with the mask, which has the width and height of the image."""
    mask_place: Sequence[int] = ()
    """Offset and size in bytes of the mask in its file; empty if it is the whole file."""
    remark: str = ""
    """Description of an unusual annotation: a box beyond the edge, or without width or height."""
    has_image: bool = True
    """False for a record without an image, whose bytes are not checked."""
    counted: bool = True
    """False for a placeholder that represents faulty entries without a sample."""

    @property
    def size(self) -> int:
        """Size of the sample in bytes. Raises OSError if the file does not exist."""
        return os.stat(self.path).st_size if self.nbytes is None else self.nbytes

    def open(self) -> BinaryIO:
        """Open the bytes of the sample as a file, or raise OSError."""
        if self.nbytes is None:
            return open(self.path, "rb")
        with open(self.path, "rb") as holder:
            holder.seek(self.offset)
            return io.BytesIO(holder.read(self.nbytes))

    def open_mask(self) -> BinaryIO:
        """Open the bytes of the mask as a file, or raise OSError."""
        if not self.mask_place:
            return open(self.mask, "rb")
        with open(self.mask, "rb") as holder:
            offset, size = self.mask_place
            holder.seek(offset)
            return io.BytesIO(holder.read(size))

    def with_location(self) -> Sample:
        """Return the sample with its path and offset, which some kinds determine on request."""
        return self


class Header(NamedTuple):
    """Header of a file that is not an image."""

    fault: str = ""
    """Reason why DALI's reader cannot read the file; empty if it can."""
    size: tuple[int, int] | None = None
    """Width and height of the images in the file, or None if unknown."""
    remarks: tuple[tuple[str, str], ...] = ()
    """Remarks about a readable file, as (kind, description)."""


def folder_of(dataset: Dataset) -> str:
    """Return the folder of a dataset: its location, or the parent folder of a file.

    For files listed in Python, this is the common parent folder; for a pattern, the folder that is
    searched.
    """
    if is_pattern(dataset.location):
        return pattern_folder(dataset.location)
    if dataset.location:
        path = os.path.abspath(dataset.location)
        return path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.commonpath([os.path.dirname(path) for path, _ in dataset.items])


def fits_list(file: Sample) -> bool:
    """Return whether a ``file_list`` can contain a file: its path has no line break."""
    path = os.path.abspath(file.path)
    return "\n" not in path and "\r" not in path


def dump_file_list(files: Iterable[Sample]) -> bytes:
    """Return the content of a DALI ``file_list``: an absolute path and a label per line.

    The content is bytes, because file names may not be UTF-8. Files that fail ``fits_list`` are
    omitted.
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
"""Description of the data, by reader argument that receives the data unchanged."""


class SourceKind:
    """One way to read data: attributes describe the reader, and methods examine the data.

    A module in ``sources.kinds`` defines a subclass and an instance of it in ``SOURCES``. The
    defaults are for files that DALI's reader reads one by one. A kind must define ``about``,
    ``op``, ``located_by``, ``find``, ``require``, ``list_samples``, ``nothing_found`` and
    ``write_placeholder``.
    """

    # Names.

    about: str
    """Description of the data in the exported program's help, such as ``folder of images``."""
    noun: str = "image"
    """Noun for one sample in messages."""
    metavar: str = "DIR"
    """Placeholder of the data parameter in the usage line of the exported program."""
    sample: str = ""
    """Path of sample data in the folder that ``workbench samples --annotations`` writes."""
    guessed: str = ""
    """Reason why this kind was chosen for an ambiguous path, and how to choose another."""

    # Which data it accepts.

    precedence: int = 2
    """Rank among kinds that accept the same path. The kind with the highest rank is used, or the
    first by name. Ranks are 4 for a narrower form of another kind, 3 for files of many samples
    and images with annotation files, 2 for other samples in their own files, 1 for guesses from
    names alone, lists, and images that DALI does not decode, and 0 for any folder."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of files that contain many samples. A Python list of such files is of this kind."""
    takes: frozenset[str] = frozenset()
    """Names of other kinds whose data a source of this kind can read."""
    with_targets: tuple[str, ...] = ()
    """Names of kinds that read the same data with annotations, for graphs that use annotations."""

    # Its reader in a graph.

    op: str
    """Name of the reader operator."""
    located_by: frozenset[str]
    """Reader arguments that locate the data. A graph that sets one needs no data parameter."""
    options: frozenset[str] | None = None
    """Reader options that this kind supports, or None for all options of DALI's reader."""
    demanding: frozenset[str] = frozenset()
    """Reader options that not all data of this kind support: ``ratio`` needs image sizes."""
    seeded: bool = True
    """Whether the reader accepts a seed."""
    outputs: tuple[str, ...] = ("jpegs", "labels")
    """Names of the reader's output ports in a graph."""
    pixels: str = ""
    """Name of the output with pixels if the reader decodes, or empty if decoders follow. If set,
    the exported code passes ``device`` (``cpu``, ``mixed`` or ``gpu``) to ``reader``."""
    has_sequences: bool = False
    """Whether samples can be sequences of images."""
    begins: ClassVar[Mapping[str, Any]] = {}
    """Reader options that a new source of this kind starts with, such as ``sequence_length``."""
    decoder: str = ""
    """Operator that decodes the images if DALI's decoders cannot, else empty."""

    # Code in the exported program.

    find: Callable[[Any], dict[str, Any]]
    """Static method that converts the data parameter to the reader's arguments. Its code is part of
    the exported program, so it must be self-contained."""
    reader: Callable[..., Any] | None = None
    """Static method that replaces DALI's reader if its outputs differ from ``outputs``. It receives
    the result of ``find`` and the reader's options. Its code is part of the exported program. It
    must create the operator of its last output after all its other operators.
    """
    sampled: Callable[..., Any] | None = None
    """Static method that replaces ``reader`` if the reader has a sampler. None if the samples
    cannot be read in any order; ``with_sampler`` then raises DataError."""
    sampler_helpers: tuple[Any, ...] = ()
    """What ``sampled`` needs in addition to ``helpers``."""
    sampler_options: frozenset[str] = frozenset()
    """Options of the reader that ``sampled`` accepts too."""
    helpers: tuple[Any, ...] = ()
    """Functions, classes or code that ``find`` and ``reader`` need, exported before them."""
    optional_helpers: tuple[Any, ...] = ()
    """Functions that are exported only if the pipeline calls them."""
    imports: tuple[str, ...] = ()
    """Modules that the exported code imports."""
    unread: ClassVar[Mapping[str, Any]] = {}
    """Arguments that replace the result of ``find`` if a pipeline is built without data. They are
    just enough for the reader to have all outputs.
    """
    program_note: str = ""
    """Paragraph in the docstring of exported programs about faults that the program does not
    detect."""
    argument_name: str = ""
    """Reader argument to which the data parameter is passed unchanged, without calling ``find``."""
    pipeline_arguments: tuple[str, ...] = ()
    """Arguments of the exported pipeline that this reader requires, as Python code."""

    # Its samples, and the handling of faulty ones.

    is_listed: bool = True
    """Whether samples can be listed. If not, they are not counted, checked or excluded."""
    in_files: bool = True
    """Whether each sample is a separate file. If not, see ``container_of``."""
    in_memory: bool = False
    """Whether a process serves the samples from memory instead of files."""
    targets: Literal["", "boxes", "masks"] = ""
    """Kind of annotations that are counted by class, or empty if each sample has one label."""
    polygons: str = ""
    """Meaning of the output ``polygons``: ``outlines``, ``key points``, or empty if there is none.
    """
    decodes_images: bool = False
    """Whether the reader itself decodes images. An invalid image then crashes the process."""
    is_indexed: bool = False
    """Whether the reader uses an index. Without an index, the reader scans all data."""
    checked_first: bool = False
    """Whether all samples are checked before the reader is built. This is needed if the reader
    silently skips some faulty samples and stops at others."""
    looks_ahead: bool = False
    """Whether ``list_samples`` finds the first faulty samples quickly. A preview can then report
    samples that the reader accepts silently."""
    ends_process: str = ""
    """Words in the faults that would terminate the process when the sample is read. Such samples
    are excluded in advance, if the kind ``looks_ahead``.
    """

    def accepts(self, path: Path) -> bool:
        """Return whether a path contains data of this kind."""
        return False

    def files_in(self, folder: str) -> Iterator[str]:
        """Yield paths of files of this kind in a folder of images."""
        return iter(())

    def has_unread_masks(self, dataset: Dataset) -> bool:
        """Return whether there are masks that the reader ignores unless an option is set."""
        return False

    def identity(self, dataset: Dataset) -> object:
        """Return a key that is equal for datasets that describe the same data."""
        return dataset.kind, os.path.abspath(dataset.location), dataset.items

    def require(self, dataset: Dataset) -> None:
        """Raise DataError, with a fix, if a dataset cannot be read at all."""
        raise NotImplementedError

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield all samples in the reader's order. Raises DataError if the data cannot be read."""
        raise NotImplementedError

    def nothing_found(self, dataset: Dataset) -> str:
        """Explain why a dataset has no samples, with a fix."""
        raise NotImplementedError

    def write_placeholder(self, folder: Path) -> Path:
        """Write minimal data of this kind to an empty folder and return their path.

        Used to import an exported program without its data.
        """
        raise NotImplementedError

    def argument(self, dataset: Dataset) -> Any:
        """Return the value of the exported program's data parameter for a dataset."""
        return dataset.location or [list(item) for item in dataset.items]

    def start_args(self, dataset: Dataset | None) -> Mapping[str, Any]:
        """Return the reader options of a new source. They may depend on the dataset."""
        return self.begins

    def options_of(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the settings of a source that decide which samples are faulty."""
        return tuple(sorted(option for option in self.demanding if args.get(option)))

    def path_argument(self, dataset: Dataset | None) -> str:
        """Return the reader argument that accepts the data's path (``file_root``), or "".

        If it is empty, the exported program lists the files with the kind's function ``find``.
        ``dataset`` is None if it is unknown.
        """
        return ""

    def samples_are_sequences(self, dataset: Dataset | None) -> bool:
        """Return whether the samples of a dataset are sequences.

        If ``dataset`` is None, return whether samples of this kind usually are sequences.
        """
        return self.has_sequences

    def root(self, dataset: Dataset) -> str:
        """Return the folder that sample names are relative to."""
        return folder_of(dataset)

    def container_of(self, name: str) -> str:
        """Return the path, relative to the root, of the file that contains the named sample."""
        return name

    def samples_at(self, dataset: Dataset, indices: Sequence[int]) -> list[Sample]:
        """Return samples of an in-memory dataset by index; only their names and faults are set.

        DALI reports no names for such data; ``samples`` in the pipeline's ``reader_meta`` returns
        the indices of a batch.
        """
        raise NotImplementedError

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        """Yield the paths to watch: adding or removing files modifies at least one path.

        Images that were read are watched too, but not their annotation files or masks.
        """
        return iter([dataset.location] if dataset.location else [])

    def needs_index(self, dataset: Dataset) -> bool:
        """Return whether the reader needs an index to output its first sample within seconds.

        Without an index it scans all data. Until the index exists, only the first samples
        (``Dataset.first``) are previewed.
        """
        return False

    def make_index(self, dataset: Dataset, report: Callable[[int], None]) -> None:
        """Create a missing index in a temporary folder. Raises DataError if the data are invalid.

        ``report`` is called with the number of samples so far; its exceptions cancel the work.
        """

    def find_indexed(self, dataset: Dataset, folder: Path) -> dict[str, Any] | None:
        """Return the result of ``find`` with an index, or None if this kind uses no index.

        If ``dataset.first`` is set, an index of only these samples is created in ``folder``.
        """
        return None

    def class_names(self, dataset: Dataset) -> list[str]:
        """Return the class names in label order, or an empty list if labels have no names."""
        return []

    def key_point_names(self, dataset: Dataset) -> list[str]:
        """Return the names of the key points in order, or an empty list if they have no names."""
        return []

    def polygons_in(self, dataset: Dataset) -> str:
        """Return the meaning of the output ``polygons`` for a dataset (see ``polygons``)."""
        return self.polygons

    @property
    def has_key_points(self) -> bool:
        """Whether this kind of data has key points with names."""
        return type(self).key_point_names is not SourceKind.key_point_names

    def key_point_pairs(self, dataset: Dataset) -> list[tuple[str, str]]:
        """Return the pairs of key points that a mirror swaps: by default, names with a side.

        If there are pairs, each object must have exactly the points ``key_point_names``, in order.
        """
        return side_pairs(self.key_point_names(dataset))

    def class_counts(self, dataset: Dataset) -> list[int] | None:
        """Return the number of annotations per class if it is known from one file.

        Returns None if labels must be counted.
        """
        return None

    def without_targets(self, dataset: Dataset) -> int:
        """Return the number of samples without annotations; 0 if no single file lists them."""
        return 0

    def classes_in(
        self, dataset: Dataset, samples: Sequence[Sample]
    ) -> Iterator[Collection[int]] | None:
        """Yield the annotation classes of each given sample, or return None.

        Each item has one class per box, or each class of a mask once. Faulty samples are skipped.
        The result is None if each sample has one label.
        """
        return None

    def explain(self, dataset: Dataset, message: str) -> str:
        """Explain a reader failure, with a fix, or return an empty string if the error is unknown.

        ``message`` is DALI's error message.
        """
        return ""

    def undecodable(self, dataset: Dataset, device: str) -> str:
        """Return why the reader cannot decode a dataset on ``cpu`` or ``mixed``, or ""."""
        return ""

    def decoding_remark(self, dataset: Dataset, device: str) -> str:
        """Describe what the reader decodes incorrectly on ``cpu`` or ``mixed``, or return ""."""
        return ""

    def read_header(self, path: str) -> Header | None:
        """Parse the header of a file that is not an image, or return None if unsupported."""
        return None

    def read_content(self, path: str) -> str:
        """Describe invalid numbers in a file that the reader accepts, or return an empty string."""
        return ""

    def pillow_only(self, dataset: Dataset) -> Iterator[str]:
        """Yield names of images that this reader skips but ``pillow_images`` reads."""
        return iter(())

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        """Describe unread files and folders, empty class folders, and assumptions about the data.

        Raises OSError.
        """
        return iter(())

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write a dataset without the named samples to ``place`` and return its path.

        The result links to the original data; only LMDB is copied. Raises DataError if the reader
        cannot exclude samples.
        """
        if not self.lists_files:
            first = ", ".join(sorted(names)[:3])
            raise DataError(
                f"{dataset}: DALI cannot skip samples of this kind of data ({self.about}). Create "
                f"the data again without the {len(names):,} unusable samples ({first})."
            )
        return self.write_list(dataset, names, place)

    def write_list(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Write DALI's ``file_list`` without the named samples, and return its path."""
        path = place.with_suffix(".txt")
        path.write_bytes(
            dump_file_list(each for each in self.list_samples(dataset) if each.name not in names)
        )
        return path

    def with_argument(self, argument_name: str) -> SourceKind:
        """Return a variant of the kind that passes the data to an argument of DALI's reader."""
        kind = copy(self)
        kind.argument_name, kind.imports = argument_name, ()
        kind.about = _DIRECTLY[argument_name].format(noun=self.noun)
        kind.metavar = "FILE" if argument_name == "file_list" else "DIR"
        return kind

    def with_sampler(self) -> SourceKind:
        """Return a variant of the kind that reads samples in the order of a sampler.

        Raises DataError if this kind of data does not support it.
        """
        if self.sampled is None:
            raise DataError(
                f"A sampler needs data whose samples can be read in any order, and {self.about} "
                "can only be read from start to end. Use image files, or a Python dataset."
            )
        kind = copy(self)
        kind.reader, kind.helpers = self.sampled, (*self.helpers, *self.sampler_helpers)
        kind.imports = tuple(sorted({*self.imports, "numpy as np", "os"}))
        kind.path_argument = lambda dataset: ""  # type: ignore[method-assign]  # it lists the files
        return kind

    @property
    def find_source(self) -> str:
        """Code of ``helpers``, ``find`` and ``reader`` for the exported program."""
        return self.decorated_source("")

    def decorated_source(self, decorator: str, calling: str | None = None) -> str:
        """Return the same code as ``find_source``, with a decorator on ``find`` and ``reader``.

        If ``calling``, the code of the pipeline, is passed, unused optional helpers are omitted.
        """
        if self.argument_name:
            return ""
        called = (self.find, *([self.reader] if self.reader else []))
        called += tuple(
            each
            for each in self.optional_helpers
            if calling is None or f"{each.__name__}(" in calling
        )
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
        """Whether samples can be excluded by a ``file_list`` of the remaining files."""
        return self.op == "readers.file"


READER_OPTIONS = frozenset(
    {
        *("random_shuffle", "initial_fill", "pad_last_batch", "num_shards", "shard_id"),
        *("stick_to_shard", "prefetch_queue_depth", "dont_use_mmap"),
    }
)
"""Options that all of DALI's readers of encoded data have."""


class AnnotatedKind(SourceKind):
    """Base class of kinds that are used for graphs with annotations, or if the user names them.

    List it before the kind that reads the same data: ``class Masks(AnnotatedKind, WebDataset)``.
    """

    options: frozenset[str] | None = READER_OPTIONS
    suffixes: tuple[str, ...] = ()
    with_targets: tuple[str, ...] = ()
    is_indexed = False

    def accepts(self, path: Path) -> bool:
        return False  # most data have one class per image


class AnnotatedBoxes(AnnotatedKind):
    """Base class of kinds with boxes and key points, which have the outputs of COCO's reader."""

    outputs = ("jpegs", "boxes", "labels", "polygons", "vertices")
    polygons = "key points"
    targets = "boxes"
    options = READER_OPTIONS | {"ltrb", "ratio", "polygon_masks"}


def names_of_numbers(named: Mapping[int, str]) -> list[str]:
    """Return the class names by class number (0 is the background); empty without names."""
    if not named:
        return []
    return ["background", *(named.get(each, str(each)) for each in range(1, max(named) + 1))]
