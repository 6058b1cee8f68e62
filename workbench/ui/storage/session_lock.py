"""Which process has a session open: a file beside it is locked (``flock``) as long.

The lock ends with its process, however that ends.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_TRIES = 40
_PAUSE = 0.004
"""Seconds between tries: who only looks has the lock for microseconds, and some look often."""


def take_lock(path: Path) -> IO[bytes] | None:
    """The locked file, made where there is none; None where another has it. Closing it unlocks.

    Raises OSError where it can neither be made nor opened.
    """
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE)
        lock = path.open("ab")
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(path, lock):
                return lock
        lock.close()
    return None


@contextmanager
def holding_lock(path: Path) -> Iterator[bool]:
    """Whether nobody has the lock, nor gets it until the end; none is made."""
    try:
        lock = path.open("rb")
    except FileNotFoundError:
        yield True
        return
    except OSError:
        yield False
        return
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            free = _is_at(path, lock)
        except OSError:
            free = False
        yield free


def _is_at(path: Path, lock: IO[bytes]) -> bool:
    """Whether the file is still there: one that was removed after it was opened locks nothing."""
    return os.path.samestat(os.fstat(lock.fileno()), path.stat())
