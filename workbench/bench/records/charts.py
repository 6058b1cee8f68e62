"""Convert records to charts in the form of data: title, axes, series and labels.

A chart is computed once from a record. ``plots`` draws it with matplotlib; ``ui.speed`` builds its
payloads from the same scaling series and heat maps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Literal

from workbench.bench.measuring.grid import Grid, knob_values
from workbench.bench.measuring.measurement import (
    Measurement,
    rate_figure,
    rate_unit,
)
from workbench.bench.measuring.stats import WITHIN, Interval, paired_ratio
from workbench.bench.records.operator_report import (
    COSTS,
    OTHER_PIXELS,
    OperatorCost,
    cost_text,
    operators_of,
)
from workbench.bench.records.stage_report import CEILING, stages_of
from workbench.errors import EngineError
from workbench.graph.model import DecodeDevice

if TYPE_CHECKING:
    from workbench.bench.records.record import Report  # which imports ``plots``

Over = Literal["threads", "pipelines", "workers"]


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """One row of a scaling run. Its speed-up is relative to the first measured row of its series.

    ``gain`` is the interval of the speed-up, from rounds next to each other, and None if this row
    has no result. ``growth`` is the speed-up of linear scaling.
    """

    count: int
    row: Measurement
    gain: Interval | None
    growth: float

    @property
    def speedup(self) -> float:
        """Speed-up, or 0 if this row has no result."""
        return self.gain.median if self.gain else 0.0

    @property
    def efficiency(self) -> float:
        """Speed-up divided by that of linear scaling, or 0 if this row has no result."""
        return self.speedup / self.growth

    @property
    def speedup_text(self) -> str:
        """Speed-up as ``1.90``, or as a range if it is not known within 3 %."""
        return self.gain.text() if self.gain else ""

    @property
    def efficiency_text(self) -> str:
        """Efficiency as ``95%``, or as a range if it is not known within 3 %."""
        return self.gain.text(lambda gain: f"{gain / self.growth:.0%}") if self.gain else ""


def best_measurement(report: Report) -> Measurement:
    """Return the fastest row that is not a probe or, in a tuning run, the fastest long run.

    Raises EngineError if there is none.
    """
    rows = [row for row in report.measurements if row.rounds and not row.probe]
    rows = [row for row in rows if row.confirmed] or rows
    if not rows:
        raise EngineError("This record has no results. Measure again.")
    return max(rows, key=lambda row: row.rate)


def contradicting_row(report: Report, best: Measurement) -> Measurement | None:
    """Return the interleaved row of the tuner's choice if it contradicts the long run, else None.

    The intervals contradict each other if they do not overlap and are more than 3 % apart.
    """
    for row in report.measurements:
        if row.probe or row.confirmed or row.config != best.config or not best.confirmed:
            continue
        if row.interval and best.interval:
            low, high = sorted((row.interval, best.interval), key=lambda one: one.median)
            return row if high.low > (1 + WITHIN) * low.high else None
    return None


def best_rate(report: Report, best: Measurement) -> tuple[str, str]:
    """Return the rate of the best setting as text, and a caution or "".

    If its two results contradict each other, the rate is the range over both.
    """
    row = contradicting_row(report, best)
    if row is None or row.interval is None or best.interval is None:
        return best.rate_text, ""
    ends = [end for one in (row.interval, best.interval) for end in (one.low, one.high)]
    low, high = (rate_figure(end, best.config.frames) for end in (min(ends), max(ends)))
    return f"{low} to {high} {rate_unit(best.config.frames)}", (
        f"the long run had {best.rate_text}, but the rounds next to other settings had "
        f"{row.rate_text}: the speed of the machine changed. Tune again while no other program runs"
    )


def equally_fast(report: Report, best: Measurement) -> str:
    """Name the settings that may be as fast as ``best``, or return "".

    In a tuning run, these are interleaved rows whose ratio to the same setting is not significantly
    below 1. In a sweep, their confidence interval overlaps that of ``best``.
    """
    rows = [row for row in report.measurements if row.rounds and not (row.probe or row.confirmed)]
    own = next((row for row in rows if row.config == best.config), None)
    others = [row for row in rows if row.config != best.config]
    if own is None or own.interval is None or report.kind not in ("tune", "sweep"):
        return ""
    if report.kind == "tune":
        equal = [r for r in others if paired_ratio(r.imgs_per_s, own.imgs_per_s).high >= 1]
    else:
        equal = [r for r in others if r.interval and r.interval.high >= own.interval.low]
    names = [row.config.settings for row in sorted(equal, key=lambda row: -row.rate)]
    more = f"; and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"not measurably slower: {'; '.join(names[:_NAMED])}{more}" if names else ""


def rate_of(report: Report, name: str) -> str:
    """Return the rate of the row with this name as text, or "" if it was not measured."""
    return next((r.rate_text for r in report.measurements if r.name == name and r.rounds), "")


def scaled_over(report: Report) -> Over:
    """Return the quantity that a scaling run varies."""
    overs: dict[str, Over] = {"threads": "threads", "pipelines": "pipelines"}
    return overs.get(report.kind, "workers")


def scaling_series(rows: Sequence[Measurement], over: Over) -> list[list[ScalingPoint]]:
    """Return the points of a scaling run in ascending order.

    A run over workers has one series per number of pipelines.
    """
    ordered = sorted(rows, key=lambda row: int(getattr(row.config, over)))
    numbers = sorted({row.config.pipelines for row in rows}) if over == "workers" else []
    series = [[row for row in ordered if row.config.pipelines == number] for number in numbers]
    return [_points(same, over) for same in (series or [ordered]) if same]


def _points(rows: Sequence[Measurement], over: Over) -> list[ScalingPoint]:
    first = next((row for row in rows if row.rounds), rows[0])
    points = []
    for row in rows:
        count = getattr(row.config, over)
        gain = paired_ratio(row.imgs_per_s, first.imgs_per_s) if row.rounds else None
        gain = Interval(1.0, 1.0, 1.0, 1.0) if row is first and gain else gain
        points.append(ScalingPoint(count, row, gain, count / getattr(first.config, over)))
    return points


Kind = Literal["cpu", "mixed", "peer"]
"""Kind of program that a value belongs to: a device of DALI, or another library. The kind
determines the colour.
"""
NOT_TRIED = "not tried"
_NAMED = 3
"""Maximum number of settings that are named as not measurably slower."""


@dataclass(frozen=True, slots=True)
class Bar:
    """Bar with a confidence interval. ``words`` is the text next to the bar."""

    label: str
    kind: Kind
    median: float
    low: float
    high: float
    words: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """Horizontal bars in groups without names. ``note`` is written below all charts."""

    title: str
    unit: str
    groups: tuple[tuple[Bar, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class ScalingChart:
    """Speed by number of threads, pipelines, processes or GPUs, with a series per pipeline count.

    ``over`` is the quantity on the x axis, and ``frames`` is the number of frames per sample (0
    for images). The series include points without a result.
    """

    title: str
    over: str
    device: DecodeDevice
    frames: int
    series: tuple[tuple[ScalingPoint, ...], ...]

    def name(self, series: Sequence[ScalingPoint]) -> str:
        """Return the label of a series, such as ``2 pipelines each`` if there are several."""
        if len(self.series) == 1:
            return "measured"
        number = series[0].row.config.pipelines
        return f"{number} pipeline{'s' * (number != 1)} each"


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A setting of a grid: its knobs in the order of ``KNOBS``, and its row if it was measured."""

    threads: int
    batch: int
    knobs: tuple[object, ...]
    row: Measurement | None
    best: bool

    @property
    def rate(self) -> float | None:
        """Rate in imgs/s, or None if the setting failed or was not measured."""
        return self.row.median if self.row else None

    @property
    def figure(self) -> str:
        """Rate as text, a range if it is not known within 3 %, or "" without a rate."""
        return self.row.figure if self.row and self.row.rounds else ""

    @property
    def reason(self) -> str:
        """Reason why there is no rate, or "" if there is one."""
        return self.row.reason if self.row else NOT_TRIED


