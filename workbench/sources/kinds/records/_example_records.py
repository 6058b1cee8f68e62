"""The records of a TFRecord file, and the features of a ``tf.train.Example`` in one.

The exported program has a copy of what finds them: neither TensorFlow nor protobuf is needed.
"""

from __future__ import annotations

import mmap
import os
import re
import struct
from collections.abc import Iterator
from typing import Any


def scan_records(path: str) -> Any:
    """Offset and size of each record of a file, in bytes, with its frame.

    What is damaged or cut short is one, up to where a ``tf.train.Example`` begins again.
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


def first_record(path: str, index: str) -> bytes:
    """The first record that has an image, of the first 64 in an index; else an empty one."""
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
    """Image and label of the first record that has an image; empty where none has."""
    return choose_features(first_record(path, index))


def texts_of(record: bytes, name: str) -> list[str]:
    """The texts of a feature of bytes; none where there is no such feature."""
    for _, start, end in fields_of(record, 0, len(record)):
        for _, first, last in fields_of(record, start, end):
            key, value = list(fields_of(record, first, last))[:2]
            if record[key[1] : key[2]].decode() == name:
                for _, begin, stop in fields_of(record, value[1], value[2]):
                    places = fields_of(record, begin, stop)
                    return [record[at:to].decode(errors="replace") for _, at, to in places]
    return []


def varints_of(data: bytes, start: int, end: int) -> Iterator[int]:
    """The numbers of a packed field."""
    value = shift = 0
    for byte in data[start:end]:
        value, shift = value | (byte & 127) << shift, shift + 7
        if byte < 128:
            yield value
            value = shift = 0


def numbers_of(record: bytes, feature: tuple[str, int, int]) -> list[Any]:
    """The numbers of a feature of ``read_features``; none where it has bytes."""
    kind, start, end = feature
    if kind == "float":
        return list(struct.unpack_from(f"<{(end - start) // 4}f", record, start))
    return list(varints_of(record, start, end)) if kind == "int64" else []
