"""What Caffe and Caffe2 store in LMDB: a folder with ``data.mdb``, read by the package ``lmdb``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind, kind_of_functions
from workbench.sources.kinds.records import _lmdb_values
from workbench.sources.kinds.records._example_records import fields_of

FILE = "data.mdb"
_LOOKED_AT = 100
"""Values of which one at least must hold an image."""
_CUT = "cut short"
"""In the fault of a sample at which LMDB ends the process."""

Place = tuple[int, int, int]
"""Of an image in a value: begin and end in bytes, and the label."""


class _Value(NamedTuple):
    key: bytes
    offset: int
    nbytes: int


def _list_values(folder: str) -> Iterator[_Value | int]:
    """Every value of a database by key, with its place in the file in bytes.

    The last item is a number where LMDB stops at a damage: so many values are lost. Raises
    DataError.
    """
    path = os.path.join(folder, FILE)
    if find_spec("lmdb") is None:
        raise DataError(
            f"{path}: the package lmdb reads LMDB. Install it: pip install 'dali-workbench[lmdb]'."
        )
    if not os.path.getsize(path):
        raise DataError(f"{path} cannot be read: it is empty. Write it anew.")
    # The module by its path: the package around it takes longer to import than a file to read.
    program = [sys.executable, str(_lmdb_values.__file__), folder]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            head, found = process.stdout.read(_lmdb_values.COUNT.size), 0
            if not head:
                said = process.stderr.read().decode(errors="replace").strip()
                raise DataError(
                    f"{path} cannot be read: {said or 'it is damaged or cut short'}. Write it anew."
                )
            (count,) = _lmdb_values.COUNT.unpack(head)
            while head := process.stdout.read(_lmdb_values.ENTRY.size):
                offset, nbytes, length = _lmdb_values.ENTRY.unpack(head)
                yield _Value(process.stdout.read(length), offset, nbytes)
                found += 1
            if found < count:
                yield count - found
        finally:
            process.kill()


def _name(holder: str, key: bytes) -> str:
    """As DALI's reader tells of a value."""
    return f"{holder} at key {key.decode(errors='replace')}"


def _database_file(dataset: Dataset) -> str:
    """The file of a database. Raises DataError where it is missing or may not be read."""
    path = os.path.join(dataset.location, FILE)
    if not os.path.isfile(path):
        raise DataError(f"There is no {path}. Give a folder with an LMDB, {FILE}.")
    if not os.access(path, os.R_OK):
        raise DataError(f"The file {path} may not be read. Check its permissions.")
    return path


def _require(dataset: Dataset, place_of: Callable[[bytes], Place | str]) -> None:
    """Raise DataError where there is no value, or none of the first holds an image."""
    found = list(islice(_list_images(dataset, place_of), _LOOKED_AT))
    if not found:
        raise DataError(_nothing_found(dataset))
    if all(each.fault for each in found):
        path = _database_file(dataset)
        raise DataError(f"{path}: of its first value, {found[0].fault}. Write the LMDB anew.")


def _nothing_found(dataset: Dataset) -> str:
    return f"The LMDB {dataset} is empty. Give one with images."


def first_value(folder: Path) -> bytes:
    """The first value of the database in a folder; empty where there is none."""
    try:
        found = os.stat(folder / FILE)
        return _first_value(str(folder), found.st_mtime_ns, found.st_size)
    except (OSError, DataError):
        return b""


@lru_cache(maxsize=8)
def _first_value(folder: str, *stamps: int) -> bytes:
    """As of ``first_value``, of a file of this time of change and size."""
    value = next(_list_values(folder), 0)
    if isinstance(value, int):
        return b""
    with open(os.path.join(folder, FILE), "rb") as file:
        file.seek(value.offset)
        return file.read(value.nbytes)


def _list_images(dataset: Dataset, place_of: Callable[[bytes], Place | str]) -> Iterator[Sample]:
    """By key. ``place_of`` says where in a value the image is, or why there is none."""
    path = _database_file(dataset)
    holder, key = os.path.basename(os.path.abspath(dataset.location)), b""
    try:
        with open(path, "rb") as file:
            for found in _list_values(dataset.location):
                if isinstance(found, int):
                    last = f" after key {key.decode(errors='replace')}" if key else ""
                    for number in range(1, found + 1):
                        name = f"{holder}{last} ({number:,} of {found:,} lost)"
                        yield Sample(path, name, 0, 0, 0, f"its page is damaged or {_CUT}")
                    continue
                key, offset, nbytes = found
                file.seek(offset)
                value = file.read(nbytes)
                try:
                    place = place_of(value) if len(value) == nbytes else f"its value is {_CUT}"
                except (IndexError, ValueError):
                    place = "it is no message of the kind that the first value is"
                if isinstance(place, str):
                    yield Sample(path, _name(holder, key), 0, offset, 0, place)
                else:
                    begin, end, label = place
                    yield Sample(path, _name(holder, key), label, offset + begin, end - begin)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error}. Write it anew.") from None


def fields(message: bytes, start: int = 0, end: int | None = None) -> dict[int, tuple[int, int]]:
    """The last field of each number of a protobuf message: begin and end, or twice its value."""
    whole = fields_of(message, start, len(message) if end is None else end)
    return {number: (first, last) for number, first, last in whole}


def _leave_out(dataset: Dataset, names: Collection[str], folder: Path) -> Path:
    """Copy the values of a database that can be read, without those of these names.

    Raises DataError where there is no room for the copy.
    """
    import lmdb

    path = _database_file(dataset)
    size, free = os.path.getsize(path), shutil.disk_usage(folder).free
    if size > free:
        raise DataError(
            f"{dataset}: {len(names):,} samples cannot be used, and for a copy without these "
            f"{folder} has {free:,} bytes of {size:,}. Make room there, or write the LMDB anew."
        )
    holder = os.path.basename(os.path.abspath(dataset.location))
    values = (each for each in _list_values(dataset.location) if isinstance(each, _Value))
    copy = str(folder / holder)
    with (
        open(path, "rb") as file,
        lmdb.open(copy, map_size=2 * size + 2**20) as database,
        database.begin(write=True) as transaction,
    ):
        for key, offset, nbytes in values:
            if _name(holder, key) not in names:
                file.seek(offset)
                transaction.put(key, file.read(nbytes), append=True)
    return folder / holder


def lmdb_kind(
    name: str,
    op: str,
    find: Callable[[str], dict[str, Any]],
    place_of: Callable[[bytes], Place | str],
    accepts: Callable[[Path], bool],
    precedence: int,
    sample: str,
) -> SourceKind:
    """The kind whose values hold an image where ``place_of`` says, or none for the reason given."""
    return kind_of_functions(
        about=f"LMDB of {name} (a folder with data.mdb)",
        op=op,
        located_by=frozenset({"path"}),
        find=find,
        unread={"path": ["lmdb"]},
        imports=("os",),
        accepts=accepts,
        precedence=precedence,
        require=lambda dataset: _require(dataset, place_of),
        list_samples=lambda dataset: _list_images(dataset, place_of),
        root=lambda dataset: os.path.dirname(os.path.abspath(dataset.location)),
        leave_out=_leave_out,
        holder=lambda name: name.rpartition(" at key ")[0],
        class_names=lambda dataset: [],
        watched=lambda dataset: iter([dataset.location]),
        nothing_found=_nothing_found,
        sample=sample,
        looks_ahead=True,
        ends_process=_CUT,
        write_placeholder=_write_placeholder,
    )


def _write_placeholder(folder: Path) -> Path:
    (folder / FILE).touch()
    return folder
