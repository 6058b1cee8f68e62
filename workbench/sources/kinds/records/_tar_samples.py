"""Find the files, samples and damaged parts of a tar archive, and write its index."""

from __future__ import annotations

import contextlib
import mmap
import os
import tarfile
from collections.abc import Collection, Generator, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from workbench.errors import DataError
from workbench.sources import Sample
from workbench.sources.headers import describe_compression

# The files and the damaged parts of a tar archive.

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 2**20
_MAGIC = 257
"""Offset of the magic string ``ustar`` in a header."""
_NAMES = ("utf-8", "surrogateescape")
"""Encoding and error handler of file names."""


class TarFile(NamedTuple):
    """A file in an archive."""

    name: str
    offset_data: int
    """Offset of the file's content in the archive, in bytes."""
    size: int


class TarDamage(NamedTuple):
    """A damaged part of an archive in which no file was found."""

    at: int
    """Offset of the first damaged byte."""
    end: int
    """Offset of the next intact file, or the size of the archive."""

    @property
    def fault(self) -> str:
        return (
            f"the archive is damaged at byte {self.at:,}, and the next "
            f"{self.end - self.at:,} bytes contain no file"
        )


def files_in_tar(path: str) -> Iterator[TarFile | TarDamage]:
    """Yield the files of an archive in order, and the damaged or truncated parts between them.

    Files after an end marker or a damaged part are found too. Raises DataError if there are no
    files, or if the archive cannot be read.
    """
    try:
        with open(path, "rb") as opened:
            at, end = 0, os.fstat(opened.fileno()).st_size
            while at < end or not end:
                at = yield from _plain_files(opened, at, end)
                if not at or os.pread(opened.fileno(), _BLOCK, at).strip(b"\0"):
                    at = yield from _other_files(opened, at, end)
                zeros, at = at, _skip_zero_blocks(opened, at, end)
                if zeros < at < end and (at := _next_header(opened, at, end)) < end:
                    yield TarDamage(zeros, at)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise DataError(
            describe_compression(path)
            or f"{path} cannot be read as a tar archive: {error}. Create it again, or exclude it."
        ) from None


