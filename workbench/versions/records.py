"""The manifest of a version: a record of each sample, in one file of JSON lines per shard."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from workbench.errors import DataError
from workbench.versions.plan import Task

MANIFEST = "manifest"
"""Folder of the records in a version."""
WORK = ".render"
"""Folder of an unfinished version with the plan, the lists of samples, and incomplete files."""


class SampleRecord(msgspec.Struct, frozen=True):
    """One rendered sample.

    ``source`` is the sample's name in the data and ``data`` the SHA-256 of its encoded bytes.
    ``parts`` are the SHA-256 hashes of what is stored, by ending, and ``paths`` the files, relative
    to the version, of the parts that have a file of their own.
    """

    key: str
    source: str
    data: str
    label: int | None
    parts: Mapping[str, str]
    paths: Mapping[str, str]


class ShardRecord(msgspec.Struct, frozen=True):
    """The first line of a shard's records: its bad samples, and the hashes of its whole files."""

    samples: int
    excluded: Mapping[str, str]
    files: Mapping[str, str]


def record_path(folder: Path, task: Task) -> Path:
    """Return the path of a shard's records below ``folder``."""
    return folder / MANIFEST / f"{task.name}.jsonl"


def write_complete(path: Path, lines: Iterable[bytes]) -> None:
    """Write a file that appears only when it is complete and on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    with partial.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def write_records(path: Path, shard: ShardRecord, samples: Iterable[SampleRecord]) -> None:
    """Write the records of a shard."""
    write_complete(path, (msgspec.json.encode(each) + b"\n" for each in (shard, *samples)))


def read_records(path: Path) -> tuple[ShardRecord, Iterator[SampleRecord]]:
    """Return the records of a shard. Raises DataError if the file is missing or invalid."""
    try:
        file = path.open("rb")
        first = msgspec.json.decode(file.readline(), type=ShardRecord)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    except msgspec.DecodeError as error:
        raise DataError(f"{path} is not a manifest: {error}.") from None

    def samples() -> Iterator[SampleRecord]:
        with file:
            for number, line in enumerate(file, 2):
                try:
                    yield msgspec.json.decode(line, type=SampleRecord)
                except msgspec.DecodeError as error:
                    raise DataError(f"{path}, line {number}: {error}.") from None

    return first, samples()


def file_hash(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
