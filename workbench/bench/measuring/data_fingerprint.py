"""What the data folder holds: its fingerprint."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from workbench.errors import DataError
from workbench.sources import Datasets, Sample, describe_datasets, every_sample

SCAN_SECONDS = 5.0
"""Limit for one pass over the data folder."""
_SCAN_FILES = 20_000
_HEADERS = 400
"""Files whose header is read for the format."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a folder holds.

    ``files`` and ``size`` (bytes) are None where counting takes too long. ``formats`` counts up to
    400 files, evenly chosen, by what their first bytes say.
    """

    root: str
    files: int | None = None
    size: int | None = None
    formats: tuple[tuple[str, int], ...] = ()

    @property
    def mean_size(self) -> float | None:
        """Bytes of a file on average, or None."""
        return self.size / self.files if self.files and self.size is not None else None


def never_cancelled() -> None:
    """What ``check_cancelled`` is where nobody cancels."""


def fingerprint(
    data: Datasets, check_cancelled: Callable[[], None] = never_cancelled
) -> Fingerprint:
    """Count the files that the script reads, in 5 s at most. ``check_cancelled`` may raise."""
    files, size = folder_size(data, check_cancelled)
    chosen = choose_samples(data, files or 0, _HEADERS, check_cancelled)
    formats = Counter(map(_format, chosen))
    return Fingerprint(describe_datasets(data), files, size, tuple(formats.most_common()))


def folder_size(
    data: Datasets, check_cancelled: Callable[[], None] = never_cancelled
) -> tuple[int | None, int | None]:
    """Number and bytes of the files that the script reads; None where that takes over 5 s."""
    deadline = time.monotonic() + SCAN_SECONDS
    files = size = 0
    try:
        for file in every_sample(data):
            check_cancelled()
            files, size = files + 1, size + file.size
            if time.monotonic() > deadline:
                return None, None
    except (OSError, DataError):  # a folder that changes, or a link to nowhere
        return None, None
    return files, size


def files_within_limit(data: Datasets) -> Iterator[Sample]:
    """The files that the script reads, with their paths in the folder, as far as time allows."""
    deadline = time.monotonic() + SCAN_SECONDS
    with suppress(DataError):
        for file in islice(every_sample(data), _SCAN_FILES):
            if time.monotonic() > deadline:
                return
            yield file


def choose_samples(
    data: Datasets, files: int, count: int, check_cancelled: Callable[[], None]
) -> list[Sample]:
    """Up to ``count`` of the samples, evenly chosen."""
    step = max(1, files // count)
    chosen = []
    for number, file in enumerate(islice(files_within_limit(data), step * count)):
        check_cancelled()
        if number % step == 0:
            chosen.append(file)
    return chosen


def _format(sample: Sample) -> str:
    """The format by the first bytes; a progressive JPEG by its frame header (ITU-T T.81, B.1)."""
    try:
        with sample.open() as file:
            head = file.read(65536)
    except OSError:
        return "unreadable"
    signatures = {
        b"\x89PNG": "PNG",
        b"BM": "BMP",
        b"II*\x00": "TIFF",
        b"MM\x00*": "TIFF",
        b"\x00\x00\x00\x0cjP": "JPEG 2000",
        b"GIF8": "GIF",
    }
    for signature, name in signatures.items():
        if head.startswith(signature):
            return name
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "WebP"
    if head[:2] != b"\xff\xd8":
        return "PNM" if head[:1] == b"P" and head[1:2].isdigit() else "other"
    at = 2
    while at + 4 <= len(head) and head[at] == 0xFF:
        marker = head[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return "JPEG" if marker in (0xC0, 0xC1) else "progressive JPEG"
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return "JPEG"
