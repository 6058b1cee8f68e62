"""TFRecord: files of ``tf.train.Example`` records.

A file, a folder of files, or a list of files in Python. The image and the label are found by
looking at the first record. DALI needs an index of each file: one beside it (``.idx``, as
``tfrecord2idx`` makes it) is used, and where it is missing one is made in a temporary folder:
that reads each file once. Nothing is written beside the data.
"""

from __future__ import annotations

import inspect
import mmap
import os
import re
import struct
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources._record_index import (
    Left,
    index_of,
    index_place,
    is_of_another,
    read_index,
    write_partial,
)

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

_SUFFIXES = (".tfrecord", ".tfrecords")


def list_records(data: Any) -> list[str]:
    """The files: one, those of a folder, or those of a list."""
    if not isinstance(data, str):
        return [path for path, _ in data]
    if not os.path.isdir(data):
        return [data]
    names = sorted(name for name in os.listdir(data) if ".tfrecord" in name)
    names = [name for name in names if not name.startswith(".") and not name.endswith(".idx")]
    return [os.path.join(data, name) for name in names]


def scan_records(path: str) -> Any:
    """Offset and size of each record of a file, in bytes, with its frame.

    What is damaged or cut short is one, up to where a ``tf.train.Example`` begins again.
    """
    size, offset, found = os.path.getsize(path), 0, False
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        while offset < size:
            length = size
            if offset + 8 <= size:
                length = struct.unpack_from("<Q", content, offset)[0] + 16
            if offset + length > size:
                length = next_record(content, offset + 1) - offset
                if not found and offset + length == size:
                    raise ValueError(f"{path}: the record at byte {offset} is cut short or damaged")
            found = True
            yield offset, length
            offset += length


def next_record(content: Any, start: int) -> int:
    """Where behind a damage a record begins that has an example and nothing else, or the end."""
    heads = re.compile(rb"(?=.{4}\0{4}.{4}\n)", re.DOTALL)  # a length, a sum, the first field
    for at in (found.start() for found in heads.finditer(content, start)):
        end = at + 12 + struct.unpack_from("<Q", content, at)[0]
        if end + 4 <= len(content) and next(fields_of(content, at + 12, end), [0] * 3)[2] == end:
            return at
    return len(content)


def fields_of(data: bytes, start: int, end: int) -> Any:
    """The fields of a protobuf message: number, and where its content begins and ends."""

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
    """The features of a ``tf.train.Example``: bytes, float or int64, and its place."""
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
    """Name of the image and of the label in a record; empty where there is none."""
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
    return (sorted(images) or [""])[0], (labels or [""])[0]


def first_features(path: str, index: str) -> tuple[str, str]:
    """Image and label of the first record that has an image, of the first 64 in an index."""
    with open(path, "rb") as file, open(index, encoding="utf-8") as lines:
        for _, line in zip(range(64), lines, strict=False):
            offset, size = map(int, line.split())
            file.seek(offset + 12)
            try:
                image, label = choose_features(file.read(size - 16))
            except (IndexError, KeyError, ValueError):
                continue  # it is damaged
            if image:
                return image, label
    return "", ""


def find_records(data: Any) -> dict[str, Any]:
    """Arguments of the TFRecord reader; its features are those of the first record."""
    from nvidia.dali import tfrecord

    paths = list_records(data)
    indices = [index_of(path, scan_records) for path in paths]
    image, label = first_features(paths[0], indices[0])
    features = {image: tfrecord.FixedLenFeature([], tfrecord.string, "")}
    if label:
        features[label] = tfrecord.FixedLenFeature([1], tfrecord.int64, -1)
    return {"path": paths, "index_path": indices, "features": features}


def read_records(**options: Any) -> Any:
    """Images and labels of TFRecord files; labels are 0 where records have none."""
    made: Any = fn.readers.tfrecord(**options)
    found = list(made.values())
    labels = found[1] if len(found) > 1 else found[0].shape() * 0
    return found[0], fn.cast(labels, dtype=types.INT32)


