"""One experiment in the background, which outlives the page that began it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from workbench.bench import Report
from workbench.bench.experiment import Experiment
from workbench.bench.interleaved import format_duration
from workbench.errors import CancelledError, WorkbenchError
from workbench.ui.measurement_queue import SHARED_QUEUE, MeasurementQueue

TOO_EARLY = 0.1
"""Below this share the time that is left cannot be told."""


@dataclass(frozen=True, slots=True)
class JobListener:
    """Who hears of a run: the panel of the page that shows it."""

    lock: threading.RLock
    """Held while either of the others is called."""
    changed: Callable[[], None]
    """Called after every change."""
    ended: Callable[[Report | None, str], None]
    """Hears once the record or None, and what went wrong (empty where it was cancelled or went
    well)."""


class MeasurementJob:
    """A run and how far it is. It waits for its turn in the queue of all sessions."""

    def __init__(
        self,
        experiment: Experiment,
        part: str,
        listener: JobListener,
        keep: Callable[[Report], object] = lambda report: None,
        queue: MeasurementQueue = SHARED_QUEUE,
    ) -> None:
        """``keep`` takes the record where nobody listens at the end."""
        self.part = part
        self.share = 0.0
        self.text = "starting"
        self.cancelling = False
        self.experiment = experiment
        self.listener: JobListener | None = listener
        self.outcome: tuple[Report | None, str] | None = None
        """How it ended, where nobody listened."""
        self._keep = keep
        self._queue = queue
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="workbench-speed", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop; the processes are gone within 0.5 s."""
        self.cancelling = True
        self.text = "stopping"
        self.experiment.cancel()

    def listen(self, listener: JobListener | None) -> None:
        """Tell this one from now on, with its lock held, instead of any other; None: nobody.

        One that comes after the end hears of it at once.
        """
        with self._lock:
            self.listener = listener
            outcome = self.outcome
        if listener is not None and outcome is not None:
            listener.ended(*outcome)

    def _run(self) -> None:
        report, wrong = None, ""
        try:
            with self._queue.turn(self._wait, lambda: self.cancelling):
                self._began = time.monotonic()
                self.text = "starting"
                report = self.experiment.run(self._note)
        except CancelledError:
            pass
        except WorkbenchError as error:
            wrong = str(error)
        except Exception as error:
            logging.getLogger(__name__).exception("The measurement failed")
            wrong = f"The measurement failed: {type(error).__name__}: {error}"
        while not self._end(report, wrong):
            pass

    def _end(self, report: Report | None, wrong: str) -> bool:
        """Tell whoever listens; False where another came meanwhile."""
        listener = self.listener
        if listener is None:
            with self._lock:
                if self.listener is not None:
                    return False
                self.outcome = report, wrong
            if report is not None:
                try:
                    self._keep(report)
                except WorkbenchError:
                    logging.getLogger(__name__).exception("The record is not kept")
            return True
        with listener.lock:
            if self.listener is not listener:
                return False
            listener.ended(report, wrong)
            listener.changed()
        return True

    def _wait(self, text: str) -> None:
        self._tell(0.0, text)

    def _note(self, share: float, text: str) -> None:
        spent = time.monotonic() - self._began
        if "left" not in text and TOO_EARLY < share < 1:
            text += f", about {format_duration(spent * (1 / share - 1))} left"
        self._tell(share, text)

    def _tell(self, share: float, text: str) -> None:
        listener = self.listener
        if listener is None:
            self.share, self.text = share, text
            return
        with listener.lock:
            if not self.cancelling:
                self.share, self.text = share, text
                listener.changed()


class OwnedJobs:
    """Runs by the session they belong to: what its next page finds again. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, MeasurementJob] = {}

    def put(self, owner: str, job: MeasurementJob) -> None:
        """It is this owner's."""
        with self._lock:
            self._jobs[owner] = job

    def find(self, owner: str) -> MeasurementJob | None:
        """The one that this owner has."""
        with self._lock:
            return self._jobs.get(owner)

    def drop(self, job: MeasurementJob) -> None:
        """It has ended, and somebody has heard."""
        with self._lock:
            for owner in [owner for owner, known in self._jobs.items() if known is job]:
                del self._jobs[owner]


OWNED_JOBS = OwnedJobs()
"""Those of this process."""
