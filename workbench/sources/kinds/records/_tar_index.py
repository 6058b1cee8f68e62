"""Indices of WebDataset archives (``wds2idx``): what they name, whose they are, how one is made."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path

from workbench.errors import DataError
from workbench.sources.kinds.records._tar_files import TarFile
from workbench.sources.kinds.records._tar_samples import whole_groups


class NamedFiles:
    """The files that an index names; it is read as far as they are asked for."""

    def __init__(self, index: str) -> None:
        self._lines = _indexed(index)
        self._found: dict[int, int] = {}
        """Place and size in bytes of those that were not asked for yet."""

    def take_any(self, files: Collection[TarFile]) -> bool:
        """Whether it names one of the files of a sample, all of which count as asked for."""
        if not self._found:  # as long as each line is the next sample, which is soon told
            self._read_line()
            if self._found == {file.offset_data: file.size for file in files}:
                self._found.clear()
                return True
        return sum(map(self._take, files)) > 0

    def _take(self, file: TarFile) -> bool:
        while file.offset_data not in self._found and self._read_line():
            pass
        if self._found.get(file.offset_data) != file.size:
            return False
        return self._found.pop(file.offset_data) is not None

    def left(self) -> list[int]:
        """Where those begin that were not asked for."""
        while self._read_line():
            pass
        return list(self._found)

    def _read_line(self) -> bool:
        places = next(self._lines, None)
        self._found.update(places or ())
        return places is not None


def require_index(path: str) -> None:
    """Raise DataError where the index beside an archive is that of another."""
    index = os.path.splitext(path)[0] + ".idx"
    if os.path.isfile(index):
        _look_at_index(path, index, os.stat(path).st_mtime_ns, os.stat(index).st_mtime_ns)


@lru_cache(maxsize=4096)
def _look_at_index(path: str, index: str, *stamps: int) -> None:
    """As of ``require_index``. ``stamps`` are times of change."""
    remedy = f"Make it anew (`wds2idx {path} {index}`) or remove it."
    try:
        lines = _indexed(index)
        place, size = next(iter(next(lines).items()))
        count = 1 + sum(1 for _ in lines)
        with open(index, encoding="utf-8", errors="surrogateescape") as opened:
            told = int(opened.readline().split()[1])
        with open(path, "rb") as file:
            file.seek(place - tarfile.BLOCKSIZE)
            head = tarfile.TarInfo.frombuf(
                file.read(tarfile.BLOCKSIZE), tarfile.ENCODING, "surrogateescape"
            )
    except tarfile.TarError:
        head = None
    except (OSError, ValueError, OverflowError, LookupError, StopIteration):
        raise DataError(f"{index} is no index of a WebDataset. {remedy}") from None
    if told != count:
        raise DataError(
            f"{index} begins with the number {told:,}, and has {count:,} samples. {remedy}"
        )
    if head is None or head.size != size:
        raise DataError(f"{index} is the index of another archive than {path}. {remedy}")


def _indexed(index: str) -> Iterator[dict[int, int]]:
    """Of each line of an index the places of its components, and their sizes, in bytes.

    Raises ValueError, or LookupError, for what is no index.
    """
    with open(index, encoding="utf-8", errors="surrogateescape") as lines:
        step = {"v1.1": 3, "v1.2": 4}[next(lines, "").partition(" ")[0]]
        for line in lines:
            parts = line.split()
            yield dict(zip(map(int, parts[1::step]), map(int, parts[2::step]), strict=True))


def index_lines(path: str) -> Iterator[tuple[str, list[int]]]:
    """The line of an index for each sample of an archive, and where its components begin."""
    for _, parts in whole_groups(path):
        fields = [f"{c} {m.offset_data} {m.size} {m.name}" for c, m in parts]
        yield " ".join(fields), [member.offset_data for _, member in parts]


def write_index(path: Path, lines: Collection[str]) -> None:
    text = "".join(f"{line}\n" for line in (f"v1.2 {len(lines)}", *lines))
    path.write_text(text, "utf-8", "surrogateescape")
