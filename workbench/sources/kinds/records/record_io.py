"""Read RecordIO files of MXNet, whose records have a header, a label and an encoded image.

The data are one file (``.rec``), or a folder with one, because DALI accepts a single index. The
index next to the file (``.idx`` by ``im2rec`` or ``rec2idx``) is used. If it is missing, one is
created in a temporary folder by reading the header of each record once. Nothing is written next to
the data. Labels are numbers without names. A graph expects one label per record; the reader outputs
all labels of a record.
"""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind, folder_of
from workbench.sources.class_folders import describe_unread, ends_with, holds_records
from workbench.sources.file_names import is_hidden
from workbench.sources.kinds.records._record_index import (
    index_of,
    index_place,
    is_stale_index,
    read_index,
    write_partial,
)

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

_SUFFIX = ".rec"
_MAGIC = 0xCED7230A
_LABELS = 64
"""Maximum number of labels per record that are checked."""
_OTHER_KIND = "record_io_labels"
_HEADER = struct.Struct("<IfQQ")
"""Record header: number of labels after the header (0: only the next field), label, two ids."""


def scan_record_file(path: str) -> Any:
    """Yield the number and offset of each record of a RecordIO file.

    A damaged or truncated part counts as one record, up to where a record begins again.
    """
    size, offset, number = os.path.getsize(path), 0, 0
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        while offset < size:
            head = content[offset : offset + 8]
            magic, length = struct.unpack("<II", head) if len(head) == 8 else (0, 0)
            end = offset + 8 + ((length & 0x1FFFFFFF) + 3) // 4 * 4
            if magic != 0xCED7230A or end > size:
                end, length = offset + 4, 0
                while end < size and (end := content.find(b"\x0a\x23\xd7\xce", end)) % 4:
                    end = end + 1 if end > 0 else size
                if not number and end >= size:
                    raise ValueError(f"{path}: the record at byte {offset} is truncated or damaged")
            if length >> 29 in (0, 1):  # others continue the previous one
                yield number, offset
                number += 1
            offset = end


def find_record_file(data: str) -> dict[str, Any]:
    """Return the arguments of the RecordIO reader: a file, or the only file in a folder.

    An index is created if there is none.
    """
    if os.path.isdir(data):
        names = (name for name in os.listdir(data) if not name.startswith("."))
        (name,) = (name for name in names if name.lower().endswith(".rec"))
        data = os.path.join(data, name)
    return {"path": [data], "index_path": [index_of(data, scan_record_file)]}


def find_float_labels(data: str) -> dict[str, Any]:
    """Return the arguments of the RecordIO reader, whose labels are not converted to integers."""
    return find_record_file(data)


def read_record_file(**options: Any) -> Any:
    """Return the images and labels of a RecordIO file. Float labels become integers."""
    made: Any = fn.readers.mxnet(**options)
    jpegs, labels = made
    return jpegs, fn.cast(labels, dtype=types.INT32)


def _offsets(path: str) -> Sequence[int]:
    """Return the offsets of the records in file order. Raises DataError if the index is invalid."""
    index = _index(path)
    return _sorted_offsets(path, index, os.stat(path).st_mtime_ns, os.stat(index).st_mtime_ns)


def _index(path: str) -> str:
    try:
        return index_of(path, scan_record_file)
    except (OSError, ValueError) as error:
        raise DataError(
            f"The index cannot be created: {error}. Create the file again, or exclude it."
        ) from None


@lru_cache(maxsize=4)
def _sorted_offsets(path: str, index: str, *stamps: int) -> Sequence[int]:
    remedy = (
        f"Create it again (`rec2idx {path} {index}`), or remove it: then the workbench creates a "
        "temporary one."
    )
    try:
        with open(path, "rb") as file:
            is_other = is_stale_index(path, index, 1, lambda key, offset: _record_end(file, offset))
    except (OSError, ValueError) as error:
        raise DataError(f"The index of {path} is damaged: {error}. {remedy}") from None
    if is_other:
        raise DataError(f"{index} is the index of another file, not of {path}. {remedy}")
    return array("q", sorted(offset for _, offset in read_index(index)))


