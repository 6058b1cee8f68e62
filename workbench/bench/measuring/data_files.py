"""Determine number, size and formats of the data files, and set their state in the page cache."""

from __future__ import annotations

import ctypes
import io
import mmap
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Literal

import psutil

from workbench.engine.resources.machine import usable_memory
from workbench.errors import DataError
from workbench.sources import Datasets, Sample, describe_datasets, every_sample
from workbench.sources.jpeg_frame import read_jpeg_frame

# Fingerprint of the data folder.

SCAN_SECONDS = 5.0
"""Time limit in seconds for listing the data files once."""
_SCAN_FILES = 20_000
HEADERS = 400
"""Maximum number of files whose header is read to identify the format."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Contents of a data folder.

    ``files`` and ``size`` (bytes) are None if counting takes too long. ``formats`` has the number
    of files per format among up to 400 evenly spaced files, identified by their first bytes.
    """

    root: str
    files: int | None = None
    size: int | None = None
    formats: tuple[tuple[str, int], ...] = ()

    @property
    def mean_size(self) -> float | None:
        """Mean file size in bytes, or None if unknown."""
        return self.size / self.files if self.files and self.size is not None else None


def never_cancelled() -> None:
    """Do nothing. Default of ``check_cancelled`` for callers that never cancel."""


def fingerprint(
    data: Datasets, check_cancelled: Callable[[], None] = never_cancelled
) -> Fingerprint:
    """Count the files that the script reads, for up to 5 s. ``check_cancelled`` may raise."""
    files, size = folder_size(data, check_cancelled)
    chosen = choose_samples(data, files or 0, HEADERS, check_cancelled)
    formats = Counter(map(_format, chosen))
    return Fingerprint(describe_datasets(data), files, size, tuple(formats.most_common()))


def folder_size(
    data: Datasets, check_cancelled: Callable[[], None] = never_cancelled
) -> tuple[int | None, int | None]:
    """Return the number and total bytes of the script's files, or (None, None) after 5 s."""
    deadline = time.monotonic() + SCAN_SECONDS
    files = size = 0
    try:
        for file in every_sample(data):
            check_cancelled()
            files, size = files + 1, size + file.size
            if time.monotonic() > deadline:
                return None, None
    except (OSError, DataError):  # a changing folder, or a broken link
        return None, None
    return files, size


def files_within_limit(data: Datasets) -> Iterator[Sample]:
    """Yield the files that the script reads, until the time limit is reached."""
    deadline = time.monotonic() + SCAN_SECONDS
    with suppress(DataError):
        for file in islice(every_sample(data), _SCAN_FILES):
            if time.monotonic() > deadline:
                return
            yield file


def choose_samples(
    data: Datasets, files: int, count: int, check_cancelled: Callable[[], None]
) -> list[Sample]:
    """Return up to ``count`` evenly spaced samples."""
    step = max(1, files // count)
    chosen = []
    for number, file in enumerate(islice(files_within_limit(data), step * count)):
        check_cancelled()
        if number % step == 0:
            chosen.append(file)
    return chosen


def _format(sample: Sample) -> str:
    """Return the format of a file from its first bytes. Progressive JPEG is a format of its own.

    See ITU-T T.81, B.1.
    """
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
    frame = read_jpeg_frame(io.BytesIO(head))
    return "progressive JPEG" if frame and frame.process > 1 else "JPEG"


# Whether the data files are in the page cache, and how to change that.

_PROBED = 200
"""Maximum number of files that are tested for being in memory."""
_WARM_SECONDS = 60.0
_CHUNK = 2**20

Cache = Literal["warm", "cold", "as found"]
CACHES: tuple[Cache, ...] = ("warm", "cold", "as found")


@dataclass(frozen=True, slots=True)
class CacheState:
    """State of the data files in the page cache. ``how`` describes how it was produced.

    ``resident`` is the fraction (0 to 1) of the pages of up to 200 files that are in memory just
    before the first timed round; None if the system does not report it.
    """

    state: Cache
    how: str
    resident: float | None = None


def make_cache(data: Datasets, state: Cache, check_cancelled: Callable[[], None]) -> CacheState:
    """Load the files into the page cache or evict them, and return the resulting state.

    ``check_cancelled`` may raise an exception to cancel.
    """
    if state == "as found":
        return CacheState(state, "unchanged", resident_share(data, check_cancelled))
    if state == "cold":
        return _evict_from_page_cache(data, check_cancelled)
    deadline = time.monotonic() + _WARM_SECONDS
    room = min(psutil.virtual_memory().available, usable_memory()) // 2
    read = files = 0
    stopped = ""
    with suppress(DataError):
        for path in _paths(data):
            check_cancelled()
            read += _read(path)
            files += 1
            if time.monotonic() > deadline or read > room:
                what = "a minute" if read <= room else "half of the free memory"
                stopped = f" (stopped after {what})"
                break
    how = f"{files} files, {read / 1e6:,.0f} MB, were read before the first round{stopped}"
    return CacheState("warm", how, resident_share(data, check_cancelled))


def _paths(data: Datasets) -> Iterator[str]:
    return (path for path, _ in groupby(sample.path for sample in every_sample(data)))


def _evict_from_page_cache(data: Datasets, check_cancelled: Callable[[], None]) -> CacheState:
    files = 0
    with suppress(DataError):
        for path in _paths(data):
            check_cancelled()
            with suppress(OSError), open(path, "rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
                files += 1
    how = f"{files} files were dropped from memory (POSIX_FADV_DONTNEED) before every round"
    return CacheState("cold", how, resident_share(data, check_cancelled))


def resident_share(
    data: Datasets, check_cancelled: Callable[[], None] = never_cancelled
) -> float | None:
    """Return the fraction (0 to 1) of some files' pages that are in memory, or None if unknown.

    Uses mincore(2), which does not read the files: a read with RWF_NOWAIT would trigger the
    kernel's readahead.
    """
    found = pages = 0
    count = folder_size(data, check_cancelled)[0] or 0
    chosen = choose_samples(data, count, _PROBED, check_cancelled)
    for path in dict.fromkeys(sample.path for sample in chosen):
        counted = _resident_pages(path)
        if counted is None:
            return None
        found, pages = found + counted[0], pages + counted[1]
    return found / pages if pages else None


def _resident_pages(path: str) -> tuple[int, int] | None:
    """Return how many pages of a file are in memory, and its page count, or None if unknown."""
    try:
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            if not length:
                return 0, 0
            mapped = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        return 0, 0  # a missing or unreadable file: the reader reports it
    pages = -(-length // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * pages)()
    start = ctypes.c_char.from_buffer(mapped)
    try:
        mincore = ctypes.CDLL(None, use_errno=True).mincore
        if mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(length), resident):
            return None
    except (OSError, AttributeError):
        return None
    finally:
        del start
        mapped.close()
    return sum(page & 1 for page in resident), pages


def _read(path: str) -> int:
    read = 0
    with suppress(OSError), open(path, "rb", buffering=0) as file:
        while got := len(file.read(_CHUNK)):
            read += got
    return read
