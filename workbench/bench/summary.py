"""What the figures of a record are about: its fastest setting, and how speed grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench.bench.measurement import Measurement
from workbench.errors import EngineError

if TYPE_CHECKING:
    from workbench.bench.record import Report  # which shows itself with these

Over = Literal["threads", "pipelines", "workers"]


@dataclass(frozen=True, slots=True)
class SpeedupPoint:
    """What so many threads or workers give.

    ``speedup`` is over the first point; ``efficiency`` is 1 where it is as large as the count is
    over the first point's.
    """

    count: int
    imgs_per_s: float
    speedup: float
    efficiency: float


def best_measurement(report: Report) -> Measurement:
    """The fastest measurement that is no probe, of a tuner's those measured for long.

    Raises EngineError where there is none.
    """
    rows = [row for row in report.measurements if row.rounds and not row.probe]
    rows = [row for row in rows if row.confirmed] or rows
    if not rows:
        raise EngineError("Nothing in this record was measured.")
    return max(rows, key=lambda row: row.median or 0.0)


def scaled_over(report: Report) -> Over:
    """What grows from row to row of a scaling run."""
    overs: dict[str, Over] = {"threads": "threads", "pipelines": "pipelines"}
    return overs.get(report.kind, "workers")


def speedup_curve(rows: Sequence[Measurement], over: Over) -> tuple[SpeedupPoint, ...]:
    """The points of a scaling run, in rising order; what was not measured is left out."""
    measured = sorted(
        (getattr(row.config, over), row.median) for row in rows if row.median is not None
    )
    if not measured:
        return ()
    first, base = measured[0]
    return tuple(
        SpeedupPoint(count, rate, rate / base, rate / base / (count / first))
        for count, rate in measured
    )
