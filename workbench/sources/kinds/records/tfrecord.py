"""Read TFRecord files of ``tf.train.Example`` records.

The data are a file, a folder of files, or a Python list of files. Image and label features are
determined from the first record. DALI needs an index of each file. The index next to it (``.idx``
by ``tfrecord2idx``) is used; if it is missing, one is created in a temporary folder by reading the
header of each record once. Meanwhile the workbench shows the first samples of large files. Nothing
is written next to the data.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, folder_of
from workbench.sources.class_folders import holds_records
from workbench.sources.file_names import PATTERN_HELPERS, is_pattern, matching_files
from workbench.sources.headers import describe_compression
from workbench.sources.kinds.records._record_index import (
    Entry,
    IndexedFiles,
    Left,
    index_of,
    index_place,
    is_stale_index,
    read_index,
    write_partial,
)
from workbench.sources.record_features import guess_note

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them


# The records of a TFRecord file, and the features of a ``tf.train.Example``.
#
# The exported program has a copy of this code, so that it needs neither TensorFlow nor protobuf.


def scan_records(path: str) -> Any:
    """Yield offset and size in bytes of each record, including the length and checksums around it.

    A damaged or truncated part counts as one record, up to the next ``tf.train.Example``.
    """
    size, offset = os.path.getsize(path), 0
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        while offset < size:
            length = size
            if offset + 8 <= size:
                length = struct.unpack_from("<Q", content, offset)[0] + 16
            if offset + length > size:
                length = next_record(content, offset + 1) - offset
            yield offset, length
            offset += length


def next_record(content: Any, start: int) -> int:
    """Return the offset of the next intact record after damage, or the end of the file."""
    heads = re.compile(rb"(?=.{4}\0{4}.{4}\n)", re.DOTALL)  # a length, a checksum, the first field
    for at in (found.start() for found in heads.finditer(content, start)):
        end = at + 12 + struct.unpack_from("<Q", content, at)[0]
        if end + 4 <= len(content) and next(fields_of(content, at + 12, end), [0] * 3)[2] == end:
            return at
    return len(content)


def fields_of(data: bytes, start: int, end: int) -> Any:
    """Yield the number, start and end of each field of a protobuf message."""

    def varint(at: int) -> tuple[int, int]:
        value = shift = 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value, at

    while start < end:
        key, start = varint(start)
        if key & 7 == 2:
            length, start = varint(start)
            yield key >> 3, start, start + length
            start += length
        elif key & 7 == 0:
            value, start = varint(start)
            yield key >> 3, value, value
        else:
            start += 8 if key & 7 == 1 else 4
            yield key >> 3, start, start


def read_features(record: bytes) -> dict[str, tuple[str, int, int]]:
    """Return type (bytes, float or int64), start and end of each ``tf.train.Example`` feature."""
    found = {}
    for _, start, end in fields_of(record, 0, len(record)):
        for _, first, last in fields_of(record, start, end):
            name, value = list(fields_of(record, first, last))[:2]
            for number, begin, stop in fields_of(record, value[1], value[2]):
                content = list(fields_of(record, begin, stop))
                place = content[0][1:] if content else (begin, stop)
                text = record[name[1] : name[2]].decode()
                found[text] = ({1: "bytes", 2: "float", 3: "int64"}[number], *place)
    return found


def choose_features(record: bytes) -> tuple[str, str]:
    """Return the names of the image and label features of a record, or empty strings."""
    features = read_features(record)
    heads = (b"\xff\xd8", b"\x89PNG", b"BM", b"II*\0", b"MM\0*", b"RIFF", b"P5", b"P6")
    images = [
        name
        for name, (kind, start, _) in features.items()
        if kind == "bytes" and record[start : start + 4].startswith(heads)
    ]
    words = ("label", "class", "target", "cls", "category")
    labels = [
        name
        for word in words
        for name, (kind, *_) in sorted(features.items())
        if kind == "int64" and word in name.lower()
    ]
    other = ("depth", "mask", "seg")
    images.sort(key=lambda name: (any(word in name.lower() for word in other), name))
    return (images or [""])[0], (labels or [""])[0]


def first_record(path: str, index: str) -> bytes:
    """Return the first record with an image among the first 64, or empty bytes."""
    with open(path, "rb") as file, open(index, encoding="utf-8") as lines:
        for _, line in zip(range(64), lines, strict=False):
            offset, size = map(int, line.split())
            file.seek(offset + 12)
            record = file.read(size - 16)
            try:
                if choose_features(record)[0]:
                    return record
            except (IndexError, KeyError, ValueError):
                continue  # it is damaged
    return b""


def first_features(path: str, index: str) -> tuple[str, str]:
    """Return the image and label features of the first record with an image, or empty strings."""
    return choose_features(first_record(path, index))


def texts_of(record: bytes, name: str) -> list[str]:
    """Return the strings of a bytes feature, or an empty list if there is no such feature."""
    for _, start, end in fields_of(record, 0, len(record)):
        for _, first, last in fields_of(record, start, end):
            key, value = list(fields_of(record, first, last))[:2]
            if record[key[1] : key[2]].decode() == name:
                for _, begin, stop in fields_of(record, value[1], value[2]):
                    places = fields_of(record, begin, stop)
                    return [record[at:to].decode(errors="replace") for _, at, to in places]
    return []


def varints_of(data: bytes, start: int, end: int) -> Iterator[int]:
    """Yield the numbers of a packed protobuf field."""
    value = shift = 0
    for byte in data[start:end]:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            yield value
            value = shift = 0


def numbers_of(record: bytes, feature: tuple[str, int, int]) -> list[Any]:
    """Return the numbers of a feature from ``read_features``, or an empty list if it has bytes."""
    kind, start, end = feature
    if kind == "float":
        return list(struct.unpack_from(f"<{(end - start) // 4}f", record, start))
    return list(varints_of(record, start, end)) if kind == "int64" else []


_SUFFIXES = (".tfrecord", ".tfrecords")
_NO_BYTES = "not bytes as in the first record"
"""Fault of a record whose image feature is a list of numbers, which would crash DALI."""
_LABELS = ("label", "class", "target", "cls", "category")
"""Last parts of feature names that identify a label."""


def list_records(data: Any) -> list[str]:
    """Return the files of the data argument: a single file, the files in a folder, or a list."""
    data = matching_files(data) if is_pattern(data) else data
    if not isinstance(data, str):
        return [path for path, _ in data]
    if not os.path.isdir(data):
        return [data]
    names = sorted(name for name in os.listdir(data) if ".tfrecord" in name)
    names = [name for name in names if not name.startswith(".") and not name.endswith(".idx")]
    return [os.path.join(data, name) for name in names]


def find_records(data: Any) -> dict[str, Any]:
    """Return the arguments of the TFRecord reader."""
    paths = list_records(data)
    return indexed_records(paths, [index_of(path, scan_records) for path in paths])


def indexed_records(paths: list[str], indices: list[str]) -> dict[str, Any]:
    """Return the arguments of the TFRecord reader, with the features of the first usable record."""
    from nvidia.dali import tfrecord

    found = (first_features(*files) for files in zip(paths, indices, strict=True))
    image, label = next(filter(any, found), ("", ""))
    features = {image: tfrecord.FixedLenFeature([], tfrecord.string, "")}
    if label:
        features[label] = tfrecord.FixedLenFeature([1], tfrecord.int64, -1)
    return {"path": paths, "index_path": indices, "features": features}


def read_records(**options: Any) -> Any:
    """Return the images and labels of TFRecord files; labels are 0 if records have none."""
    made: Any = fn.readers.tfrecord(**options)
    found = list(made.values())
    labels = found[1] if len(found) > 1 else found[0].shape() * 0
    return found[0], fn.cast(labels, dtype=types.INT32)


def _entries(path: str) -> Iterator[Entry]:
    """Yield the offset and size of each record. Raises ValueError if the index is invalid."""
    index = index_place(path)
    return read_index(index) if os.path.isfile(index) else scan_records(path)


def records_of(path: str) -> Iterator[tuple[int, bytes | None]]:
    """Yield the offset and content of each record. The content of a damaged record is None.

    Raises DataError if the file or its index cannot be read.
    """
    try:
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            for offset, size in _entries(path):
                file.seek(offset)
                frame = file.read(size) if offset + size <= length else b""
                is_whole = len(frame) == size and int.from_bytes(frame[:8], "little") == size - 16
                yield offset + 12, frame[12:-4] if is_whole else None
    except (OSError, ValueError) as error:
        raise DataError(f"{error}. Create the file again, or exclude it.") from None


def _image_and_label(paths: list[str]) -> tuple[str, str]:
    """Return the names of the image and label features. Raises DataError if there is no image."""
    for path in paths:
        for _, record in islice(records_of(path), 64):
            try:
                image, label = choose_features(record or b"\xff")
            except (IndexError, KeyError, ValueError):
                continue  # it is damaged
            if image:
                _require_label(path, label, read_features(record or b""))
                return image, label
    path = paths[0]
    for _, record in records_of(path):
        if record is None:
            raise DataError(
                describe_compression(path)
                or (
                    f"{path}: the record at byte 0 is truncated or damaged. Create the file "
                    "again, or exclude it."
                )
            )
        try:
            features = read_features(record)
        except (IndexError, KeyError, ValueError):
            raise DataError(
                f"{path}: its first record is not a tf.train.Example. Create the file again."
            ) from None
        found = ", ".join(f"{name} ({kind})" for name, (kind, *_) in sorted(features.items()))
        raise DataError(
            f"{path}: no feature of its first record contains an image (found: "
            f"{found or 'none'}). Store the encoded image (JPEG, PNG, ...) as a bytes "
            "feature."
        )
    raise DataError(f"{path} is empty. Use a file with records.")


def _require_label(path: str, label: str, features: dict[str, tuple[str, int, int]]) -> None:
    """Raise DataError if the label feature does not contain integers."""
    for name, (kind, *_) in [] if label else sorted(features.items()):
        if name.rpartition("/")[2].lower() in _LABELS:
            raise DataError(
                f"{path}: the feature {name!r} of its first record is {kind}, but labels must be "
                "int64. Number the classes from 0, or rename the feature to set all labels to 0."
            )


def _require_index(path: str) -> None:
    """Raise DataError if the index next to a file belongs to another file."""
    try:
        index = index_place(path)
    except OSError as error:
        raise DataError(f"{path}: its index cannot be created: {error}.") from None
    beside = os.path.isfile(index) and os.stat(index).st_mtime_ns
    remedy = (
        f"Create it again (`tfrecord2idx {path} {index}`), or remove it: then the workbench "
        "creates a temporary one."
    )
    try:
        is_other = beside and _is_stale(path, index, os.stat(path).st_mtime_ns, beside)
    except (OSError, ValueError) as error:
        raise DataError(f"The index of {path} is damaged: {error}. {remedy}") from None
    if is_other:
        raise DataError(f"{index} is the index of another file, not of {path}. {remedy}")


@lru_cache(maxsize=4096)
def _is_stale(path: str, index: str, *stamps: int) -> bool:
    """Return whether an index belongs to another file. Cached by file times (``stamps``)."""
    with open(path, "rb") as file:
        return is_stale_index(path, index, 0, lambda offset, size: _record_end(file, offset, size))


def _record_end(file: BinaryIO, offset: int, size: int) -> int | None:
    """Return the end of an indexed record, or None if no record of this size starts there."""
    file.seek(offset)
    head = file.read(8)
    is_whole = len(head) == 8 and struct.unpack("<Q", head)[0] + 16 == size
    end = offset + size
    return end if is_whole and end <= os.fstat(file.fileno()).st_size else None


class TFRecord(IndexedFiles):
    """Source kind for TFRecord files with one image and one class per record."""

    about = "TFRecord (.tfrecord, or a folder of these)"
    op = "readers.tfrecord"
    located_by = frozenset({"path", "index_path", "features", "feature_names"})
    find = staticmethod(find_records)
    reader: Callable[..., Any] | None = staticmethod(read_records)
    helpers: tuple[Any, ...] = (
        *PATTERN_HELPERS,
        *(list_records, scan_records, next_record, index_place, index_of, fields_of),
        *(read_features, choose_features, first_record, first_features, indexed_records),
    )
    imports: tuple[str, ...] = ("glob", "hashlib", "mmap", "os", "re", "struct", "tempfile")
    suffixes: tuple[str, ...] = _SUFFIXES
    ending = ".tfrecord"
    find_files = staticmethod(list_records)
    is_record = staticmethod(lambda name: ".tfrecord" in name and not name.endswith(".idx"))
    sample = "tfrecord"
    program_note = (
        "The records are not checked: if one lacks a feature, or has another type or fewer values, "
        "DALI outputs arbitrary values without an error. `workbench export --skip-bad` excludes "
        "such records."
    )
    with_targets: tuple[str, ...] = ("tfrecord_boxes", "tfrecord_features")
    ends_process = _NO_BYTES

    def scan(self, path: str, progress: Callable[[Iterable[Any]], Iterator[Any]]) -> Iterator[Any]:
        return progress(scan_records(path))

    def require(self, dataset: Dataset) -> None:
        self.require_indices(dataset)
        _image_and_label(self.files(dataset))

    def require_indices(self, dataset: Dataset) -> None:
        """Raise DataError if the index next to a file belongs to another file."""
        for path in self.files(dataset):
            _require_index(path)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples in index order.

        Records without the features of the first record are faulty.
        """
        self.require_indices(dataset)
        image, label = _image_and_label(self.files(dataset))
        wanted = {image: "bytes", **({label: "int64"} if label else {})}
        for sample, record in self.examples(dataset):
            if sample.fault:
                yield sample
                continue
            features = read_features(record)
            kinds = {each: features.get(each, ("missing", 0, 0))[0] for each in wanted}
            fault = next(
                (
                    f"its feature {each!r} is {kinds[each]}, {_NO_BYTES.replace('bytes', kind)}"
                    for each, kind in wanted.items()
                    if kinds[each] != kind
                ),
                "",
            )
            _, start, end = features[image] if not fault else ("", 0, 0)
            value = 0
            if label and not fault:
                _, at, stop = features[label]
                packed = list(varints_of(record, at, stop))
                value = packed[0] if packed else at
                if len(packed) > 1:
                    fault = f"its feature {label!r} has {len(packed)} values, but DALI reads one"
            offset, size = sample.offset + start, end - start
            yield sample._replace(label=value, offset=offset, nbytes=size, fault=fault)

    def examples(self, dataset: Dataset) -> Iterator[tuple[Sample, bytes]]:
        """Yield the sample and content of each record in index order. Damaged records are faulty.

        Raises DataError if an index belongs to another file.
        """
        self.require_indices(dataset)
        root = folder_of(dataset)
        for path in self.files(dataset):
            holder = os.path.relpath(path, root)
            for offset, record in records_of(path):
                fault = ""
                if record is None:
                    fault = describe_compression(path) if offset == 12 else ""
                    fault = fault or "the file is damaged or truncated here"
                else:
                    try:
                        read_features(record)
                    except (IndexError, KeyError, ValueError):
                        fault = "it is not a tf.train.Example"
                name = f"{holder} at index {offset - 12}"
                yield Sample(path, name, 0, offset, 0, fault), record or b""

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        """Yield the notes and, if some features are unread, the ones that were found by content."""
        yield from super().unread_notes(dataset)
        if self.targets:
            return  # these are read by name
        with suppress(DataError, IndexError, KeyError, ValueError):
            chosen = list(filter(None, _image_and_label(self.files(dataset))))
            record = next(r for _, r in records_of(self.files(dataset)[0]) if r)
            if others := [name for name in read_features(record) if name not in chosen]:
                yield guess_note("features", chosen, others, f"tfrecord_features:{dataset}")

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        place.mkdir()
        root = folder_of(dataset)
        left: Left = {}
        for path in self.files(dataset):
            holder = os.path.relpath(path, root)
            left[path] = [
                entry for entry in _entries(path) if f"{holder} at index {entry[0]}" not in names
            ]
        return write_partial(
            left, place, numbered=bool(dataset.items) or is_pattern(dataset.location)
        )

    def write_first(self, path: str, count: int, index: Path) -> int:
        with open(path, "rb") as file:
            whole = (entry for entry in _entries(path) if _record_end(file, *entry) is not None)
            lines = [f"{offset} {size}\n" for offset, size in islice(whole, count)]
        index.write_text("".join(lines), encoding="utf-8")
        return len(lines)

    def indexed(self, dataset: Dataset, paths: list[str], indices: list[str]) -> dict[str, Any]:
        return indexed_records(paths, indices)

    def nothing_found(self, dataset: Dataset) -> str:
        return f"There is no record in {dataset}. Use .tfrecord files or a folder of them."

    def accepts(self, path: Path) -> bool:
        if not os.path.isdir(path):
            return path.name.lower().endswith(_SUFFIXES)
        return holds_records(path, self.is_record)

    def write_placeholder(self, folder: Path) -> Path:
        """Write a TFRecord file with a single record that holds an empty image and a label."""

        def field(number: int, content: bytes) -> bytes:
            return bytes([number << 3 | 2, len(content)]) + content

        image = field(1, b"image") + field(2, field(1, field(1, b"\xff\xd8")))
        label = field(1, b"label") + field(2, field(3, field(1, b"\0")))
        record = field(1, field(1, image) + field(1, label))
        path = folder / "samples.tfrecord"
        path.write_bytes(struct.pack("<QI", len(record), 0) + record + bytes(4))
        return path

    def container_of(self, name: str) -> str:
        return name.rpartition(" at index ")[0]


SOURCES = {"tfrecord": TFRecord()}
