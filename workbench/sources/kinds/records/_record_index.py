"""Read and write the index of a record file, next to the file or in a temporary folder.

Each line has two numbers: offset and size in bytes for TFRecord, key and offset for RecordIO.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, SourceKind
from workbench.sources.class_folders import describe_unread

Entry = tuple[int, int]
"""The two numbers of one line of an index."""
Left = dict[str, list[Entry]]
"""Index entries of the remaining samples, by file."""

_LARGE = 2**28
"""Maximum size in bytes of files whose index is created quickly (about 100,000 small photos)."""
_REPORT_INTERVAL = 10_000
_LARGE_INDEX = 2**24
"""Maximum size in bytes of an index that is read quickly (about 300,000 WebDataset samples)."""
_PARTIAL = "# other records of the file are left out\n"
"""Last line of a partial index. DALI stops reading numbers at this line."""


def index_place(path: str) -> str:
    """Return the index path of a file: next to the file, or else in a temporary folder."""
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
        raise PermissionError(
            f"{folder} belongs to another user. Set TMPDIR to a folder of your own"
        )
    return index


def index_of(path: str, scan: Any) -> str:
    """Return the index of a file: an existing index, or a temporary one created with ``scan``."""
    index = index_place(path)
    folder = os.path.dirname(index)
    if not os.path.isfile(index):
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False) as file:
            file.writelines(f"{first} {second}\n" for first, second in scan(path))
        os.replace(file.name, index)
    return index


def _starts_slowly(paths: Sequence[str]) -> bool:
    """Return whether DALI needs seconds to output the first record.

    DALI scans files without an index, and reads index files completely.
    """
    indices = {path: index_place(path) for path in paths}
    indexed = [index for index in indices.values() if os.path.isfile(index)]
    rest = [path for path, index in indices.items() if index not in indexed]
    sizes = [sum(map(os.path.getsize, files)) for files in (rest, indexed)]
    return sizes[0] > _LARGE or sizes[1] > _LARGE_INDEX


def read_index(index: str) -> Iterator[Entry]:
    """Yield the entries of an index in line order, or raise OSError or ValueError."""
    with open(index, encoding="utf-8", errors="backslashreplace") as lines:
        for number, line in enumerate(lines, 1):
            if line == _PARTIAL:
                return
            parts = line.split()
            if len(parts) != 2 or not all(map(_is_place, parts)):
                raise ValueError(f"line {number} of {index} is {line.strip()[:40]!r}")
            yield int(parts[0]), int(parts[1])


def _is_place(text: str) -> bool:
    """Return whether a string is a valid byte offset or record number."""
    return text.isascii() and text.isdecimal() and len(text) < 19


def is_partial(index: str) -> bool:
    """Return whether ``write_partial`` wrote an index."""
    with open(index, "rb") as file:
        file.seek(max(0, os.path.getsize(index) - len(_PARTIAL)))
        return file.read() == _PARTIAL.encode()


def is_stale_index(
    path: str, index: str, place: int, end_of: Callable[[int, int], int | None]
) -> bool:
    """Return whether the index next to a file belongs to a different file.

    ``place`` is the position of the record offset within an entry. ``end_of`` returns the end of
    the record at an entry, or None if no record starts there. An index matches if more than half of
    the checked entries are records and the last record ends at the end of the file; single damaged
    records are reported separately. Raises OSError, and ValueError for an invalid line.
    """
    if os.path.dirname(os.path.abspath(index)) != os.path.dirname(os.path.abspath(path)):
        return False  # made from this very file
    entries = list(read_index(index))
    tried = entries[:: max(1, len(entries) // 16)]
    if 2 * sum(end_of(*entry) is not None for entry in tried) <= len(tried):
        return True
    end = None if is_partial(index) else end_of(*max(entries, key=itemgetter(place)))
    return end is not None and end < os.path.getsize(path)


def write_partial(
    entries_by_file: Mapping[str, Sequence[Entry]], folder: Path, *, numbered: bool
) -> Path:
    """Create a folder of links to files, each with an index of the file's remaining entries.

    With ``numbered``, link names start with numbers that preserve the order of the files.
    """
    for number, (path, entries) in enumerate(entries_by_file.items()):
        if entries:
            name = f"{number:06}-{os.path.basename(path)}" if numbered else os.path.basename(path)
            os.symlink(os.path.abspath(path), folder / name)
            lines = "".join(f"{first} {second}\n" for first, second in entries)
            (folder / f"{name}.idx").write_text(lines + _PARTIAL, encoding="utf-8")
    return folder


class IndexedFiles(SourceKind):
    """Base class of source kinds with many samples per file, for which DALI needs an index."""

    precedence = 3
    in_files = False
    looks_ahead = True
    is_indexed = True
    file_noun = "file"
    """Noun for one file in messages."""
    ending: str
    """Usual suffix of the files."""
    find_files: Callable[[Any], list[str]]
    """Static method that lists the files of the exported program's data argument."""
    is_record: Callable[[str], bool]
    """Static method that returns whether a file of a folder is read, judged by its name."""

    def scan(self, path: str, progress: Callable[[Iterable[Any]], Iterator[Any]]) -> Iterator[Any]:
        """Yield the index entries of a file. ``progress`` wraps an iterable to report progress."""
        raise NotImplementedError

    def files(self, dataset: Dataset) -> list[str]:
        """Return the files. Raises DataError if there are none, or if a file cannot be read."""
        try:
            paths = self.find_files(dataset.argument)
        except OSError as error:
            raise DataError(f"The folder {dataset} cannot be read: {error.strerror}.") from None
        if not paths:
            raise DataError(self.nothing_found(dataset))
        noun, give = self.file_noun, f"a {self.ending}"
        for path in paths:
            if not os.path.isfile(path):
                fix = f"Use {give} or a folder of {self.ending} files."
                if any(each in path for each in "*?[{"):
                    pattern = re.sub(r"\{.*\}", "*", path)
                    fix = (
                        f"Use {give}, a folder or a list of files: sorted(glob.glob({pattern!r}))."
                    )
                raise DataError(f"There is no {noun} {path}. {fix}")
            if not os.access(path, os.R_OK):
                raise DataError(f"The {noun} {path} cannot be read. Check its permissions.")
        return paths

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        if os.path.isdir(place := dataset.location):
            yield from describe_unread(place, self.is_record, self.file_noun, [""], ())

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        if dataset.location:
            yield dataset.location
        with suppress(OSError):  # the reader reports the cause
            paths = self.find_files(dataset.argument)
            yield from paths
            yield from (f"{os.path.splitext(path)[0]}.idx" for path in paths)

    def needs_index(self, dataset: Dataset) -> bool:
        return self.is_indexed and _starts_slowly(self.files(dataset))

    def make_index(self, dataset: Dataset, report: Callable[[int], None]) -> None:
        """Create a temporary index for each file that has none."""
        counter = count(1)

        def counted(samples: Iterable[Any]) -> Iterator[Any]:
            for sample in samples:
                if (made := next(counter)) % _REPORT_INTERVAL == 0:
                    report(made)
                yield sample

        for path in self.files(dataset):
            if not os.path.isfile(index_place(path)):
                index_of(path, lambda path: self.scan(path, counted))

    def write_first(self, path: str, count: int, index: Path) -> int:
        """Write an index of at most ``count`` leading samples, and return their number."""
        raise NotImplementedError

    def indexed(self, dataset: Dataset, paths: list[str], indices: list[str]) -> dict[str, Any]:
        """Return the reader arguments for the files ``paths`` and their indices."""
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
