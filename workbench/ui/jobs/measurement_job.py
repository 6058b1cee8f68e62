"""One measurement in the background, which outlives the page that began it."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from workbench.errors import CancelledError, WorkbenchError
from workbench.ui.jobs.measurement_queue import SHARED_QUEUE, MeasurementQueue

MOST_ENDED = 100
"""Jobs that have ended and are kept for a page of their session that may yet come."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Measurement(Protocol[T_co]):
    """What a job runs: an experiment of the speed panel, a comparison with the export."""

    def run(self, on_progress: Callable[[float, str], None], /) -> T_co:
        """Raises CancelledError once it was cancelled."""

    def cancel(self) -> None:
        """From any thread."""


@dataclass(frozen=True, slots=True)
class JobListener(Generic[T]):
    """Who hears of a job: what shows it on a page."""

    lock: threading.RLock
    """Held while either of the others is called."""
    changed: Callable[[], None]
    """Called after every change."""
    ended: Callable[[T | None, str], None]
    """Hears once the result or None, and what went wrong (empty where it was cancelled or went
    well)."""


class MeasurementJob(Generic[T]):
    """A measurement and how far it is. It waits for its turn in the queue of all sessions."""

    name = "measurement"
    """In the messages of what fails."""

    def __init__(
        self,
        measurement: Measurement[T],
        listener: JobListener[T],
        queue: MeasurementQueue = SHARED_QUEUE,
    ) -> None:
        self.share = 0.0
        self.text = "starting"
        self.cancelling = False
        self.measurement = measurement
        self.listener: JobListener[T] | None = listener
        self.outcome: tuple[T | None, str] | None = None
        """How it ended."""
        self.began = time.monotonic()
        """When its turn came."""
        self._queue = queue
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="workbench-measure", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop; the processes are gone within 0.5 s."""
        self.cancelling = True
        self.text = "stopping"
        self.measurement.cancel()

    def keep(self, result: T) -> None:
        """Called with the result where nobody listens at the end."""

    def so_far(self) -> T | None:
        """What it gives where it is ended early."""
        return None

    def describe(self, share: float, text: str) -> str:
        """What is said while it runs."""
        return text

    def listen(self, listener: JobListener[T] | None) -> None:
        """Tell this one from now on, with its lock held, instead of any other; None: nobody.

        One that comes after the end hears of it at once.
        """
        with self._lock:
            outcome = self.outcome
            self.listener = listener if outcome is None else None  # a page is not kept by its job
        if listener is not None and outcome is not None:
            listener.ended(*outcome)

    def _run(self) -> None:
        result, wrong = None, ""
        try:
            with self._queue.turn(self._wait, lambda: self.cancelling):
                self.began = time.monotonic()
                self.text = "starting"
                result = self.measurement.run(self._note)
        except CancelledError:
            result = self.so_far()
        except WorkbenchError as error:
            wrong = str(error)
        except Exception as error:
            logging.getLogger(__name__).exception("The %s failed", self.name)
            wrong = f"The {self.name} failed: {type(error).__name__}: {error}"
        while not self._end(result, wrong):
            pass

    def _end(self, result: T | None, wrong: str) -> bool:
        """Tell whoever listens; False where another came meanwhile."""
        listener = self.listener
        if listener is None:
            with self._lock:
                if self.listener is not None:
                    return False
                self.outcome = result, wrong
            if result is not None:
                try:
                    self.keep(result)
                except WorkbenchError:
                    logging.getLogger(__name__).exception("The result is not kept")
            return True
        with listener.lock:
            with self._lock:
                if self.listener is not listener:
                    return False
                self.outcome, self.listener = (result, wrong), None
            listener.ended(result, wrong)
            listener.changed()
        return True

    def _wait(self, text: str) -> None:
        self._tell(0.0, text)

    def _note(self, share: float, text: str) -> None:
        self._tell(share, self.describe(share, text))

    def _tell(self, share: float, text: str) -> None:
        listener = self.listener
        if listener is None:
            self.share, self.text = share, text
            return
        with listener.lock:
            if not self.cancelling:
                self.share, self.text = share, text
                listener.changed()


J = TypeVar("J", bound=MeasurementJob[Any])


class OwnedJobs(Generic[J]):
    """Jobs by the session they belong to: what its next page finds again. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, J] = {}

    def put(self, owner: str, job: J) -> None:
        """It is this owner's."""
        with self._lock:
            self._jobs.pop(owner, None)
            self._jobs[owner] = job
            ended = [owner for owner, each in self._jobs.items() if each.outcome is not None]
            for owner in ended[:-MOST_ENDED]:
                del self._jobs[owner]

    def find(self, owner: str) -> J | None:
        """The one that this owner has."""
        with self._lock:
            return self._jobs.get(owner)

    def drop(self, job: J) -> None:
        """It has ended, and somebody has heard."""
        with self._lock:
            for owner in [owner for owner, known in self._jobs.items() if known is job]:
                del self._jobs[owner]
