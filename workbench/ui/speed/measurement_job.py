"""One experiment in the background: at most one at a time."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from workbench.bench import Report
from workbench.bench.experiment import Experiment
from workbench.bench.interleaved import format_duration
from workbench.errors import CancelledError, WorkbenchError

Ended = Callable[[Report | None, str], None]
"""Hears the record or None, and what went wrong (empty where it was cancelled or went well)."""
TOO_EARLY = 0.1
"""Below this share the time that is left cannot be told."""


class MeasurementJob:
    """A run and how far it is. ``changed`` is called, under the lock, after every change."""

    def __init__(
        self,
        experiment: Experiment,
        part: str,
        lock: threading.RLock,
        changed: Callable[[], None],
        ended: Ended,
    ) -> None:
        self.part = part
        self.share = 0.0
        self.text = "starting"
        self.cancelling = False
        self.experiment = experiment
        self._lock = lock
        self._changed = changed
        self._ended = ended
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="workbench-speed", daemon=True)

    def start(self) -> None:
        """Begin; ``ended`` is called once, under the lock."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop; the processes are gone within 0.5 s."""
        self.cancelling = True
        self.text = "stopping"
        self.experiment.cancel()

    def _run(self) -> None:
        report, wrong = None, ""
        try:
            report = self.experiment.run(self._note)
        except CancelledError:
            pass
        except WorkbenchError as error:
            wrong = str(error)
        except Exception as error:
            logging.getLogger(__name__).exception("The measurement failed")
            wrong = f"The measurement failed: {type(error).__name__}: {error}"
        with self._lock:
            self._ended(report, wrong)
            self._changed()

    def _note(self, share: float, text: str) -> None:
        with self._lock:
            if self.cancelling:
                return
            self.share = share
            spent = time.monotonic() - self._began
            if "left" not in text and TOO_EARLY < share < 1:
                text += f", about {format_duration(spent * (1 / share - 1))} left"
            self.text = text
            self._changed()