@dataclass(frozen=True, slots=True)
class HeatPanel:
    """Heat map of threads (rows) by batch size (columns) for one value of each other knob.

    ``rare`` is True for values that the search rarely uses.
    """

    title: str
    rare: bool
    threads: tuple[int, ...]
    batches: tuple[int, ...]
    cells: tuple[HeatCell, ...]


@dataclass(frozen=True, slots=True)
class HeatMap:
    """All settings of a grid, with a panel for each combination of the knobs not on its axes."""

    title: str
    frames: int
    columns: int
    """Number of panels per row. Panels in the same row differ only in ``prefetch``."""
    panels: tuple[HeatPanel, ...]


@dataclass(frozen=True, slots=True)
class StackChart:
    """Stacked bars, one per row, with a line at ``total``.

    ``parts`` has the name of each part and its value in each row. A missing value is None.
    """

    title: str
    unit: str
    rows: tuple[str, ...]
    parts: tuple[tuple[str, tuple[float | None, ...]], ...]
    total: float
    note: str


Chart = BarChart | ScalingChart | HeatMap | StackChart


def chart_of(report: Report) -> Chart:
    """Return the chart for a record's kind. Raises EngineError if nothing was measured."""
    if not any(row.rounds for row in report.measurements):
        raise EngineError("This record has no results to plot. Measure again.")
    match report.kind:
        case "stages":
            return stage_chart(report)
        case "sweep":
            return heat_map(report, best_measurement(report))
        case "threads" | "pipelines" | "workers":
            return scaling_chart(report)
        case "operators":
            return operator_chart(report)
    return bar_chart(report)


