"""What Caffe and Caffe2 keep in LMDB: where each value lies in the file, read without a library.

The tree of a database is walked page by page (LMDB's ``mdb.c``, data version 1): a folder with
``data.mdb``, written on a machine of this byte order with 64 bits.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.kinds.records._example_records import fields_of

FILE = "data.mdb"
_META, PAGE = struct.Struct("<IIQQ"), struct.Struct("<QHHHH")
TREE, NODE = struct.Struct("<IHHQQQQQ"), struct.Struct("<HHHH")
_MAGIC, BRANCH, LEAF, _BIG = 0xBEEFC0DE, 1, 2, 1
NO_PAGE = 2**64 - 1
HEAD = 16
"""Bytes before the places of its nodes in a page."""
_LOOKED_AT = 100
"""Values of which one at least must hold an image."""
CUT = "cut short"
"""Of what which LMDB ends the process: it maps the file, and asserts what it reads."""
DEPTH = 32
"""More levels than LMDB itself takes."""


class Value(NamedTuple):
    """One value: its key, and its place and size in the file, in bytes."""

    key: bytes
    offset: int
    nbytes: int


def list_values(path: str) -> Iterator[Value]:
    """Every value of a database file, by key; of a damaged page one without a key, of 0 bytes.

    Raises OSError, and ValueError or struct.error where the file itself is none.
    """
    with open(path, "rb") as file:
        size, root, _ = main_tree(file)
        if root != NO_PAGE:
            yield from _walk(file, size, root, DEPTH)


def main_tree(file: IO[bytes]) -> tuple[int, int, list[int]]:
    """The size of a page, the root's number, and where the file says it, of both its versions.

    Raises ValueError where it is no database.
    """
    head = file.read(16 + _META.size + TREE.size)
    if len(head) < 16 + _META.size + TREE.size:
        raise ValueError("it is empty" if not head else "it is cut short")
    magic, version, *_ = _META.unpack_from(head, 16)
    if magic != _MAGIC or version != 1:
        raise ValueError("it is no LMDB")
    size = TREE.unpack_from(head, 16 + _META.size)[0]
    places = [page * size + 16 + _META.size + TREE.size for page in (0, 1)]
    metas = []
    for place in places:
        file.seek(place)
        tree = file.read(TREE.size + 16)
        metas.append((struct.unpack_from("<Q", tree, TREE.size + 8)[0], tree))
    return size, TREE.unpack_from(max(metas)[1])[-1], places


def name_of(holder: str, key: bytes) -> str:
    """As DALI's reader tells of a value."""
    return f"{holder} at key {key.decode(errors='replace')}"


def _walk(file: Any, size: int, number: int, depth: int) -> Iterator[Value]:
    file.seek(number * size)
    page = file.read(size)
    damaged = Value(b"", number * size, 0)
    if len(page) < size or not depth:
        yield damaged
        return
    _, _, flags, lower, _ = PAGE.unpack_from(page)
    if not flags & (BRANCH | LEAF) or not 16 <= lower <= size or lower % 2:
        yield damaged
        return
    for (at,) in struct.iter_unpack("<H", page[16:lower]):
        try:
            low, high, kind, length = NODE.unpack_from(page, at)
            begin = at + NODE.size + length
            if flags & BRANCH:
                yield from _walk(file, size, low | high << 16 | kind << 32, depth - 1)
                continue
            place = number * size + begin
            if kind & _BIG:
                place = struct.unpack_from("<Q", page, begin)[0] * size + 16
        except struct.error:
            yield damaged
            return
        yield Value(page[at + NODE.size : begin], place, low | high << 16)


def database_file(dataset: Dataset) -> str:
    """The file of a database. Raises DataError where it is missing or may not be read."""
    path = os.path.join(dataset.location, FILE)
    if not os.path.isfile(path):
        raise DataError(f"There is no {path}. Give a folder with an LMDB, {FILE}.")
    if not os.access(path, os.R_OK):
        raise DataError(f"The file {path} may not be read. Check its permissions.")
    return path


def require_images(dataset: Dataset, place_of: Callable[[bytes], Place | str]) -> None:
    """Raise DataError where there is no value, or none of the first holds an image."""
    found = list(islice(list_images(dataset, place_of), _LOOKED_AT))
    if not found:
        raise DataError(no_images(dataset))
    if all(each.fault for each in found):
        path = database_file(dataset)
        raise DataError(f"{path}: of its first value, {found[0].fault}. Write the LMDB anew.")


def no_images(dataset: Dataset) -> str:
    """What is told of a database without values."""
    return f"The LMDB {dataset} is empty. Give one with images."


def root_of(dataset: Dataset) -> str:
    """The folder in which that of a database lies."""
    return os.path.dirname(os.path.abspath(dataset.location))


def first_value(folder: str | Path) -> bytes:
    """The first value of the database in a folder; empty where there is none."""
    path = os.path.join(folder, FILE)
    try:
        first = next((each for each in list_values(path) if each.key), None)
        with open(path, "rb") as file:
            file.seek(first.offset if first else 0)
            return file.read(first.nbytes if first else 0)
    except (OSError, ValueError, struct.error):
        return b""


Place = tuple[int, int, int]
"""Of an image in a value: begin and end in bytes, and the label."""


def list_images(dataset: Dataset, place_of: Callable[[bytes], Place | str]) -> Iterator[Sample]:
    """By key. ``place_of`` says where in a value the image is, or why there is none."""
    path = database_file(dataset)
    holder = os.path.basename(os.path.abspath(dataset.location))
    try:
        with open(path, "rb") as file:
            for key, offset, nbytes in list_values(path):
                if not key:  # LMDB takes none of no bytes
                    name = f"{holder} at byte {offset}"
                    yield Sample(path, name, 0, offset, 0, f"its page is damaged or {CUT}")
                    continue
                file.seek(offset)
                value = file.read(nbytes)
                try:
                    found = place_of(value) if len(value) == nbytes else f"its value is {CUT}"
                except (IndexError, ValueError):
                    found = "it is no message of the kind that the first value is"
                name = name_of(holder, key)
                if isinstance(found, str):
                    yield Sample(path, name, 0, offset, 0, found)
                else:
                    begin, end, label = found
                    yield Sample(path, name, label, offset + begin, end - begin)
    except (OSError, ValueError, struct.error) as error:
        raise DataError(f"{path} cannot be read: {error}. Write it anew.") from None


def fields(message: bytes, start: int = 0, end: int | None = None) -> dict[int, tuple[int, int]]:
    """The last field of each number of a protobuf message: begin and end, or twice its value."""
    whole = fields_of(message, start, len(message) if end is None else end)
    return {number: (first, last) for number, first, last in whole}


def write_database(folder: Path, key: bytes, value: bytes) -> Path:
    """An LMDB of one short value, in a new folder."""
    size = 4096
    free = TREE.pack(size, 0, 0, 0, 0, 0, 0, NO_PAGE)
    main = TREE.pack(0, 0, 1, 0, 1, 0, 1, 2)
    metas = [
        PAGE.pack(page, 0, 8, 0, 0)
        + _META.pack(_MAGIC, 1, 0, 2**20)
        + free
        + main
        + struct.pack("<QQ", 2, page)
        for page in (0, 1)
    ]
    node = NODE.pack(len(value), 0, 0, len(key)) + key + value
    node += bytes(len(node) % 2)
    at = size - len(node)
    leaf = PAGE.pack(2, 0, 2, 18, at) + struct.pack("<H", at)
    folder.mkdir()
    pages = b"".join(meta.ljust(size, b"\0") for meta in metas)
    (folder / FILE).write_bytes(pages + leaf.ljust(at, b"\0") + node)
    return folder
