"""Indices of files that hold records: two numbers on each line, beside the file or temporary ones.

TFRecord's lines are offset and size in bytes, RecordIO's key and offset.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, SourceKind

Entry = tuple[int, int]
"""One line of an index."""
Left = dict[str, list[Entry]]
"""Of each file the entries that are left."""

_LARGE = 2**28
"""Bytes of files of which all samples are found in a moment, some 100,000 of small photos."""
_TOLD_EACH = 10_000
_LARGE_INDEX = 2**24
"""Bytes: some 300,000 samples of WebDataset."""
_PARTIAL = "# other records of the file are left out\n"
"""The last line of an index that has not all; DALI reads numbers up to it."""


def index_place(path: str) -> str:
    """Where the index of a file is or will be: beside it, or in a temporary folder."""
    for beside in (f"{path}.idx", os.path.splitext(path)[0] + ".idx"):
        if os.path.isfile(beside):
            return beside
    found = os.stat(path)
    known = f"{os.path.abspath(path)} {found.st_mtime_ns} {found.st_size} {os.getuid()}"
    name = hashlib.sha256(known.encode()).hexdigest()[:32]
    folder = os.path.join(tempfile.gettempdir(), f"record-index-{os.getuid()}")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    index = os.path.join(folder, f"{name}.idx")
    if os.stat(folder).st_uid != os.getuid():
        raise PermissionError(f"{folder} is another user's: set TMPDIR")
    return index


def index_of(path: str, scan: Any) -> str:
    """The index of a file: the one beside it, or one made of what ``scan`` finds in it.

    The latter lies in a temporary folder.
    """
    index = index_place(path)
    folder = os.path.dirname(index)
    if not os.path.isfile(index):
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.writelines(f"{first} {second}\n" for first, second in scan(path))
        os.replace(file.name, index)
    return index


def _begins_late(paths: Sequence[str]) -> bool:
    """Whether DALI takes seconds before the first record of files.

    It looks for the records of files without an index, and reads indices as a whole.
    """
    indices = {path: index_place(path) for path in paths}
    indexed = [index for index in indices.values() if os.path.isfile(index)]
    rest = [path for path, index in indices.items() if index not in indexed]
    sizes = [sum(map(os.path.getsize, files)) for files in (rest, indexed)]
    return sizes[0] > _LARGE or sizes[1] > _LARGE_INDEX


def read_index(index: str) -> Iterator[Entry]:
    """Every entry, in the order of the lines. Raises OSError, and ValueError for what is none."""
    with open(index, encoding="utf-8", errors="backslashreplace") as lines:
        for number, line in enumerate(lines, 1):
            if line == _PARTIAL:
                return
            parts = line.split()
            if len(parts) != 2 or not all(map(_is_place, parts)):
                raise ValueError(f"line {number} of {index} is {line.strip()[:40]!r}")
            yield int(parts[0]), int(parts[1])


def _is_place(text: str) -> bool:
    """Whether a text is a number of bytes, or of a record, that a file can have."""
    return text.isascii() and text.isdecimal() and len(text) < 19


def is_partial(index: str) -> bool:
    """Whether it was written by ``write_partial``."""
    with open(index, "rb") as file:
        file.seek(max(0, os.path.getsize(index) - len(_PARTIAL)))
        return file.read() == _PARTIAL.encode()


def is_of_another(
    path: str, index: str, place: int, end_of: Callable[[int, int], int | None]
) -> bool:
    """Whether the index beside a file is that of another.

    Raises OSError, and ValueError for a line that is no entry.

    ``place`` says which number of an entry is where a record begins, ``end_of`` gives where it
    ends, None where none is. Its own has places of records, more than half of those that are looked
    at, and leaves no bytes out at its end: what is damaged or cut short is told record by record.
    """
    if os.path.dirname(os.path.abspath(index)) != os.path.dirname(os.path.abspath(path)):
        return False  # it was made of this very file
    entries = list(read_index(index))
    tried = entries[:: max(1, len(entries) // 16)]
    if 2 * sum(end_of(*entry) is not None for entry in tried) <= len(tried):
        return True
    end = None if is_partial(index) else end_of(*max(entries, key=itemgetter(place)))
    return end is not None and end < os.path.getsize(path)


def write_partial(left: Mapping[str, Sequence[Entry]], folder: Path, *, numbered: bool) -> Path:
    """Links to the files that have entries left, each beside an index of these; the folder.

    ``numbered`` where the order of the files is not that of their names.
    """
    for number, (path, entries) in enumerate(left.items()):
        if entries:
            name = f"{number:06}-{os.path.basename(path)}" if numbered else os.path.basename(path)
            os.symlink(os.path.abspath(path), folder / name)
            lines = "".join(f"{first} {second}\n" for first, second in entries)
            (folder / f"{name}.idx").write_text(lines + _PARTIAL, encoding="utf-8")
    return folder


class IndexedFiles(SourceKind):
    """Files of many samples each, and an index of each for DALI's reader."""

    precedence = 3
    in_files = False
    looks_ahead = True
    is_indexed = True
    file_noun = "file"
    """What one of the files is called."""
    ending: str
    """The usual ending of its name."""
    find_files: Callable[[Any], list[str]]
    """A static method that gives the files of what an exported program is given."""

    def scan(self, path: str, told: Callable[[Iterable[Any]], Iterator[Any]]) -> Iterator[Any]:
        """The two parts of each line of a file's index, of samples that pass through ``told``."""
        raise NotImplementedError

    def files(self, dataset: Dataset) -> list[str]:
        """The files. Raises DataError where there is none, or one that cannot be read."""
        try:
            paths = self.find_files(dataset.argument)
        except OSError as error:
            raise DataError(f"The folder {dataset} cannot be read: {error.strerror}.") from None
        if not paths:
            raise DataError(self.nothing_found(dataset))
        noun, give = self.file_noun, f"a {self.ending}"
        for path in paths:
            if not os.path.isfile(path):
                raise DataError(f"There is no {noun} {path}. Give {give}, or a folder of these.")
            if not os.access(path, os.R_OK):
                raise DataError(f"The {noun} {path} may not be read. Check its permissions.")
        return paths

    def watched(self, dataset: Dataset) -> Iterator[str]:
        """The files, the indices beside them, and the folder they are in."""
        if dataset.location:
            yield dataset.location
        with suppress(OSError):  # the reader says what is wrong
            paths = self.find_files(dataset.argument)
            yield from paths
            yield from (f"{os.path.splitext(path)[0]}.idx" for path in paths)

    def needs_index(self, dataset: Dataset) -> bool:
        return self.is_indexed and _begins_late(self.files(dataset))

    def make_index(self, dataset: Dataset, tell: Callable[[int], None]) -> None:
        """Of each file without one, in a temporary folder."""
        counter = count(1)

        def told(samples: Iterable[Any]) -> Iterator[Any]:
            for sample in samples:
                if (made := next(counter)) % _TOLD_EACH == 0:
                    tell(made)
                yield sample

        for path in self.files(dataset):
            if not os.path.isfile(index_place(path)):
                index_of(path, lambda path: self.scan(path, told))

    def write_first(self, path: str, count: int, index: Path) -> int:
        """Write the index of the first ``count`` samples of a file; how many it has of these."""
        raise NotImplementedError

    def indexed(self, dataset: Dataset, paths: list[str], indices: list[str]) -> dict[str, Any]:
        """What ``find`` gives for some of the files, with their indices."""
        raise NotImplementedError

    def find_indexed(self, dataset: Dataset, folder: Path) -> dict[str, Any] | None:
        paths = self.files(dataset)
        indices = list(map(index_place, paths))
        if not dataset.first:
            found = all(map(os.path.isfile, indices))
            return self.indexed(dataset, paths, indices) if found else None
        indices, left = [], dataset.first
        for path in paths:
            index = folder / f"{len(indices)}.idx"
            left -= self.write_first(path, left, index)
            indices.append(os.fspath(index))
            if not left:
                break
        return self.indexed(dataset, paths[: len(indices)], indices)
