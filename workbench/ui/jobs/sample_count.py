"""Count the samples of a dataset in the background; the count can be paused and resumed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress

from workbench.errors import CancelledError, DataError
from workbench.health import FolderFacts, scan_folder
from workbench.roots import Roots
from workbench.sources import Dataset, load_source

_TOLD_EVERY = 0.5
"""Seconds between progress reports."""


class SampleCount:
    """Counts the samples of a dataset in a thread. A reader's index is created first, if needed."""

    def __init__(
        self,
        dataset: Dataset,
        roots: Roots | None,
        on_progress: Callable[[int], None],
        on_indexed: Callable[[], None],
        on_done: Callable[[FolderFacts | DataError], None],
        kind: str = "",
    ) -> None:
        """All callbacks are called from the thread.

        ``on_progress`` is called with the count so far. ``kind`` is passed to ``scan_folder``.
        """
        self._kind = kind
        self._dataset = dataset
        self._roots = roots
        self._on_progress = on_progress
        self._on_indexed = on_indexed
        self._on_done = on_done
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._closed = False
        self._told = time.monotonic()
        self._count = 0

    def start(self) -> None:
        threading.Thread(target=self._work, name="workbench-scan", daemon=True).start()

    def toggle(self) -> bool:
        """Pause or resume the count. Return True if it is now running."""
        if self._goes_on.is_set():
            self._goes_on.clear()
        else:
            self._goes_on.set()
        return self._goes_on.is_set()

    def close(self) -> None:
        """End the count. No more callbacks are called."""
        self._closed = True
        self._goes_on.set()

    def _work(self) -> None:
        try:
            self._make_index()
            done: FolderFacts | DataError = scan_folder(
                self._dataset, self._roots, self._on_count, self._kind
            )
        except CancelledError:
            return
        except DataError as error:
            done = error
        except OSError as error:  # the data was moved or removed meanwhile
            why = error.strerror or str(error)
            done = DataError(f"{self._dataset} cannot be counted: {why}. Open the data again.")
        if not self._closed:
            self._on_done(done)

    def _make_index(self) -> None:
        kind = load_source(self._dataset.kind)
        if not kind.needs_index(self._dataset):
            return
        with suppress(DataError):  # the reader scans everything itself and reports errors
            kind.make_index(self._dataset, self._on_count)
        if not self._closed:
            self._on_indexed()

    def _on_count(self, count: int) -> None:
        self._count = max(count, self._count)
        if time.monotonic() - self._told > _TOLD_EVERY and not self._closed:
            self._told = time.monotonic()
            self._on_progress(self._count)
        self._goes_on.wait()
        if self._closed:
            raise CancelledError("Cancelled.")
