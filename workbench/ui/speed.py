"""A measurement in the background, and what the speed panel shows of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from workbench.bench import Bench
from workbench.errors import CancelledError, WorkbenchError
from workbench.graph.model import Graph
from workbench.ui.present import speed_rows
from workbench.ui.views import SpeedRow


class Speed:
    """At most one measurement at a time. ``changed`` is called after every change."""

    def __init__(self, lock: threading.RLock, changed: Callable[[], None]) -> None:
        self._lock = lock
        self._changed = changed
        self._bench: Bench | None = None
        self._progress = 0.0
        self._message = ""
        self._rows: list[SpeedRow] = []

    def fields(self) -> dict[str, Any]:
        """The fields of the panel, but for the two that are the graph's settings."""
        return {
            "running": self._bench is not None,
            "progress": self._progress,
            "message": self._message,
            "rows": self._rows,
        }

    def start(self, graph: Graph, data: str) -> None:
        """Measure a graph on the CPU and with mixed decoding, unless a measurement runs."""
        if self._bench is not None:
            return
        self._bench = Bench(graph, data)
        self._progress, self._message = 0.0, "starting"
        threading.Thread(
            target=self._run, args=(self._bench,), name="workbench-speed", daemon=True
        ).start()

    def cancel(self) -> None:
        """Stop the measurement, if one runs; earlier figures stay."""
        if self._bench is not None:
            self._bench.cancel()

    def _run(self, bench: Bench) -> None:
        rows, message = self._rows, ""
        try:
            rows = speed_rows(bench.run(self._note))
        except CancelledError:
            message = "Cancelled. The figures shown are those of the run before." if rows else ""
            message = message or "Cancelled."
        except WorkbenchError as error:
            message = str(error)
        except Exception as error:
            logging.getLogger(__name__).exception("The measurement failed")
            message = f"The measurement failed: {type(error).__name__}: {error}"
        with self._lock:
            self._bench, self._progress = None, 0.0
            self._rows, self._message = rows, message
            self._changed()

    def _note(self, share: float, text: str) -> None:
        with self._lock:
            self._progress, self._message = share, text
            self._changed()
