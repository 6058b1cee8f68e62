"""Files that are twice the same, and pictures that nearly are."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from workbench.engine.file_checks.image_hash import near_pairs
from workbench.engine.reading.findings import CheckedFile, Finding
from workbench.engine.resources.machine import usable_cores
from workbench.sources import Sample

_READ_AT_ONCE = 2**20


def find_duplicates(
    checked: Sequence[CheckedFile],
    samples: Mapping[str, Sample],
    check_cancelled: Callable[[], None],
) -> dict[str, Finding]:
    """For each file like an earlier one what it is like. ``samples`` has each by its name.

    Files are the same where their bytes are. Pictures are nearly the same where their
    ``image_hash`` is, which only a full check knows.
    """
    usable = [one for one in checked if one.level != "bad"]
    found: dict[str, Finding] = {}
    for same in _same_bytes(usable, samples, check_cancelled):
        for file in same[1:]:
            found[file] = Finding("duplicate", f"the same as {same[0]}")
    once = [one for one in usable if one.file not in found]
    for place, first in near_pairs([one.image_hash for one in once]):
        other = once[first].file
        found[once[place].file] = Finding("near duplicate", f"looks like {other}")
    return found


def _same_bytes(
    checked: Sequence[CheckedFile],
    samples: Mapping[str, Sample],
    check_cancelled: Callable[[], None],
) -> list[list[str]]:
    """Names of the same files, by groups. Only files of one size are read."""
    by_size: dict[int, list[str]] = defaultdict(list)
    for one in checked:
        by_size[one.size].append(one.file)
    alike = [file for files in by_size.values() if len(files) > 1 for file in files]
    groups: dict[bytes, list[str]] = defaultdict(list)
    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        digests = pool.map(_digest, [samples[file] for file in alike])
        for file, digest in zip(alike, digests, strict=True):
            if digest:
                groups[digest].append(file)
            try:
                check_cancelled()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [files for files in groups.values() if len(files) > 1]


def _digest(sample: Sample) -> bytes:
    try:
        with sample.open() as file:
            digest = hashlib.blake2b()
            for part in iter(lambda: file.read(_READ_AT_ONCE), b""):
                digest.update(part)
            return digest.digest()
    except OSError:
        return b""  # gone in the meantime
