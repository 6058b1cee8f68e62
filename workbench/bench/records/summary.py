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
class SpeedupPoint:
    """What so many threads or workers give.

    ``speedup`` is over the first point; ``efficiency`` is 1 where it is as large as the count is
    over the first point's. ``pipelines`` are those of each worker.
    """

    count: int
    imgs_per_s: float
    speedup: float
    efficiency: float
    pipelines: int = 1


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


def speedup_curve(rows: Sequence[Measurement], over: Over) -> tuple[SpeedupPoint, ...]:
    """The points of a scaling run, in rising order; what was not measured is left out.

    Over workers those of one number of pipelines come after those of another, each over its own
    first.
    """
    points: list[SpeedupPoint] = []
    for series in scaling_series([row for row in rows if row.median is not None], over):
        first, *_ = series
        count, base = getattr(first.config, over), first.rate
        for row in series:
            now, rate = getattr(row.config, over), row.rate
            grown = rate / base
            efficiency = grown / (now / count)
            points.append(SpeedupPoint(now, rate, grown, efficiency, row.config.pipelines))
    return tuple(points)


def scaling_series(rows: Sequence[Measurement], over: Over) -> list[list[Measurement]]:
    """The rows in rising order; over workers a list for each number of pipelines."""
    ordered = sorted(rows, key=lambda row: int(getattr(row.config, over)))
    if over != "workers":
        return [ordered] if ordered else []
    numbers = sorted({row.config.pipelines for row in rows})
    return [[row for row in ordered if row.config.pipelines == number] for number in numbers]
