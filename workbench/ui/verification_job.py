"""A comparison with the exported script in the background, and what the preview shows of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from workbench.engine.usable_data import describe_left_out
from workbench.errors import CancelledError, WorkbenchError
from workbench.graph.model import Graph
from workbench.preview.verify import Verification, Verifier
from workbench.sources import Datasets
from workbench.ui.preview_views import VerifiedEntry

BATCHES = 3
_NAMED = 5
NOTHING: VerifiedEntry = {"state": "none", "text": "", "detail": [], "share": 0.0, "stale": False}

What = tuple[Graph, Datasets]
"""A graph, but for its name, and a data folder."""


class VerificationJob:
    """At most one comparison at a time. ``changed`` is called after every change.

    It runs in a worker of its own, so that it takes no turn of the preview's, and ends where the
    graph changes.
    """

    def __init__(self, lock: threading.RLock, changed: Callable[[], None]) -> None:
        self._lock = lock
        self._changed = changed
        self._verifier: Verifier | None = None
        self._of: What | None = None
        self._why = "", ""
        self._entry = NOTHING

    def entry(self, graph: Graph, data: Datasets) -> VerifiedEntry:
        """What is known, and whether it is of this graph and folder."""
        return {**self._entry, "stale": self._of is not None and self._of != _what(graph, data)}

    def start(self, graph: Graph, data: Datasets) -> None:
        """Compare a sound graph, unless that is being done."""
        if self._verifier is not None:
            return
        self._of, self._why = _what(graph, data), ("", "")
        self._entry = {**NOTHING, "state": "running", "text": "starting"}
        self._verifier = Verifier(graph, data, BATCHES)
        threading.Thread(
            target=self._run, args=(self._verifier,), name="workbench-verify", daemon=True
        ).start()

    def cancel(
        self, text: str = "not compared", detail: str = "Stopped before all was compared."
    ) -> None:
        """Stop, if one runs, and say why."""
        if self._verifier is not None:
            self._why = self._why if any(self._why) else (text, detail)
            self._verifier.cancel()

    def follow(self, graph: Graph, data: Datasets) -> None:
        """Stop where what is compared is no longer what is shown."""
        if self._verifier is not None and self._of is not None and self._of != _what(graph, data):
            edited = self._of[0] != _what(graph, data)[0]
            what = "graph" if edited else "data folder"
            text = "stopped by an edit" if edited else "stopped: other data"
            self.cancel(text, f"The {what} was changed while it was compared.")

    def _run(self, verifier: Verifier) -> None:
        try:
            entry = _found(verifier.run(self._note))
        except CancelledError:
            text, detail = self._why
            entry = {**NOTHING, "state": "stopped", "text": text, "detail": [detail]}
        except WorkbenchError as error:
            entry = {**NOTHING, "state": "failed", "text": "not compared", "detail": [str(error)]}
        except Exception as error:
            logging.getLogger(__name__).exception("The comparison failed")
            words = f"The comparison failed: {type(error).__name__}: {error}"
            entry = {**NOTHING, "state": "failed", "text": "not compared", "detail": [words]}
        with self._lock:
            self._verifier, self._entry = None, entry
            self._changed()

    def _note(self, share: float, text: str) -> None:
        with self._lock:
            self._entry = {**NOTHING, "state": "running", "text": text, "share": share}
            self._changed()


def _what(graph: Graph, data: Datasets) -> What:
    return replace(graph, name="", about=""), data


def _found(report: Verification) -> VerifiedEntry:
    batches = "batch 0" if report.batches == 1 else f"batches 0 to {report.batches - 1}"
    compared = (
        f"{report.identical} of {report.samples} samples are the same, bit for bit: {batches} of "
        f"the exported script, run in a process of its own, decoded on "
        f"{'the GPU' if report.device == 'mixed' else 'the CPU'}."
    )
    left_out = [f"{describe_left_out(report.left_out)}."] if report.left_out else []
    if report.failure:
        return {
            **NOTHING,
            "state": "failed",
            "text": "not compared to the end" if report.batches else "not compared",
            "detail": [report.failure, *([compared] if report.batches else []), *left_out],
        }
    if report.exact:
        return {
            **NOTHING,
            "state": "identical",
            "text": "identical to export",
            "detail": [compared, *left_out],
        }
    differ = report.samples - report.identical
    lines = report.lines()[:-1]
    more = [f"and {len(lines) - _NAMED} more lines"] if len(lines) > _NAMED else []
    return {
        **NOTHING,
        "state": "different",
        "text": f"{differ} of {report.samples} samples differ",
        "detail": [compared, *left_out, *lines[:_NAMED], *more],
    }
