"""Files, samples, index and damage of a tar archive."""

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

# The files in a tar archive, and what of it is damaged.

_BLOCK = tarfile.BLOCKSIZE
_CHUNK = 2**20
_MAGIC = 257
"""Where in a header ``ustar`` stands."""
_NAMES = ("utf-8", "surrogateescape")
"""How names are read."""


class TarFile(NamedTuple):
    """A file in an archive."""

    name: str
    offset_data: int
    """Where its content begins, in bytes."""
    size: int


class TarDamage(NamedTuple):
    """A part of an archive in which no file can be found."""

    at: int
    """Where it begins, in bytes."""
    end: int
    """Where files begin again, or the archive's end."""

    @property
    def fault(self) -> str:
        """What is wrong, in words."""
        return (
            f"the archive: it is damaged at byte {self.at:,}, and no file is found in the "
            f"{self.end - self.at:,} bytes from there on"
        )


def files_in_tar(path: str) -> Iterator[TarFile | TarDamage]:
    """The files of an archive in their order, and what is damaged between them or cut short.

    Files that stand behind its end are found too, as behind a damage. Raises DataError where there
    is no file at all, and for what cannot be read.
    """
    try:
        with open(path, "rb") as opened:
            at, end = 0, os.fstat(opened.fileno()).st_size
            while at < end or not end:
                at = yield from _plain_files(opened, at, end)
                if not at or os.pread(opened.fileno(), _BLOCK, at).strip(b"\0"):
                    at = yield from _other_files(opened, at, end)
                zeros, at = at, _behind_zeros(opened, at, end)
                if zeros < at < end and (at := _next_header(opened, at, end)) < end:
                    yield TarDamage(zeros, at)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise DataError(
            describe_compression(path)
            or f"{path} cannot be read as a tar archive: {error}. Write it again, or leave it out."
        ) from None


def _plain_files(opened: BinaryIO, at: int, end: int) -> Generator[TarFile, None, int]:
    """Files with plain headers, in a tenth of the time that ``tarfile`` takes; where they end.

    The last of these is followed by another such header or zeros: so its own can be believed.
    """
    head = os.pread(opened.fileno(), _BLOCK, at)
    while _is_plain(head) and (digits := head[124:136].strip(b"\0 ")).isdigit():
        size = int(digits, 8)
        following = at + _BLOCK + -(-size // _BLOCK) * _BLOCK
        behind = os.pread(opened.fileno(), _BLOCK, following)
        if following > end or not (_is_plain(behind) or not behind.strip(b"\0")):
            break
        yield TarFile(head[:100].partition(b"\0")[0].decode(*_NAMES), at + _BLOCK, size)
        at, head = following, behind
    return at


def _is_plain(head: bytes) -> bool:
    """Whether a block begins as the header of a file with a short name does."""
    return head[_MAGIC : _MAGIC + 5] == b"ustar" and head[156:157] == b"0" and not head[345]


def _other_files(opened: BinaryIO, at: int, end: int) -> Generator[TarFile | TarDamage, None, int]:
    """Files by ``tarfile``, which reads every header, up to a damage and this; where they end."""
    opened.seek(at)
    try:
        with tarfile.open(fileobj=opened, mode="r:", errors=_NAMES[1]) as archive:
            for member in archive:
                if member.offset_data + member.size > end and not member.issparse():
                    at = member.offset
                    break
                if member.isfile():
                    yield TarFile(member.name, member.offset_data, member.size)
                archive.members = []  # type: ignore[attr-defined]  # it keeps all that it saw
                at = archive.offset
    except (tarfile.TarError, EOFError, ValueError):
        if not at and (not end or _next_header(opened, _BLOCK, end) == end):
            raise  # it is no archive
    if os.pread(opened.fileno(), _BLOCK, at).strip(b"\0"):
        damage = TarDamage(at, _next_header(opened, at + _BLOCK, end))
        yield damage
        return damage.end
    return at


def _next_header(opened: BinaryIO, start: int, end: int) -> int:
    """Where from a block on the first header of a file stands, or the archive's end."""
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


def _behind_zeros(opened: BinaryIO, at: int, end: int) -> int:
    """The first block from one on that is not of zeros alone, or the archive's end."""
    for start in range(at, end, _CHUNK):
        chunk = os.pread(opened.fileno(), _CHUNK, start)
        if rest := chunk.lstrip(b"\0"):
            return start + (len(chunk) - len(rest)) // _BLOCK * _BLOCK
    return end


# The samples of a WebDataset archive: neighbouring files of one name.

Group = tuple[str, list[tuple[str, TarFile]]]
"""Key and files of a sample, by component."""
_LOOKED_AT = 8
"""Samples of the first archive, which say what components there are."""


def groups_in(path: str) -> Iterator[Group | TarDamage]:
    """Key and files of each sample in an archive, by component, and what is damaged between.

    A sample ends before a damage: the files that it has by then are whole. Raises DataError.
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
        its_key, component = _parted(found.name)
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
    """The files of a sample by component: of several with one component DALI reads the first."""
    parts: dict[str, TarFile] = {}
    for component, file in group[1]:
        parts.setdefault(component, file)
    return parts


def hidden_first_file(path: str) -> TarFile | None:
    """The first file of an archive where its name begins with a dot.

    DALI passes over such files, but for the first, which it counts as a sample.
    """
    with contextlib.suppress(DataError):
        first = next(files_in_tar(path), None)
        if isinstance(first, TarFile) and not _parted(first.name)[0]:
            return first
    return None


def whole_groups(path: str) -> Iterator[Group]:
    """Those of ``groups_in`` that are samples, up to where the archive cannot be read."""
    with contextlib.suppress(DataError):
        for group in groups_in(path):
            if not isinstance(group, TarDamage):
                yield group


def first_samples(path: str) -> dict[str, set[str]]:
    """The components of the first samples of an archive."""
    whole = (group for group in groups_in(path) if not isinstance(group, TarDamage))
    return {key: {part for part, _ in parts} for key, parts in islice(whole, _LOOKED_AT)}


def with_component(
    samples: Iterable[Sample], component: str
) -> Iterator[tuple[Sample, tuple[int, int] | None]]:
    """Each sample, and where in its archive a component of it begins and its size in bytes.

    None where it has none. They are in the order in which they lie in their archives, which are
    read no further than to the last of them.
    """
    path = ""
    for sample in samples:
        if sample.path != path:
            path, groups, key, parts = sample.path, whole_groups(sample.path), "", {}
        wanted, _ = _parted(sample.name.rsplit(":", 1)[-1])
        damaged = sample.name.endswith(":damaged")
        while not damaged and key != wanted and (group := next(groups, None)):
            key, parts = group[0], first_parts(group)
        found = parts.get(component) if key == wanted else None
        yield sample, found and (found.offset_data, found.size)


def _parted(name: str) -> tuple[str, str]:
    """Key and component of a file by its name in an archive; no key where it has none."""
    start = name.rfind("/") + 1
    dot = name.find(".", start)
    end = len(name) if dot < 0 else dot
    return (name[:end], name[end + 1 :].lower()) if end > start else ("", "")


# Indices of WebDataset archives (``wds2idx``): what they name, whose they are, how one is made.


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
    remedy = f"Create it again (`wds2idx {path} {index}`) or remove it."
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