def _plain_files(opened: BinaryIO, offset: int, end: int) -> Generator[TarFile, None, int]:
    """Yield files with plain headers, ten times as fast as ``tarfile``, and return the end offset.

    A file is accepted only if a plain header or zeros follow it.
    """
    head = os.pread(opened.fileno(), _BLOCK, offset)
    while _is_plain(head) and (digits := head[124:136].strip(b"\0 ")).isdigit():
        size = int(digits, 8)
        following = offset + _BLOCK + -(-size // _BLOCK) * _BLOCK
        behind = os.pread(opened.fileno(), _BLOCK, following)
        if following > end or not (_is_plain(behind) or not behind.strip(b"\0")):
            break
        yield TarFile(head[:100].partition(b"\0")[0].decode(*_NAMES), offset + _BLOCK, size)
        offset, head = following, behind
    return offset


def _is_plain(head: bytes) -> bool:
    """Return whether a block looks like the header of a file with a short name."""
    return head[_MAGIC : _MAGIC + 5] == b"ustar" and head[156:157] == b"0" and not head[345]


def _other_files(
    opened: BinaryIO, offset: int, end: int
) -> Generator[TarFile | TarDamage, None, int]:
    """Yield files found by ``tarfile`` up to the first damage, and return the end offset."""
    opened.seek(offset)
    try:
        with tarfile.open(fileobj=opened, mode="r:", errors=_NAMES[1]) as archive:
            for member in archive:
                if member.offset_data + member.size > end and not member.issparse():
                    offset = member.offset
                    break
                if member.isfile():
                    yield TarFile(member.name, member.offset_data, member.size)
                archive.members = []  # type: ignore[attr-defined]  # it keeps all that it saw
                offset = archive.offset
    except (tarfile.TarError, EOFError, ValueError):
        if not offset and (not end or _next_header(opened, _BLOCK, end) == end):
            raise  # not an archive
    if os.pread(opened.fileno(), _BLOCK, offset).strip(b"\0"):
        damage = TarDamage(offset, _next_header(opened, offset + _BLOCK, end))
        yield damage
        return damage.end
    return offset


def _next_header(opened: BinaryIO, start: int, end: int) -> int:
    """Return the offset of the first file header after ``start``, or the size of the archive."""
    with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = start + _MAGIC
        while (found := content.find(b"ustar", found)) >= 0:
            at = found - _MAGIC
            if at % _BLOCK == 0 and _is_header(content[at : at + _BLOCK]):
                return at
            found += 1
    return end


def _is_header(block: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(block, *_NAMES)
    except tarfile.TarError:
        return False
    return True


def _skip_zero_blocks(opened: BinaryIO, offset: int, end: int) -> int:
    """Return the offset of the first block that is not all zeros, or the size of the archive."""
    for start in range(offset, end, _CHUNK):
        chunk = os.pread(opened.fileno(), _CHUNK, start)
        if rest := chunk.lstrip(b"\0"):
            return start + (len(chunk) - len(rest)) // _BLOCK * _BLOCK
    return end


# The samples of a WebDataset archive: consecutive files with the same base name.

Group = tuple[str, list[tuple[str, TarFile]]]
"""Key of a sample, and the component (suffix) and file of each of its parts."""
_LOOKED_AT = 8
"""Number of samples that are checked to find the components of an archive."""


def groups_in(path: str) -> Iterator[Group | TarDamage]:
    """Yield the key and files of each sample of an archive, and the damaged parts in between.

    A sample ends before a damaged part; its files before that part are intact. Raises DataError if
    the archive cannot be read.
    """
    key = ""
    parts: list[tuple[str, TarFile]] = []
    for found in files_in_tar(path):
        if isinstance(found, TarDamage):
            if parts:
                yield key, parts
                parts = []
            yield found
            continue
        its_key, component = _key_and_component(found.name)
        if not its_key:
            continue
        if parts and its_key != key:
            yield key, parts
            parts = []
        key = its_key
        parts.append((component, found))
    if parts:
        yield key, parts


def first_parts(group: Group) -> dict[str, TarFile]:
    """Return the files of a sample by component. If a component is repeated, the first is used."""
    parts: dict[str, TarFile] = {}
    for component, file in group[1]:
        parts.setdefault(component, file)
    return parts


def hidden_first_file(path: str) -> TarFile | None:
    """Return the first file of an archive if its name starts with a dot, or None.

    DALI skips files with such names, except for the first file, which it treats as a sample.
    """
    with contextlib.suppress(DataError):
        first = next(files_in_tar(path), None)
        if isinstance(first, TarFile) and not _key_and_component(first.name)[0]:
            return first
    return None


def readable_groups(path: str) -> Iterator[Group]:
    """Yield the samples from ``groups_in`` up to the first part that cannot be read."""
    with contextlib.suppress(DataError):
        for group in groups_in(path):
            if not isinstance(group, TarDamage):
                yield group


def first_samples(path: str) -> dict[str, set[str]]:
    """Return the components of the first samples of an archive, by sample key."""
    whole = (group for group in groups_in(path) if not isinstance(group, TarDamage))
    return {key: {part for part, _ in parts} for key, parts in islice(whole, _LOOKED_AT)}


def with_component(
    samples: Iterable[Sample], component: str
) -> Iterator[tuple[Sample, tuple[int, int] | None]]:
    """Yield each sample with the (offset, size in bytes) of its ``component``, or with None.

    Samples must be in archive order; archives are read only as far as needed.
    """
    path = ""
    for sample in samples:
        if sample.path != path:
            path, groups, key, parts = sample.path, readable_groups(sample.path), "", {}
        wanted, _ = _key_and_component(sample.name.rsplit(":", 1)[-1])
        damaged = sample.name.endswith(":damaged")
        while not damaged and key != wanted and (group := next(groups, None)):
            key, parts = group[0], first_parts(group)
        found = parts.get(component) if key == wanted else None
        yield sample, found and (found.offset_data, found.size)


def _key_and_component(name: str) -> tuple[str, str]:
    """Split a file name in an archive into key and component, or return empty strings."""
    start = name.rfind("/") + 1
    dot = name.find(".", start)
    end = len(name) if dot < 0 else dot
    return (name[:end], name[end + 1 :].lower()) if end > start else ("", "")


# Indices of WebDataset archives (``wds2idx``): reading, checking and creating them.


class NamedFiles:
    """The files that an index lists. The index is read only as far as needed."""

    def __init__(self, index: str) -> None:
        self._lines = _indexed(index)
        self._found: dict[int, int] = {}
        """Size in bytes, by offset, of each entry that was read but not queried yet."""

    def contains_any(self, files: Collection[TarFile]) -> bool:
        """Return whether the index lists a file of a sample, and mark the sample as queried."""
        if not self._found:  # while each line is the next sample, the answer comes quickly
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

    def unqueried_offsets(self) -> list[int]:
        while self._read_line():
            pass
        return list(self._found)

    def _read_line(self) -> bool:
        places = next(self._lines, None)
        self._found.update(places or ())
        return places is not None


def require_index(path: str) -> None:
    """Raise DataError if the index next to an archive belongs to another archive."""
    index = os.path.splitext(path)[0] + ".idx"
    if os.path.isfile(index):
        _check_index(path, index, os.stat(path).st_mtime_ns, os.stat(index).st_mtime_ns)


@lru_cache(maxsize=4096)
def _check_index(path: str, index: str, *stamps: int) -> None:
    """Raise DataError if an index is invalid. Cached by modification times (``stamps``)."""
    remedy = f"Create it again (`wds2idx {path} {index}`) or remove it."
    try:
        lines = _indexed(index)
        place, size = next(iter(next(lines).items()))
        count = 1 + sum(1 for _ in lines)
        with open(index, encoding="utf-8", errors="surrogateescape") as opened:
            stated = int(opened.readline().split()[1])
        with open(path, "rb") as file:
            file.seek(place - tarfile.BLOCKSIZE)
            head = tarfile.TarInfo.frombuf(
                file.read(tarfile.BLOCKSIZE), tarfile.ENCODING, "surrogateescape"
            )
    except tarfile.TarError:
        head = None
    except (OSError, ValueError, OverflowError, LookupError, StopIteration):
        raise DataError(f"{index} is not a WebDataset index. {remedy}") from None
    if stated != count:
        raise DataError(f"{index} declares {stated:,} samples but has {count:,}. {remedy}")
    if head is None or head.size != size:
        raise DataError(f"{index} is the index of another archive, not of {path}. {remedy}")


def _indexed(index: str) -> Iterator[dict[int, int]]:
    """Yield, for each line of an index, a mapping from component offset to size in bytes.

    Raises ValueError or LookupError if the file is not an index.
    """
    with open(index, encoding="utf-8", errors="surrogateescape") as lines:
        step = {"v1.1": 3, "v1.2": 4}[next(lines, "").partition(" ")[0]]
        for line in lines:
            parts = line.split()
            yield dict(zip(map(int, parts[1::step]), map(int, parts[2::step]), strict=True))


def index_lines(path: str) -> Iterator[tuple[str, list[int]]]:
    """Yield an index line for each sample of an archive, and the offsets of its components."""
    for _, parts in readable_groups(path):
        fields = [f"{c} {m.offset_data} {m.size} {m.name}" for c, m in parts]
        yield " ".join(fields), [member.offset_data for _, member in parts]


def write_index(path: Path, lines: Collection[str]) -> None:
    text = "".join(f"{line}\n" for line in (f"v1.2 {len(lines)}", *lines))
    path.write_text(text, "utf-8", "surrogateescape")
