"""A measurement in the background tells whoever looks, and keeps no page that is gone."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.ui.jobs import measurement_job
from workbench.ui.jobs.measurement_job import JobListener, MeasurementJob, OwnedJobs

PATIENCE = 90


class Ended:
    """A measurement that is over at once."""

    def run(self, on_progress: Callable[[float, str], None]) -> int:
        on_progress(1.0, "done")
        return 1

    def cancel(self) -> None:
        pass


def ended() -> tuple[MeasurementJob[int], list[tuple[int | None, str]]]:
    heard: list[tuple[int | None, str]] = []
    listener: JobListener[int] = JobListener(
        threading.RLock(), lambda: None, lambda found, wrong: heard.append((found, wrong))
    )
    job: MeasurementJob[int] = MeasurementJob(Ended(), listener)
    job.start()
    job._thread.join(PATIENCE)
    return job, heard


def test_after_the_end_nobody_is_kept_and_who_comes_hears() -> None:
    job, heard = ended()
    assert heard == [(1, "")]
    assert job.listener is None
    later: list[int | None] = []
    job.listen(JobListener(threading.RLock(), lambda: None, lambda found, _: later.append(found)))
    assert later == [1]
    assert job.listener is None


def test_of_those_that_ended_the_newest_are_kept() -> None:
    jobs: OwnedJobs[MeasurementJob[int]] = OwnedJobs()
    job, _ = ended()
    for owner in range(measurement_job.MOST_ENDED + 5):
        jobs.put(str(owner), job)
    assert jobs.find("4") is None
    assert jobs.find("5") is job
    jobs.drop(job)
    assert jobs.find("5") is None
