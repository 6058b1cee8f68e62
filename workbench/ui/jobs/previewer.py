"""Render the latest preview request in a background thread, and skip older requests.

Other results (steps, statistics, close-up) are computed in the same thread. ``interactive`` jobs
alternate with pictures, and all other jobs run in a pause between pictures.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.engine.protocol.call_handle import Caller, CallHandle
from workbench.engine.protocol.process import Engine
from workbench.errors import CancelledError, EngineError, WorkbenchError
from workbench.preview import PreviewRequest, PreviewResult, render_batch
from workbench.ui.timer import IDLE, Timeout

PATIENCE = 0.2
"""Seconds after which a request is slow: the page then shows that it is being rendered, and a newer
request cancels it.
"""

PAUSE = 0.15
"""Seconds between a picture and jobs that are not interactive, so that no picture has to wait for
them while a key is held or a slider is dragged.
"""

GRACE = 5.0
"""Seconds that a worker has to cancel its work. A worker that takes longer is considered hung, and
a newer request starts a new worker.
"""

Outcome = PreviewResult | WorkbenchError


@dataclass(frozen=True, slots=True)
class BackgroundJob:
    """Computation that runs in addition to rendering pictures.

    Only the newest job of a ``name`` runs; jobs with different names run in the order of ``rank``.
    An ``interactive`` job runs after each picture, even if another picture is waiting. ``done`` is
    called from the thread with the result or exception of ``run``.
    """

    name: str
    rank: int
    interactive: bool
    run: Callable[[Caller], Any]
    done: Callable[[Any], None]


class Previewer:
    """Renders one request at a time, always the latest."""

    def __init__(
        self,
        engine: Engine,
        on_done: Callable[[PreviewRequest, Outcome], None],
        on_slow: Callable[[], None],
        on_making: Callable[[str], None] | None = None,
    ) -> None:
        """All callbacks are called from threads of this object.

        ``on_making`` is called with a text that names the nodes being built and the user functions
        being run.
        """
        self._engine = engine
        self._on_done = on_done
        self._on_slow = on_slow
        self._on_making = on_making
        self._condition = threading.Condition()
        self._waiting: PreviewRequest | None = None
        self._background_jobs: dict[str, BackgroundJob] = {}
        self._background_job: BackgroundJob | None = None
        self._slow = self._interrupted = self._gave_way = False
        self._turn = False
        """True if interactive jobs may run before the next picture."""
        self._pictured = 0.0
        """``time.monotonic`` at which the last picture was finished."""
        self._proven: int | None = None
        """Process id of the worker that rendered the last picture; None before the first."""
        self._closed = False
        self.running: PreviewRequest | None = None
        """Request that is being rendered, or None."""
        self._timeout: Timeout[PreviewRequest] = Timeout(self._is_slow)
        self._grace: Timeout[CallHandle] = Timeout(self._abort_slow_run)
        self._handle = engine.handle()
        """Engine handle of the current rendering or job, used to cancel it."""
        self._thread = threading.Thread(target=self._work, name="workbench-preview", daemon=True)
        self._rests = False
        self._runs = False
        """True while the thread runs. It ends after some time without requests."""

    def request(self, request: PreviewRequest | None) -> None:
        """Render ``request`` next, in place of a waiting one; None discards the waiting request.

        A running job that is not interactive is cancelled at its next stage, and so is a slow
        rendering. Of two consecutive renderings only one is cancelled, otherwise a long drag would
        show nothing until its end.
        """
        with self._condition:
            self._waiting = request
            self._wake()
            self._interrupt_background_job()

    def submit_background(self, job: BackgroundJob) -> None:
        """Run a job once no picture is waiting."""
        with self._condition:
            self._background_jobs[job.name] = job
            self._wake()

    def drop_background(self, name: str) -> None:
        """Discard a waiting job. A running job continues."""
        with self._condition:
            self._background_jobs.pop(name, None)

    def end_idle_threads(self) -> None:
        """End the threads once no request is waiting. The next request starts new ones."""
        with self._condition:
            self._rests = True
            self._condition.notify()
        self._timeout.end_if_idle()
        self._grace.end_if_idle()

    def close(self) -> None:
        """End the threads. A picture being rendered is cancelled when the engine is closed."""
        with self._condition:
            self._closed = True
            self._condition.notify()
        self._timeout.close()
        self._grace.close()

    def _wake(self) -> None:
        if self._runs or self._closed:
            self._condition.notify()
            return
        self._runs = True
        self._thread = threading.Thread(target=self._work, name="workbench-preview", daemon=True)
        self._thread.start()

    def _interrupt_background_job(self) -> None:
        late = self.running is not None and self._slow and not self._gave_way
        background = self._background_job is not None and not self._background_job.interactive
        if self._waiting is None or self._interrupted or not (late or background):
            return
        self._interrupted = True
        self._handle.interrupt()
        self._grace.start(self._handle, GRACE)

    def _abort_slow_run(self, handle: CallHandle) -> None:
        with self._condition:
            runs = handle is self._handle and (self.running or self._background_job)
            if runs and self._engine.pid == self._proven:  # a starting worker needs its time
                handle.cancel()

    def _work(self) -> None:
        while True:
            with self._condition:
                while not (self._closed or self._waiting or self._is_due()):
                    if self._background_jobs:
                        self._condition.wait(self._pause_left())
                    elif self._rests or not self._condition.wait(IDLE):
                        break
                if self._closed or not (self._waiting or self._background_jobs):
                    self._runs = self._rests = False
                    return
                self._slow = self._interrupted = False
                self._handle = self._engine.handle()
                self._choose()
            if self.running is not None:
                self._render(self.running)
            elif self._background_job is not None:
                self._run_background_job(self._background_job)

    def _pause_left(self) -> float:
        return max(0.0, self._pictured + PAUSE - time.monotonic())

    def _is_due(self) -> bool:
        jobs = self._background_jobs.values()
        return any(job.interactive for job in jobs) or (bool(jobs) and not self._pause_left())

    def _choose(self) -> None:
        """Select what runs next: the waiting picture, or an interactive job after a picture."""
        interactive = self._turn and any(job.interactive for job in self._background_jobs.values())
        if self._waiting is not None and not interactive:
            self.running, self._waiting = self._waiting, None
            self._turn = True
            return
        first = min(self._background_jobs.values(), key=lambda job: (not job.interactive, job.rank))
        self._background_job = self._background_jobs.pop(first.name)
        # run the interactive jobs that are waiting now, not those requested meanwhile
        self._turn = interactive and any(job.interactive for job in self._background_jobs.values())

    def _render(self, request: PreviewRequest) -> None:
        self._timeout.start(request, PATIENCE)
        outcome = self._attempt(lambda: render_batch(self._handle, request, self._on_making))
        self._timeout.clear()
        if isinstance(outcome, PreviewResult):
            self._proven = self._engine.pid
        with self._condition:
            self._gave_way = self._interrupted and isinstance(outcome, CancelledError)
            self.running, self._pictured = None, time.monotonic()
        if not self._closed:
            self._on_done(request, outcome)

    def _run_background_job(self, job: BackgroundJob) -> None:
        outcome = self._attempt(lambda: job.run(self._handle))
        with self._condition:
            self._background_job = None
            gave_way = self._interrupted and isinstance(outcome, CancelledError)
            if gave_way:
                self._background_jobs.setdefault(job.name, job)
        if not gave_way and not self._closed:
            job.done(outcome)

    def _attempt(self, run: Callable[[], Any]) -> Any:
        try:
            return run()
        except WorkbenchError as error:
            return error
        except Exception as error:
            logging.getLogger(__name__).exception("The preview failed")
            return EngineError(f"The preview failed: {type(error).__name__}: {error}")

    def _is_slow(self, request: PreviewRequest) -> None:
        with self._condition:
            if self.running is not request:
                return
            self._slow = True
            self._interrupt_background_job()
        self._on_slow()