def _paths(dataset: Dataset) -> list[str]:
    """The files. Raises DataError where one is missing or may not be read."""
    try:
        paths = list_records(dataset.argument)
    except OSError as error:
        raise DataError(f"The folder {dataset} cannot be read: {error.strerror}.") from None
    if not paths:
        raise DataError(_nothing_found(dataset))
    for path in paths:
        if not os.path.isfile(path):
            raise DataError(f"There is no file {path}. Give a .tfrecord, or a folder of these.")
        if not os.access(path, os.R_OK):
            raise DataError(f"The file {path} may not be read. Check its permissions.")
    return paths


_HELPERS: tuple[Any, ...] = (
    list_records,
    scan_records,
    next_record,
    index_place,
    index_of,
    fields_of,
    read_features,
    choose_features,
    first_features,
)


def _records(path: str) -> Iterator[tuple[int, bytes | None]]:
    """Offset and content of each record that is in the index, None of what is damaged.

    Raises DataError.
    """
    try:
        with open(path, "rb") as file:
            for offset, size in read_index(index_of(path, scan_records)):
                file.seek(offset)
                frame = file.read(size)
                is_whole = len(frame) == size and int.from_bytes(frame[:8], "little") == size - 16
                yield offset + 12, frame[12:-4] if is_whole else None
    except (OSError, ValueError) as error:
        raise DataError(f"{error}. Write the file anew, or leave it out.") from None


def _chosen(path: str) -> tuple[str, str]:
    """Name of the image and of the label. Raises DataError where there is no image."""
    first = next(_records(path), None)
    if first is None:
        raise DataError(f"{path} is empty. Give a file with records.")
    image, label = first_features(path, index_of(path, scan_records))
    if not image:
        try:
            features = read_features(first[1] or b"\xff")
        except (IndexError, KeyError, ValueError):
            raise DataError(
                f"{path}: its first record is no tf.train.Example. Write the file anew."
            ) from None
        found = ", ".join(f"{name} ({kind})" for name, (kind, *_) in sorted(features.items()))
        raise DataError(
            f"{path}: no feature of its first record holds an image (found: {found or 'none'}). "
            "Write the encoded image (JPEG, PNG, ...) as a feature of bytes."
        )
    return image, label


def _require(dataset: Dataset) -> None:
    for path in (paths := _paths(dataset)):
        stamp = os.stat(path).st_mtime_ns
        try:
            index = index_of(path, scan_records)
        except OSError as error:
            raise DataError(f"{path}: its index cannot be made: {error}.") from None
        except ValueError as error:
            raise DataError(f"{error}. Write the file anew, or leave it out.") from None
        if _is_of_another(path, index, stamp, os.stat(index).st_mtime_ns):
            raise DataError(
                f"{index} is the index of another file than {path}. Make it anew (`tfrecord2idx "
                f"{path} {index}`), or remove it: then the workbench makes one in a temporary "
                "folder."
            )
    _chosen(paths[0])


@lru_cache(maxsize=4096)
def _is_of_another(path: str, index: str, *stamps: int) -> bool:
    """As of ``is_of_another``. ``stamps`` are times of change."""
    with open(path, "rb") as file:
        return is_of_another(path, index, 0, lambda offset, size: _end_of(file, offset, size))


def _end_of(file: BinaryIO, offset: int, size: int) -> int | None:
    """Where a record of the index ends; None where none begins that is so long."""
    file.seek(offset)
    head = file.read(8)
    is_whole = len(head) == 8 and struct.unpack("<Q", head)[0] + 16 == size
    end = offset + size
    return end if is_whole and end <= os.fstat(file.fileno()).st_size else None


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    """In the order of the index. A record that has not the features of the first is at fault."""
    paths, root = _paths(dataset), _root(dataset)
    image, label = _chosen(paths[0])
    for path in paths:
        holder = os.path.relpath(path, root)
        for offset, record in _records(path):
            name = f"{holder} at index {offset - 12}"
            if record is None:
                yield Sample(path, name, 0, offset, 0, "the file is damaged or cut short here")
                continue
            try:
                features = read_features(record)
            except (IndexError, KeyError, ValueError):
                yield Sample(path, name, 0, offset, 0, "it is no tf.train.Example")
                continue
            wanted = {image: "bytes", **({label: "int64"} if label else {})}
            kinds = {each: features.get(each, ("missing", 0, 0))[0] for each in wanted}
            fault = next(
                (
                    f"its feature {each} is {kinds[each]}, not {kind} as in the first record"
                    for each, kind in wanted.items()
                    if kinds[each] != kind
                ),
                "",
            )
            _, start, end = features[image] if not fault else ("", 0, 0)
            value = 0
            if label and not fault:
                _, at, stop = features[label]
                packed = list(_varints(record, at, stop))
                value = packed[0] if packed else at
            yield Sample(path, name, value, offset + start, end - start, fault)


def _leave_out(dataset: Dataset, names: Collection[str], folder: Path) -> Path:
    root = _root(dataset)
    left: Left = {}
    for path in _paths(dataset):
        holder = os.path.relpath(path, root)
        entries = read_index(index_of(path, scan_records))
        left[path] = [entry for entry in entries if f"{holder} at index {entry[0]}" not in names]
    return write_partial(left, folder, numbered=bool(dataset.items))


def _varints(data: bytes, start: int, end: int) -> Iterator[int]:
    value = shift = 0
    for byte in data[start:end]:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            yield value
            value = shift = 0


def _root(dataset: Dataset) -> str:
    if dataset.location:
        path = os.path.abspath(dataset.location)
        return path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.commonpath([os.path.dirname(path) for path, _ in dataset.items])


def _watched(dataset: Dataset) -> Iterator[str]:
    if dataset.location:
        yield dataset.location
    try:
        yield from list_records(dataset.argument)
    except OSError:
        return  # the reader says what is wrong


def _nothing_found(dataset: Dataset) -> str:
    return f"There is no record in {dataset}. Give a .tfrecord, or a folder of these."


def _accepts(path: Path) -> bool:
    if not os.path.isdir(path):
        return path.name.lower().endswith(_SUFFIXES)
    try:
        names = [name for name in os.listdir(path) if not name.startswith(".")]
    except OSError:
        return False
    rest = [name for name in names if ".tfrecord" not in name and not name.endswith(".idx")]
    return bool(names) and not rest


def _write_placeholder(folder: Path) -> Path:
    """One record with an image and a label, of no pixels."""

    def field(number: int, content: bytes) -> bytes:
        return bytes([number << 3 | 2, len(content)]) + content

    image = field(1, b"image") + field(2, field(1, field(1, b"\xff\xd8")))
    label = field(1, b"label") + field(2, field(3, field(1, b"\0")))
    record = field(1, field(1, image) + field(1, label))
    path = folder / "samples.tfrecord"
    path.write_bytes(struct.pack("<QI", len(record), 0) + record + bytes(4))
    return path


SOURCE = SourceKind(
    about="TFRecord (.tfrecord, or a folder of these)",
    op="readers.tfrecord",
    located_by=frozenset({"path", "index_path", "features", "feature_names"}),
    find=find_records,
    reader=read_records,
    helpers="\n\n".join(map(inspect.getsource, _HELPERS)),
    leave_out=_leave_out,
    imports=("hashlib", "mmap", "os", "re", "struct", "tempfile"),
    suffixes=_SUFFIXES,
    holder=lambda name: name.rpartition(" at index ")[0],
    accepts=_accepts,
    require=_require,
    list_samples=_list_samples,
    root=_root,
    class_names=lambda dataset: [],
    watched=_watched,
    nothing_found=_nothing_found,
    sample="tfrecord",
    write_placeholder=_write_placeholder,
)
