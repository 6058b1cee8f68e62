"""Display a watched loop: a progress line in a notebook, and the report at the end."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from workbench.training.watch.recorder import Recorder

_SECONDS = 1.0
"""Minimum seconds between two updates of the progress line."""


class LiveDisplay:
    """Shows the progress in a notebook, and the report in a notebook or on the standard output.

    If several processes train together, only the process with ``RANK`` 0 shows anything.
    """

    def __init__(self, steps: int, show: bool) -> None:
        self._steps = steps
        self._shows = show and os.environ.get("RANK", "0") == "0"
        self._handle: Any = None
        self._next = time.monotonic() + _SECONDS
        self._in_notebook = self._shows and _has_kernel()

    def update(self, recorder: Recorder) -> None:
        """Show the number of watched steps and the times of the last step, once per second."""
        if not self._in_notebook or time.monotonic() < self._next:
            return
        self._show_line(
            f"Watched {recorder.count} of at most {self._steps} steps. {recorder.last_text}"
        )

    def note(self, words: str) -> None:
        """Show a sentence. In a notebook, it replaces the progress line until the next update."""
        if self._in_notebook:
            self._show_line(words)
        elif self._shows:
            print(words, flush=True)

    def _show_line(self, words: str) -> None:
        if self._handle is None:
            from IPython.display import display

            self._handle = display(_ProgressLine(words), display_id=True)
        else:
            self._handle.update(_ProgressLine(words))
        self._next = time.monotonic() + _SECONDS

    def show(self, report: Any) -> None:
        """Show the report."""
        if self._handle is not None:
            self._handle.update(report)
        elif self._in_notebook:
            from IPython.display import display

            display(report)
        elif self._shows:
            print(report, flush=True)


class _ProgressLine:
    def __init__(self, words: str) -> None:
        self._words = words

    def __repr__(self) -> str:
        return self._words


def _has_kernel() -> bool:
    """Return whether a notebook runs this code, without importing IPython."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and hasattr(ipython.get_ipython(), "kernel")