def _record_end(file: BinaryIO, offset: int) -> int | None:
    """Return the end of the record at an offset, or None if no record starts there.

    For a record of several parts, the end of the file is returned.
    """
    file.seek(offset)
    head, size = file.read(8), os.fstat(file.fileno()).st_size
    magic, length = struct.unpack("<II", head) if len(head) == 8 else (0, 0)
    if magic != _MAGIC:
        return None
    return size if length >> 29 == 1 else offset + 8 + ((length & 0x1FFFFFFF) + 3) // 4 * 4


def _sample(path: str, name: str, offset: int, head: bytes, size: int, integers: bool) -> Sample:
    """Return the sample of a record, given its first bytes and the size of its file.

    If ``integers``, a label that is not an integer of 32 bits is a fault.
    """
    if len(head) < 8 + _HEADER.size:
        return Sample(path, name, 0, offset, 0, "its record is truncated")
    magic, length = struct.unpack_from("<II", head)
    if magic != _MAGIC:
        return Sample(path, name, 0, offset, 0, "the file is damaged here")
    count, label, _, _ = _HEADER.unpack_from(head, 8)
    begin = offset + 8 + _HEADER.size + 4 * count
    end = offset + 8 + (length & 0x1FFFFFFF)
    if not begin <= end <= size:
        return Sample(path, name, 0, offset, 0, "its header is damaged")
    if length >> 29:
        return Sample(path, name, 0, offset, 0, "its record is split into several parts")
    start = 8 + _HEADER.size
    most = min(count, _LABELS, (len(head) - start) // 4)
    labels = struct.unpack_from(f"<{most}f", head, start) or (label,)
    wrong = [each for each in labels if not (each.is_integer() and abs(each) < 2**31)]
    fault = ""
    if integers and wrong:
        fault = (
            f"its label is {wrong[0]:g}, which is not an integer. Open {_OTHER_KIND}:{path} to "
            "read it as a float"
        )
    label = 0 if count > 1 or wrong else int(labels[0])
    return Sample(path, name, label, begin, end - begin, fault)


def _name(holder: str, offset: int) -> str:
    """Return the sample name of the record at a byte offset, in the form that DALI reports."""
    return f"{holder} at index {offset}"


def _names(folder: str | Path) -> list[str]:
    shown = (name for name in os.listdir(folder) if not is_hidden(name))
    return sorted(name for name in shown if name.lower().endswith(_SUFFIX))


class RecordIO(SourceKind):
    """Source kind for images in a RecordIO file of MXNet."""

    about = "RecordIO (.rec, or a folder with one)"
    op = "readers.mxnet"
    located_by = frozenset({"path", "index_path"})
    find = staticmethod(find_record_file)
    reader: Callable[..., Any] | None = staticmethod(read_record_file)
    helpers: tuple[Any, ...] = (scan_record_file, index_place, index_of)
    imports = ("hashlib", "mmap", "os", "struct", "tempfile")
    precedence = 3
    sample = "recordio"
    with_targets = (_OTHER_KIND,)
    looks_ahead = True
    in_files = False

    def _path(self, dataset: Dataset) -> str:
        """Return the path of the file. Raises DataError if it is missing or not readable."""
        path = dataset.location
        if os.path.isdir(path):
            names = _names(path)
            if len(names) != 1:
                present = ", ".join(names[:3]) or "none"
                raise DataError(
                    f"{path} has {len(names)} RecordIO files ({present}), but DALI reads "
                    "only one. Use the path of one file."
                )
            path = os.path.join(path, names[0])
        if not os.path.isfile(path):
            raise DataError(f"There is no file {path}. Use a RecordIO file, {_SUFFIX}.")
        if not os.access(path, os.R_OK):
            raise DataError(f"The file {path} cannot be read. Check its permissions.")
        if not os.path.getsize(path):
            raise DataError(f"{path} is empty. Use a file with records.")
        return path

    def require(self, dataset: Dataset) -> None:
        first = next(self.list_samples(dataset), None)
        if first is not None and _OTHER_KIND in first.fault:
            raise DataError(f"{dataset}: in its first record, {first.fault}.")

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        path, root = self._path(dataset), folder_of(dataset)
        holder, size = os.path.relpath(path, root), os.path.getsize(path)
        with open(path, "rb") as file:
            for offset in _offsets(path):
                file.seek(offset)
                head = file.read(8 + _HEADER.size + 4 * _LABELS)
                name = _name(holder, offset)
                yield _sample(path, name, offset, head, size, self.reader is not None)

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        place.mkdir()
        path = self._path(dataset)
        holder = os.path.relpath(path, folder_of(dataset))
        entries = sorted(read_index(_index(path)), key=itemgetter(1))
        left = [entry for entry in entries if _name(holder, entry[1]) not in names]
        write_partial({path: left}, place, numbered=False)
        return place / os.path.basename(path)

    def accepts(self, path: Path) -> bool:
        """Return whether a path is a RecordIO file, or a folder of such files and indices."""
        if not os.path.isdir(path):
            return path.suffix.lower() == _SUFFIX
        return holds_records(path, ends_with(_SUFFIX))

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        if os.path.isdir(place := dataset.location):
            yield from describe_unread(place, ends_with(_SUFFIX), "RecordIO file", [""], ())

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        yield dataset.location
        with suppress(DataError):
            yield self._path(dataset)

    def write_placeholder(self, folder: Path) -> Path:
        """Write a RecordIO file with a single record that holds an empty image."""
        content = _HEADER.pack(0, 0, 0, 0) + b"\xff\xd8\xff\xd9"
        path = folder / "samples.rec"
        path.write_bytes(struct.pack("<II", _MAGIC, len(content)) + content)
        return path

    def container_of(self, name: str) -> str:
        return name.rpartition(" at index ")[0]

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no record in {dataset}. Use a file with records."


class RecordIOLabels(RecordIO):
    """Source kind for images in a RecordIO file with several labels, or labels with fractions."""

    about = "RecordIO with float labels"
    op = "readers.mxnet_labels"
    find = staticmethod(find_float_labels)
    reader = None
    helpers = (*RecordIO.helpers, find_record_file)
    outputs = ("jpegs", "values")
    demanding = frozenset({"label_width"})
    begins: ClassVar[Mapping[str, int]] = {"label_width": 1}
    takes = frozenset({"record_io"})
    unread: ClassVar[Mapping[str, Any]] = {"path": ["-"], "index_path": ["-"]}

    def accepts(self, path: Path) -> bool:
        return False  # by default, a record has one integer

    def start_args(self, dataset: Dataset | None) -> Mapping[str, Any]:
        """Return the number of labels of the first record."""
        counts = map(_label_count, super().list_samples(dataset)) if dataset else iter(())
        return {"label_width": next(counts, 1)}

    def options_of(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        return (str(args.get("label_width", 1)),)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples. Records whose number of labels differs from the first are faulty."""
        wanted = dataset.options[0] if dataset.options else None
        for sample in super().list_samples(dataset):
            count = _label_count(sample)
            wanted = wanted or str(count)
            if count and str(count) != wanted:
                sample = sample._replace(fault=f"it has {count} labels, not {wanted}")
            elif sample.fault.startswith("its label is"):
                sample = sample._replace(fault="")
            yield sample._replace(label=0)


def _label_count(sample: Sample) -> int:
    """Return the number of labels of a record, or 0 if the record is damaged."""
    at = int(sample.name.rpartition(" at index ")[2])
    with open(sample.path, "rb") as file:
        file.seek(at)
        head = file.read(8 + _HEADER.size)
    if len(head) < 8 + _HEADER.size or struct.unpack_from("<I", head)[0] != _MAGIC:
        return 0
    return _HEADER.unpack_from(head, 8)[0] or 1


SOURCES = {"record_io": RecordIO(), "record_io_labels": RecordIOLabels()}
