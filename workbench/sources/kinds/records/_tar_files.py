"""The files in a tar archive, and what of it is damaged."""

from __future__ import annotations

import mmap
import os
import tarfile
from collections.abc import Generator, Iterator
from typing import BinaryIO, NamedTuple

from workbench.errors import DataError
from workbench.sources.compression import describe_compression

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
            or f"{path} cannot be read as a tar archive: {error}. Write it anew, or leave it out."
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
