"""Calls in threads of their own, and whether a worker has ended."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable

PROMPTLY = 0.5
"""Seconds within which a cancelled call ends."""


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether the process has ended, now or within the time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def in_thread(call: Callable[[], object]) -> tuple[threading.Thread, list[BaseException | None]]:
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            call()
            raised.append(None)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised
