"""A comparison with the exported script in the background, and what the preview shows of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.engine.file_checks.usable_data import describe_left_out
from workbench.errors import GraphEditError
from workbench.graph.model import Graph
from workbench.preview.verification.verify import Verification, Verifier
from workbench.roots import Roots
from workbench.sources import Datasets
from workbench.ui.contract.action import Action
from workbench.ui.contract.preview_views import VerifiedEntry
from workbench.ui.jobs.measurement_job import JobListener, MeasurementJob, OwnedJobs
from workbench.ui.jobs.measurement_queue import SHARED_QUEUE, MeasurementQueue
from workbench.ui.state.view_state import blocking_faults

if TYPE_CHECKING:
    from workbench.ui.app.view_model import ViewModel

BATCHES = 3
_NAMED = 5
NOTHING: VerifiedEntry = {"state": "none", "text": "", "detail": [], "share": 0.0, "stale": False}

What = tuple[Graph, Datasets]
"""A graph, but for its name, and a data folder."""


class VerificationJob(MeasurementJob[Verification]):
    """One comparison. It runs in a worker of its own, so that it takes no turn of the preview's."""

    name = "comparison"

    def __init__(
        self,
        graph: Graph,
        data: Datasets,
        listener: JobListener[Verification],
        queue: MeasurementQueue = SHARED_QUEUE,
        roots: Roots | None = None,
    ) -> None:
        super().__init__(Verifier(graph, data, BATCHES, roots=roots), listener, queue)
        self.of = _what(graph, data)
        self.why = "not compared", "Stopped before all was compared."
        """What is said, and in detail, where it was cancelled."""

    @property
    def has_found(self) -> bool:
        """Whether it ended with a result or an error; not one that was stopped."""
        return self.outcome is not None and any(self.outcome)

    def entry(self) -> VerifiedEntry:
        """How far it is, or what it found."""
        if self.outcome is None:
            return {**NOTHING, "state": "running", "text": self.text, "share": self.share}
        found, wrong = self.outcome
        if found is not None:
            return _found(found)
        if wrong:
            return {**NOTHING, "state": "failed", "text": "not compared", "detail": [wrong]}
        text, detail = self.why
        return {**NOTHING, "state": "stopped", "text": text, "detail": [detail]}


VERIFICATION_JOBS: OwnedJobs[VerificationJob] = OwnedJobs()
"""Those of this process, with the last that has ended of each session."""


class SessionVerification:
    """The last comparison of a session. ``changed`` is called after every change.

    It ends where the graph changes, and is found by the next page of its session. Every method is
    called with ``lock`` held.
    """

    def __init__(
        self,
        lock: threading.RLock,
        changed: Callable[[], None],
        queue: MeasurementQueue = SHARED_QUEUE,
        roots: Roots | None = None,
    ) -> None:
        """It waits for its turn in ``queue``, which measurements share.

        Files outside the ``roots`` are left out.
        """
        self._listener: JobListener[Verification] = JobListener(
            lock, changed, lambda found, wrong: None
        )
        self._queue = queue
        self._roots = roots
        self._owner = ""
        self._job: VerificationJob | None = None
        self._entry: tuple[VerificationJob | None, VerifiedEntry] = None, NOTHING
        """That of a job that has ended."""

    def entry(self, graph: Graph, data: Datasets) -> VerifiedEntry:
        """What is known of this graph and data, or of this graph before its last edits."""
        job = self._job
        if job is None or (job.has_found and job.of[1] != data):
            return NOTHING
        if job.outcome is None:
            entry = job.entry()
        else:
            if self._entry[0] is not job:
                self._entry = job, job.entry()
            entry = self._entry[1]
        return {**entry, "stale": job.of != _what(graph, data)}

    def start(self, graph: Graph, data: Datasets) -> None:
        """Compare a sound graph, unless that is being done."""
        if self._running is not None:
            return
        self._job = VerificationJob(graph, data, self._listener, self._queue, self._roots)
        if self._owner:
            VERIFICATION_JOBS.put(self._owner, self._job)
        self._job.start()

    def cancel(self, why: tuple[str, str] | None = None) -> None:
        """Stop, if one runs, and say why. One that another page of the session has goes on."""
        job = self._running
        if job is not None and not job.cancelling and job.listener is self._listener:
            job.why = why or job.why
            job.cancel()

    def follow(self, graph: Graph, data: Datasets) -> None:
        """Stop where what is compared is no longer what is shown."""
        job, now = self._running, _what(graph, data)
        if job is None or job.of == now:
            return
        edited = job.of[0] != now[0]
        text = "stopped by an edit" if edited else "stopped: other data"
        what = "graph" if edited else "data folder"
        self.cancel((text, f"The {what} was changed while it was compared."))

    def forget(self) -> None:
        """Another graph is opened: what was found is not of it."""
        if self._running is None:
            if self._job is not None:
                VERIFICATION_JOBS.drop(self._job)  # nor does the next page of the session find it
            self._job = None

    def own(self, owner: str) -> None:
        """Be that of this session: what an earlier page of it began is shown, and goes on."""
        self._owner = owner
        found = VERIFICATION_JOBS.find(owner)
        if self._job is not None:
            VERIFICATION_JOBS.put(owner, self._job)
        elif found is not None:
            self._job = found
            found.listen(self._listener)

    def leave(self) -> None:
        """The page is gone: what runs goes on, and the session's next page finds it."""
        job = self._running
        if job is None or job.listener is not self._listener:
            return
        if self._owner:
            job.listen(None)
        else:
            job.cancel()

    @property
    def _running(self) -> VerificationJob | None:
        return self._job if self._job is not None and self._job.outcome is None else None


class Verify(Action, tag="verify", frozen=True):
    """Compare the preview with the exported script."""

    def apply(self, model: ViewModel) -> str:
        if faults := blocking_faults(model.state):
            raise GraphEditError(f"Not compared: {faults[0]}")
        model.verification.start(model.state.checked.active, model.data_panel.datasets)
        return ""


class StopVerification(Action, tag="stop_verification", frozen=True):
    """Stop the comparison."""

    def apply(self, model: ViewModel) -> str:
        model.verification.cancel()
        return ""


def _what(graph: Graph, data: Datasets) -> What:
    return replace(graph, name="", about=""), data


def _without(report: Verification) -> str:
    count = len(report.left_out)
    return f" without {count:,} bad file{'s' * (count != 1)}"


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
