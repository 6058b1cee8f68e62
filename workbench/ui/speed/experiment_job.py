"""One experiment of the speed panel in the background."""

from __future__ import annotations

import time
from collections.abc import Callable

from workbench.bench import Report
from workbench.bench.experiments.speed_experiment import SpeedExperiment
from workbench.bench.measuring.interleaved import format_duration
from workbench.engine.protocol.worker_progress import NO_ANSWER
from workbench.ui.jobs.measurement_job import JobListener, MeasurementJob, OwnedJobs
from workbench.ui.jobs.measurement_queue import SHARED_QUEUE, MeasurementQueue

TOO_EARLY = 0.1
"""Below this share the time that is left cannot be told."""


class ExperimentJob(MeasurementJob[Report]):
    """A run of the speed panel, for one of its parts."""

    def __init__(
        self,
        experiment: SpeedExperiment,
        part: str,
        listener: JobListener[Report],
        keep: Callable[[Report], object] = lambda report: None,
        queue: MeasurementQueue = SHARED_QUEUE,
    ) -> None:
        """``keep`` takes the record where nobody listens at the end."""
        super().__init__(experiment, listener, queue)
        self.experiment = experiment
        self.part = part
        self._keep = keep

    def keep(self, result: Report) -> None:
        """Write the record."""
        self._keep(result)

    def so_far(self) -> Report | None:
        """What a tuning has found until then."""
        return self.experiment.interrupted_report()

    def describe(self, share: float, text: str) -> str:
        """With the time that is left, where it can be told."""
        if "left" in text or text == NO_ANSWER or not TOO_EARLY < share < 1:
            return text
        spent = time.monotonic() - self.began
        return f"{text}, about {format_duration(spent * (1 / share - 1))} left"


EXPERIMENT_JOBS: OwnedJobs[ExperimentJob] = OwnedJobs()
"""Those of this process."""