def kind_of(row: Measurement | OperatorCost) -> Kind:
    """Return the kind of a row, which determines its colour in the chart."""
    program = row.config.program if isinstance(row, Measurement) else row.program
    if program != "DALI":
        return "peer"
    return "mixed" if row.device == "mixed" else "cpu"


def bar_chart(report: Report) -> BarChart:
    """Return a bar for each row with a result. Other rows are named in a note.

    For a tuning run, only complete measurements are shown: the candidates and the graph's own
    setting.
    """
    rows = [row for row in report.measurements if row.rounds]
    names = {row.name: row.name for row in rows}
    missing: list[str] = []
    if report.kind == "tune":
        rows = [row for row in rows if not row.probe]
        names = {row.name: f"{row.label}: {row.config.settings}" for row in rows}
    else:
        missing = [row.name for row in report.measurements if not row.rounds]
    peers = any(row.config.program != "DALI" for row in rows)
    bars = []
    for row in rows:
        name = "DALI, " * (peers and row.config.program == "DALI") + names[row.name]
        words = row.figure + " (unstable)" * row.unstable
        low, high = (row.interval.low, row.interval.high) if row.interval else (row.rate, row.rate)
        bars.append(Bar(name, kind_of(row), row.rate, low, high, words))
    note = f"not measured: {'; '.join(missing)}" * bool(missing)
    return BarChart(_title(report), rate_unit(report.frames), (tuple(bars),), note)


def operator_chart(report: Report) -> BarChart:
    """Return bars of the time that each operator adds per image, in a group per operator.

    Raises EngineError if no cost is known.
    """
    groups: dict[str, list[Bar]] = {}
    other = False
    for cost in operators_of(report.extra):
        if cost.adds is None:
            continue
        low, high = cost.low or 0.0, cost.high or 0.0
        label = f"{cost.title}: {cost.column}"
        bar = Bar(label, kind_of(cost), cost.adds, low, high, cost_text(cost))
        groups.setdefault(cost.title, []).append(bar)
        other |= not cost.is_same
    if not groups:
        raise EngineError(
            "No operator of this record was compared with its baseline. Measure again."
        )
    note = OTHER_PIXELS * other
    return BarChart(_title(report), COSTS, tuple(map(tuple, groups.values())), note)


