"""Compare the preview with the exported script in the background, and build the payload."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.engine.file_checks.usable_data import describe_left_out
from workbench.errors import GraphEditError
from workbench.graph.model import Graph
from workbench.preview.verify import Verification, Verifier
from workbench.roots import Roots
from workbench.sources import Datasets
from workbench.ui.contract.action import Action
from workbench.ui.contract.encoding import empty
from workbench.ui.contract.preview_payloads import VerifiedEntry
from workbench.ui.jobs.background_task import (
    SHARED_QUEUE,
    BackgroundTask,
    OwnedTasks,
    SessionTask,
    TaskListener,
)
from workbench.ui.state.view_state import blocking_faults

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

BATCHES = 3
_NAMED = 5
NOTHING = empty(VerifiedEntry)

What = tuple[Graph, Datasets]
"""Key of a comparison: the graph (without its name), and the data."""


class VerificationTask(BackgroundTask[Verification]):
    """One comparison. It has its own worker process, so that it does not block the preview."""

    def __init__(self, of: What, verifier: Verifier, listener: TaskListener[Verification]) -> None:
        super().__init__("comparison", verifier, listener, SHARED_QUEUE)
        self.of = of
        self.why = "not compared", "Stopped before all samples were compared."
        """Text and detail to display if the comparison is cancelled."""

    def entry(self) -> VerifiedEntry:
        """Return a payload with the progress or the result."""
        if self.outcome is None:
            return {**NOTHING, "state": "running", "text": self.text, "share": self.share}
        found, error = self.outcome
        if found is not None:
            return _found(found)
        if error:
            return {**NOTHING, "state": "failed", "text": "not compared", "detail": [error]}
        text, detail = self.why
        return {**NOTHING, "state": "stopped", "text": text, "detail": [detail]}


VERIFICATIONS: OwnedTasks[VerificationTask] = OwnedTasks()
"""Running comparisons of this process, and the last finished comparison of each session."""


class SessionVerification(SessionTask[VerificationTask]):
    """Last comparison of a session. ``changed`` is called after every change.

    A comparison is cancelled when the graph changes. Call methods with the lock held.
    """

    def __init__(
        self, lock: threading.RLock, changed: Callable[[], None], roots: Roots | None = None
    ) -> None:
        """Data files outside the ``roots`` are skipped."""
        super().__init__(
            TaskListener(lock, changed, lambda found, error: None),
            VERIFICATIONS,
        )
        self._roots = roots
        self._entry: tuple[VerificationTask | None, VerifiedEntry] = None, NOTHING
        """Last finished task and its payload."""

    def entry(self, graph: Graph, data: Datasets) -> VerifiedEntry:
        """Return the payload for this graph and data, marked as stale if they have changed."""
        task = self.last
        if task is None:
            return NOTHING
        if task.outcome is None:
            entry = task.entry()
        elif any(task.outcome) and task.of[1] != data:  # the entry of a stopped task stays visible
            return NOTHING
        else:
            if self._entry[0] is not task:
                self._entry = task, task.entry()
            entry = self._entry[1]
        return {**entry, "stale": task.of != _without_texts(graph, data)}

    def compare(self, graph: Graph, data: Datasets) -> None:
        """Compare a valid graph with its exported script, unless a comparison is running."""
        if self.running is None:
            verifier = Verifier(graph, data, BATCHES, roots=self._roots)
            self.start(VerificationTask(_without_texts(graph, data), verifier, self.listener))

    def follow(self, graph: Graph, data: Datasets) -> None:
        """Cancel the comparison if the user has changed the graph or opened other data."""
        task, now = self.running, _without_texts(graph, data)
        if task is None or task.of == now or not self.cancel():
            return
        edited = task.of[0] != now[0]
        text = "stopped by an edit" if edited else "stopped: other data opened"
        what = "graph" if edited else "data folder"
        task.why = text, f"The {what} changed during the comparison."

    def attach(self, owner: str) -> None:
        """Attach to a session. A comparison started by an earlier page is shown and continues."""
        if (found := self.adopt_session(owner)) is not None:
            found.listen(self.listener)


class Verify(Action, tag="verify", frozen=True):
    """Compare the preview with the exported script."""

    def apply(self, model: ViewModel) -> None:
        if faults := blocking_faults(model.state):
            raise GraphEditError(f"The preview and the script were not compared: {faults[0]}")
        model.verification.compare(model.state.checked.active, model.data_panel.datasets)


class StopVerification(Action, tag="stop_verification", frozen=True):
    """Stop the comparison."""

    def apply(self, model: ViewModel) -> None:
        model.verification.cancel()


def _without_texts(graph: Graph, data: Datasets) -> What:
    return replace(graph, name="", about=""), data


def _without(report: Verification) -> str:
    count = len(report.left_out)
    bad = " bad" * all(one.level == "bad" for one in report.left_out)
    return f" without {count:,}{bad} file{'s' * (count != 1)}"


def _found(report: Verification) -> VerifiedEntry:
    batches = "batch 0" if report.batches == 1 else f"batches 0 to {report.batches - 1}"
    compared = (
        f"{report.identical} of {report.samples} samples are bit-identical: {batches} of "
        f"the exported script, run in a separate process, decoded on "
        f"{'the GPU' if report.device == 'mixed' else 'the CPU'}."
    )
    left_out = [f"{describe_left_out(report.left_out)}."] if report.left_out else []
    if report.failure:
        return {
            **NOTHING,
            "state": "failed",
            "text": "comparison incomplete" if report.batches else "not compared",
            "detail": [report.failure, *([compared] if report.batches else []), *left_out],
        }
    if report.exact:
        return {
            **NOTHING,
            "state": "identical",
            "text": f"identical{_without(report)}" if left_out else "identical to export",
            "detail": [compared, *left_out],
        }
    differ = report.samples - report.identical
    lines = report.lines()[: -2 if left_out else -1]
    more = [f"and {len(lines) - _NAMED} more lines"] if len(lines) > _NAMED else []
    return {
        **NOTHING,
        "state": "different",
        "text": f"{differ} of {report.samples} samples differ",
        "detail": [compared, *left_out, *lines[:_NAMED], *more],
    }
