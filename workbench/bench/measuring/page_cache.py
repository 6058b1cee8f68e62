"""Whether the files of the data folder are in the page cache, and how to bring that about."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

import psutil

from workbench.bench.measuring.data_fingerprint import choose_samples, folder_size, never_cancelled
from workbench.engine.resources.machine import usable_memory
from workbench.errors import DataError
from workbench.sources import Datasets, every_sample

_PROBED = 200
"""Files that are asked whether they are in memory."""
_WARM_SECONDS = 60.0
_CHUNK = 2**20

Cache = Literal["warm", "cold", "as found"]
CACHES: tuple[Cache, ...] = ("warm", "cold", "as found")


@dataclass(frozen=True, slots=True)
class CacheState:
    """Whether files were in memory, how that came about, and the share found there.

    ``resident`` is a share from 0 to 1 of the pages of up to 200 files, just before the first timed
    round; None where the system does not tell.
    """

    state: Cache
    how: str
    resident: float | None = None


def make_cache(data: Datasets, wanted: Cache, check_cancelled: Callable[[], None]) -> CacheState:
    """Bring the files into memory, or out of it, and say how. ``check_cancelled`` may raise."""
    if wanted == "as found":
        return CacheState(
            wanted, "nothing was done about it", resident_share(data, check_cancelled)
        )
    if wanted == "cold":
        return _evict(data, check_cancelled)
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
    """Every file that holds samples, each once where its samples stand together."""
    return (path for path, _ in groupby(sample.path for sample in every_sample(data)))


def _evict(data: Datasets, check_cancelled: Callable[[], None]) -> CacheState:
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
    """Share (0 to 1) of the pages of some files that are in memory; None where it cannot be told.

    Asks mincore(2), which reads nothing: a read with RWF_NOWAIT would make the kernel read ahead.
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
    """Pages of a file that are in memory, and all; None where the system does not tell."""
    try:
        with open(path, "rb") as file:
            length = os.fstat(file.fileno()).st_size
            if not length:
                return 0, 0
            mapped = mmap.mmap(file.fileno(), length, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):
        return 0, 0  # a file that is gone, or may not be read: the reader says so
    pages = -(-length // mmap.PAGESIZE)
    told = (ctypes.c_ubyte * pages)()
    start = ctypes.c_char.from_buffer(mapped)
    try:
        mincore = ctypes.CDLL(None, use_errno=True).mincore
        if mincore(ctypes.c_void_p(ctypes.addressof(start)), ctypes.c_size_t(length), told):
            return None
    except (OSError, AttributeError):
        return None
    finally:
        del start
        mapped.close()
    return sum(page & 1 for page in told), pages


def _read(path: str) -> int:
    read = 0
    with suppress(OSError), open(path, "rb", buffering=0) as file:
        while got := len(file.read(_CHUNK)):
            read += got
    return read