def scaling_chart(report: Report) -> ScalingChart:
    """Return the chart of speed by threads, pipelines, processes or GPUs."""
    over = scaled_over(report)
    series = scaling_series(report.measurements, over)
    device = series[0][0].row.device if series else "cpu"
    workers = "GPUs" if device == "mixed" else "processes"
    counted = workers if over == "workers" else over
    return ScalingChart(_title(report), counted, device, report.frames, tuple(map(tuple, series)))


def heat_map(report: Report, best: Measurement | None) -> HeatMap:
    """Return the heat map of a sweep or a tuning run, in which ``best`` is marked."""
    grid = Grid.from_json(report.extra["grid"])
    found: dict[tuple[object, ...], Measurement] = {}
    for row in report.measurements:  # complete measurements first
        found.setdefault(knob_values(row.config), row)
    chosen = knob_values(best.config) if best else None
    panels = []
    kinds = grid.pipelines, grid.hw_decoder_load, grid.executor, grid.dont_use_mmap, grid.prefetch
    for pipelines, load, executor, unmapped, prefetch in product(*kinds):
        cells = []
        for threads, batch in product(grid.threads, grid.batch_size):
            knobs = (load, threads, batch, prefetch, pipelines, executor, unmapped)
            cells.append(HeatCell(threads, batch, knobs, found.get(knobs), knobs == chosen))
        parts = [
            f"{pipelines} pipelines" if pipelines > 1 else "",
            f"prefetch {prefetch}",
            "" if load is None else f"hw_decoder_load {load:g}",
            "" if executor == "dynamic" else f"{executor} executor",
            "dont_use_mmap" if unmapped else "",
        ]
        rare = executor != "dynamic" or unmapped != grid.dont_use_mmap[-1]
        title = ", ".join(filter(None, parts))
        panels.append(HeatPanel(title, rare, grid.threads, grid.batch_size, tuple(cells)))
    words = _title(report)
    if best is not None:
        words += f"\n{rate_unit(report.frames)}; best {best.figure}: {best.config.settings}"
    return HeatMap(words, report.frames, len(grid.prefetch), tuple(panels))


def stage_chart(report: Report) -> StackChart:
    """Return two stacked bars of milliseconds per batch: stages in the pipeline, and run alone."""
    found = stages_of(report.extra)
    if found is None:
        raise EngineError("This record has no stages. Use a record of `workbench stages`.")
    parts = tuple(
        (
            f"{stage.title}, {stage.device}",
            (stage.adds if stage.exclusive is None else stage.exclusive, stage.alone),
        )
        for stage in found.stages
    )
    verdict = f"bottleneck: {found.bottleneck}" if found.bottleneck else "no bottleneck is named"
    verdict = "interrupted" if report.extra.get("interrupted") and not found.bottleneck else verdict
    notes = [f"whole batch {found.total:.1f} ms (dotted)", verdict]
    if found.critical is not None:
        notes.append(found.critical.text(found.total))
    if nothing := [stage.title for stage in found.stages if (stage.adds or 0.0) < 0]:
        notes.append(f"negative cost: {', '.join(nothing)}")
    if found.remainder is not None and found.remainder > 0:  # alone they may take longer
        notes.append(f"{found.remainder:.1f} ms more than the sum of all stages alone")
    if ceiling := rate_of(report, CEILING):
        notes.append(f"{CEILING.partition(':')[0]} {ceiling}")
    rows = "in the pipeline", "each alone"
    return StackChart(_title(report), "ms a batch", rows, parts, found.total, "; ".join(notes))


def _title(report: Report) -> str:
    machine = report.machine
    where = machine.gpu_name if machine.gpu else machine.cpu
    settings = {row.config.settings for row in report.measurements if row.rounds}
    shown = f" · {settings.pop()}" if len(settings) == 1 else ""
    name = report.name or report.graph
    return f"{name} · {where}, {machine.cores} cores · DALI {machine.dali}{shown}"
