"""What the figures of a record are about: its fastest setting, and how speed grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from workbench.bench.measuring.measurement import Measurement
from workbench.errors import EngineError

if TYPE_CHECKING:
    from workbench.bench.records.record import Report  # which shows itself with these

Over = Literal["threads", "pipelines", "workers"]


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """A row of a scaling run, and how it grew from the first row of its series with a figure.

    ``efficiency`` is 1 where speed grew as much as the count. Both are 0 without a figure.
    """

    count: int
    row: Measurement
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
    return max(rows, key=lambda row: row.rate)


def scaled_over(report: Report) -> Over:
    """What grows from row to row of a scaling run."""
    overs: dict[str, Over] = {"threads": "threads", "pipelines": "pipelines"}
    return overs.get(report.kind, "workers")


def scaling_series(rows: Sequence[Measurement], over: Over) -> list[list[ScalingPoint]]:
    """The points of a scaling run in rising order; over workers a series a number of pipelines."""
    ordered = sorted(rows, key=lambda row: int(getattr(row.config, over)))
    numbers = sorted({row.config.pipelines for row in rows}) if over == "workers" else []
    series = [[row for row in ordered if row.config.pipelines == number] for number in numbers]
    return [_points(same, over) for same in (series or [ordered]) if same]


def _points(rows: Sequence[Measurement], over: Over) -> list[ScalingPoint]:
    first = next((row for row in rows if row.rounds), rows[0])
    points = []
    for row in rows:
        count = getattr(row.config, over)
        speedup = row.rate / first.rate if row.rounds else 0.0
        growth = count / getattr(first.config, over)
        points.append(ScalingPoint(count, row, speedup, speedup / growth))
    return points
