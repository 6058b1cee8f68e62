"""Measure the memory use of the worker, and limit the size of its caches.

Used in the worker process only, except ``MemoryUse``.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import psutil

from workbench.engine.resources.batch_store import Memory
from workbench.engine.resources.machine import describe_machine

KEPT_AT_MOST = 2 * 2**30
"""Maximum cache size in bytes, even if ``SHARE`` allows more. Enough for the outputs of 36 nodes,
each 64 photos of 640x480 pixels as 8-bit RGB.
"""
SHARE = 8
"""Divisor for the default cache limits: 1/8 of the machine's and 1/8 of the GPU's memory."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of a worker in bytes: its caches between calls on host and GPU, and their limits.

    ``resident`` is the host memory of the whole worker process, including DALI's code and buffers.
    ``threads`` is the number of its threads.
    """

    host: int
    host_budget: int
    gpu: int
    gpu_budget: int
    resident: int
    threads: int


def default_budget() -> dict[Memory, int]:
    """Return the default cache limits of this machine in bytes. Without a GPU, ``gpu`` is 0."""
    machine = describe_machine()
    return {
        "cpu": int(min(KEPT_AT_MOST, machine.memory_gib * 2**30 / SHARE)),
        "gpu": int(min(KEPT_AT_MOST, machine.gpu_memory_gib * 2**30 / SHARE)),
    }


def resident_bytes(pid: int | None = None) -> int:
    """Return the number of bytes of host memory that a process uses, by default this process."""
    return int(psutil.Process(pid).memory_info().rss)


def private_bytes(pid: int | None = None) -> int:
    """Return ``resident_bytes`` without mapped files, such as 0.4 GB of DALI's library."""
    used = psutil.Process(pid).memory_info()
    return int(used.rss - used.shared)


def tree_bytes(pid: int) -> int:
    """Return ``private_bytes`` of a process and its descendants, such as a DataLoader's workers."""
    total = private_bytes(pid)
    for child in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            total += private_bytes(child.pid)
    return total


def thread_count(pid: int | None = None) -> int:
    """Return the number of threads of a process, by default this process."""
    return int(psutil.Process(pid).num_threads())


_M_ARENA_MAX = -8  # mallopt(3), from glibc's malloc.h
_ARENAS = 2


@cache
def configure_malloc_trim() -> None:
    """Make freed memory return to the system. Call this once, before DALI's first pipeline runs.

    Every built stage has its own threads, for which glibc would create up to eight heaps per core:
    the worker grew to 1 GB in 300 edits, with 0.1 GB in use. DALI retains large buffers between
    its CPU operators: two ``flip`` of six images of 2500x2500 floats left 1.1 GB in use (2.4.0).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc only
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, _ARENAS)
    os.environ.setdefault("DALI_MALLOC_POOL_THRESHOLD", "0")


def trim_heaps() -> None:
    """Return freed heap memory to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
