"""What a worker prints, kept on disk up to a limit: a function may print with every sample."""

from __future__ import annotations

import os
import sys
from typing import TextIO

MOST_OUTPUT = 4_000_000
"""Characters of Python's output after which the log begins anew."""


class BoundedOutput:
    """A stream that empties its file once more than ``limit`` characters were written to it.

    The file must be open for appending: what comes next is written at its beginning then.
    """

    def __init__(self, stream: TextIO, limit: int = MOST_OUTPUT) -> None:
        self._stream = stream
        self._limit = limit
        self._written = 0

    def write(self, text: str) -> int:
        """Write the text, or the end of one that is too long."""
        kept = text[-self._limit :]
        self._written += len(kept)
        full = self._written > self._limit
        if full:
            self._stream.flush()
            os.ftruncate(self._stream.fileno(), 0)
            self._written = len(kept)
        self._stream.write(kept)
        if full:
            self._stream.flush()  # the log never stands empty for long
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def bound_output() -> None:
    """Bound what this process prints from now on, on both streams, which are one file."""
    sys.stdout = BoundedOutput(sys.stdout)
    sys.stderr = BoundedOutput(sys.stderr)
