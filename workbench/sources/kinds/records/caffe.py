"""Read LMDB databases of Caffe and Caffe2 (folders with ``data.mdb``) with the package ``lmdb``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.class_folders import describe_unread, ends_with
from workbench.sources.kinds.records import _lmdb_values
from workbench.sources.kinds.records.tfrecord import fields_of

FILE = "data.mdb"
_LOOKED_AT = 100
"""Number of leading values that are checked; at least one of them must be an image."""
_CUT = "cut short"
"""Words in the fault of a truncated value. Reading such a value makes LMDB end the process."""

Place = tuple[int, int, int]
"""Start and end of an image in a value, in bytes, and its label."""


class _Value(NamedTuple):
    key: bytes
    offset: int
    nbytes: int


def _list_values(folder: str) -> Iterator[_Value | int]:
    """Yield the values of a database in key order, with their byte offsets in the file.

    If LMDB stops at damaged data, the last item is the number of lost values. Raises DataError if
    the database cannot be read.
    """
    path = os.path.join(folder, FILE)
    if find_spec("lmdb") is None:
        raise DataError(
            f"{path}: LMDB needs the package lmdb. Install it: pip install 'dali-workbench[lmdb]'."
        )
    if not os.path.getsize(path):
        raise DataError(f"{path} cannot be read: it is empty. Create it again.")
    # By path: importing its package takes longer than reading a file.
    program = [sys.executable, str(_lmdb_values.__file__), folder]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            head, found = process.stdout.read(_lmdb_values.COUNT.size), 0
            if not head:
                message = process.stderr.read().decode(errors="replace").strip()
                raise DataError(
                    f"{path} cannot be read: {message or 'it is damaged or truncated'}. "
                    "Create it again."
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
    """Return the sample name of a value, in the form that DALI reports."""
    return f"{holder} at key {key.decode(errors='replace')}"


def first_value(folder: Path) -> bytes:
    """Return the first value of the database in a folder, or empty bytes if there is none."""
    try:
        found = os.stat(folder / FILE)
        return _first_value(str(folder), found.st_mtime_ns, found.st_size)
    except (OSError, DataError):
        return b""


@lru_cache(maxsize=8)
def _first_value(folder: str, *stamps: int) -> bytes:
    value = next(_list_values(folder), 0)
    if isinstance(value, int):
        return b""
    with open(os.path.join(folder, FILE), "rb") as file:
        file.seek(value.offset)
        return file.read(value.nbytes)


def fields(message: bytes, start: int = 0, end: int | None = None) -> dict[int, tuple[int, int]]:
    """Map each field number of a protobuf message to the start and end of the field's content.

    For a numeric field, both numbers are its value. If a field is repeated, the last one is used.
    """
    whole = fields_of(message, start, len(message) if end is None else end)
    return {number: (first, last) for number, first, last in whole}


class Lmdb(SourceKind):
    """Base class of source kinds for databases of encoded images with labels."""

    located_by = frozenset({"path"})
    unread: ClassVar = {"path": ["lmdb"]}
    imports = ("os",)
    in_files = False
    looks_ahead = True
    ends_process = _CUT

    def place_of(self, value: bytes) -> Place | str:
        """Return the location of the image in a value, or the reason why it has none."""
        raise NotImplementedError

    def _file(self, dataset: Dataset) -> str:
        """Return the path of the database file. Raises DataError if it is not readable."""
        path = os.path.join(dataset.location, FILE)
        if not os.path.isfile(path):
            raise DataError(
                f"{path} does not exist. Use a folder that contains an LMDB file ({FILE})."
            )
        if not os.access(path, os.R_OK):
            raise DataError(f"The file {path} cannot be read. Check its permissions.")
        return path

    def require(self, dataset: Dataset) -> None:
        """Raise DataError if the database is empty, or if none of the first values has an image."""
        found = list(islice(self.list_samples(dataset), _LOOKED_AT))
        if not found:
            raise DataError(self.nothing_found(dataset))
        if all(each.fault for each in found):
            path = self._file(dataset)
            raise DataError(
                f"{path}: its first value cannot be used: {found[0].fault}. Create the LMDB again."
            )

    def nothing_found(self, dataset: Dataset) -> str:
        return f"The LMDB {dataset} is empty. Add images."

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples in key order."""
        path = self._file(dataset)
        holder, key = os.path.basename(os.path.abspath(dataset.location)), b""
        try:
            with open(path, "rb") as file:
                for found in _list_values(dataset.location):
                    if isinstance(found, int):
                        last = f" after key {key.decode(errors='replace')}" if key else ""
                        for number in range(1, found + 1):
                            name = f"{holder}{last} ({number:,} of {found:,} lost)"
                            yield Sample(path, name, 0, 0, 0, f"its page is damaged or {_CUT}")
                        return
                    key = found.key
                    file.seek(found.offset)
                    yield self._sample(path, _name(holder, key), found, file.read(found.nbytes))
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error}. Create it again.") from None

    def _sample(self, path: str, name: str, entry: _Value, value: bytes) -> Sample:
        """Return the sample of a value; it is faulty if the value is truncated or has no image."""
        try:
            place = self.place_of(value) if len(value) == entry.nbytes else f"its value is {_CUT}"
        except (IndexError, ValueError):
            place = "it is not a message of the same kind as the first value"
        if isinstance(place, str):
            return Sample(path, name, 0, entry.offset, 0, place)
        begin, end, label = place
        return Sample(path, name, label, entry.offset + begin, end - begin)

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Copy the readable values of a database except the named ones.

        Raises DataError if there is no space for the copy.
        """
        import lmdb

        place.mkdir()
        path = self._file(dataset)
        size, free = os.path.getsize(path), shutil.disk_usage(place).free
        if size > free:
            raise DataError(
                f"{dataset}: the copy without unusable samples needs {size:,} bytes, but {place} "
                f"has only {free:,}. Free some space there, or create the LMDB again."
            )
        holder = os.path.basename(os.path.abspath(dataset.location))
        values = (each for each in _list_values(dataset.location) if isinstance(each, _Value))
        copy = str(place / holder)
        with (
            open(path, "rb") as file,
            lmdb.open(copy, map_size=2 * size + 2**20) as database,
            database.begin(write=True) as transaction,
        ):
            for key, offset, nbytes in values:
                if _name(holder, key) not in names:
                    file.seek(offset)
                    transaction.put(key, file.read(nbytes), append=True)
        return place / holder

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        is_read = ends_with(FILE, "lock.mdb")
        yield from describe_unread(dataset.location, is_read, "LMDB file", [""], ())

    def root(self, dataset: Dataset) -> str:
        return os.path.dirname(os.path.abspath(dataset.location))

    def container_of(self, name: str) -> str:
        return name.rpartition(" at key ")[0]

    def write_placeholder(self, folder: Path) -> Path:
        (folder / FILE).touch()
        return folder


# LMDB of Caffe: a folder with ``data.mdb``, whose values are ``Datum`` with an encoded image.

_DATA, _LABEL, _ENCODED = 4, 5, 7


def find_caffe_lmdb(data: str) -> dict[str, Any]:
    """Return the arguments of the LMDB reader for a folder with data.mdb."""
    return {"path": os.path.abspath(data)}


class CaffeLmdb(Lmdb):
    """Source kind for an LMDB database of Caffe."""

    about = "LMDB of Caffe (a folder with data.mdb)"
    op = "readers.caffe"
    find = staticmethod(find_caffe_lmdb)
    precedence = 4
    sample = "caffe"

    def place_of(self, datum: bytes) -> Place | str:
        """Return the location and label of the image in a ``Datum``, or why it has none."""
        found = fields(datum)
        if _DATA not in found:
            return "its Datum has no data"
        if not found.get(_ENCODED, (0, 0))[0]:
            return "its Datum has pixels instead of an encoded image: convert with --encoded"
        return (*found[_DATA], found.get(_LABEL, (0, 0))[0])

    def accepts(self, path: Path) -> bool:
        try:
            return not isinstance(self.place_of(first_value(path)), str)
        except (IndexError, ValueError):
            return False


# LMDB of Caffe2: a folder with ``data.mdb``, whose values are ``TensorProtos``.
#
# The first tensor is a string, the encoded image; the second is a 32-bit integer, its label.

_TYPE, _NUMBERS, _STRING = 2, 4, 6
_IS_STRING = 4
"""Code of the data type string in Caffe2's protobuf messages."""


def find_caffe2_lmdb(data: str) -> dict[str, Any]:
    """Return the arguments of the LMDB reader for a folder with data.mdb."""
    return {"path": os.path.abspath(data)}


class Caffe2Lmdb(Lmdb):
    """Source kind for an LMDB database of Caffe2."""

    about = "LMDB of Caffe2 (a folder with data.mdb)"
    op = "readers.caffe2"
    find = staticmethod(find_caffe2_lmdb)
    precedence = 3
    sample = "caffe2"

    def place_of(self, tensors: bytes) -> Place | str:
        """Return the location and label of the image in ``TensorProtos``, or why it has none."""
        found = [fields(tensors, *place) for _, *place in fields_of(tensors, 0, len(tensors))]
        if not found or found[0].get(_TYPE, (0, 0))[0] != _IS_STRING or _STRING not in found[0]:
            return "its first tensor is not a string with an encoded image"
        if len(found) < 2 or _NUMBERS not in found[1]:
            return "its second tensor is not a 32-bit label"
        begin, end = found[1][_NUMBERS]
        if begin == end:
            return (*found[0][_STRING], begin)
        packed = fields(b"\x08" + tensors[begin:end])  # several in one field; the first counts
        return (*found[0][_STRING], packed[1][0])

    def accepts(self, path: Path) -> bool:
        """Return whether a folder contains any LMDB, even an unsupported one, to report its fault.

        The kind for Caffe is tried first.
        """
        return os.path.isfile(path / FILE)


SOURCES = {"caffe_lmdb": CaffeLmdb(), "caffe2_lmdb": Caffe2Lmdb()}
