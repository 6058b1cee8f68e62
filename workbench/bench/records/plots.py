"""Records as pictures: bars with intervals, scaling, a sweep's heat map, stacked stage times."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from itertools import cycle, product
from typing import TYPE_CHECKING, Any

from workbench.bench.analysis.grid import Grid
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.records.operator_report import COSTS, OTHER_PIXELS, cost_text, operators_of
from workbench.bench.records.rate import rate_figure, rate_unit, rate_words
from workbench.bench.records.stage_report import CEILING, stages_of
from workbench.bench.records.summary import (
    best_measurement,
    scaled_over,
    scaling_series,
    speedup_curve,
)
from workbench.errors import EngineError
from workbench.figures import COLOURS, LINE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.bench.records.record import Report

_LINES = ("-", "--", "-.")
"""Of one series after the other."""


def plot_record(report: Report) -> Figure:
    """The picture that suits a record's kind. Raises EngineError where nothing was measured."""
    if not any(row.rounds for row in report.measurements):
        raise EngineError("Nothing in this record was measured.")
    kinds: dict[str, Callable[[Report], Figure]] = {
        "stages": plot_stages,
        "sweep": plot_sweep,
        "tune": plot_tuning,
        "threads": plot_scaling,
        "pipelines": plot_scaling,
        "workers": plot_scaling,
        "operators": plot_operators,
    }
    return kinds.get(report.kind, plot_bars)(report)


def plot_bars(report: Report) -> Figure:
    """imgs/s of each measurement with its 95 % interval; what was not measured is named below."""
    rows = [row for row in report.measurements if row.rounds]
    figure, axes = new_axes(height=1.1 + 0.45 * len(rows))
    _bars(axes, rows)
    missing = [row.name for row in report.measurements if not row.rounds]
    note = f"not measured: {'; '.join(missing)}" * bool(missing)
    _finish(figure, axes, report, rate_unit(report.frames), note)
    return figure


def _bars(axes: Axes, rows: Sequence[Measurement]) -> None:
    medians = [row.rate for row in rows]
    below = [row.rate - (row.interval.low if row.interval else 0.0) for row in rows]
    above = [(row.interval.high if row.interval else 0.0) - row.rate for row in rows]
    colours = [COLOURS["peer" if r.config.program != "DALI" else r.device] for r in rows]
    places = list(range(len(rows)))
    axes.barh(places, medians, xerr=[below, above], color=colours, capsize=3, height=0.65)
    for place, row in zip(places, rows, strict=True):
        unstable = " (unstable)" * row.unstable
        end = row.interval.high if row.interval else 0.0
        rate = rate_figure(row.rate, row.config.frames)
        axes.annotate(
            f"{rate}{unstable}", (end, place), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    peers = any(row.config.program != "DALI" for row in rows)
    names = ["DALI, " * (peers and row.config.program == "DALI") + row.name for row in rows]
    axes.set_yticks(places, names, fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.18)
    axes.set_xlim(left=0)


def plot_operators(report: Report) -> Figure:
    """What each operator adds to an image's time, a group for an operator, a bar for a program.

    Raises EngineError where no cost is known.
    """
    costs = [cost for cost in operators_of(report.extra) if cost.adds is not None]
    if not costs:
        raise EngineError("No operator of this record was measured beside what it is told from.")
    names = list(dict.fromkeys(cost.title for cost in costs))
    costs.sort(key=lambda cost: names.index(cost.title))  # those of a program keep their order
    figure, axes = new_axes(height=0.8 + 0.3 * len(costs) + 0.15 * len(names))
    places = [at + 0.5 * names.index(cost.title) for at, cost in enumerate(costs)]
    adds = [cost.adds or 0.0 for cost in costs]
    below = [(cost.adds or 0.0) - (cost.low or 0.0) for cost in costs]
    above = [(cost.high or 0.0) - (cost.adds or 0.0) for cost in costs]
    colours = [COLOURS["peer" if c.program != "DALI" else c.device] for c in costs]
    axes.barh(places, adds, xerr=[below, above], color=colours, capsize=2, height=0.8)
    for place, cost in zip(places, costs, strict=True):
        axes.annotate(
            cost_text(cost), (max(cost.high or 0.0, 0.0), place), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yticks(places, [f"{cost.title}: {cost.column}" for cost in costs], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.2)
    axes.axvline(0, color="#888888", linewidth=0.8)
    other = any(not cost.is_same for cost in costs)
    _finish(figure, axes, report, COSTS, OTHER_PIXELS * other)
    return figure


def plot_scaling(report: Report) -> Figure:
    """imgs/s by threads, pipelines or processes, beside the line of perfect scaling.

    Over processes a line for each number of pipelines.
    """
    over = scaled_over(report)
    figure, axes = new_axes(height=3.4)
    rows = [row for row in report.measurements if row.rounds]
    series = scaling_series(rows, over)
    for same, style in zip(series, cycle(_LINES), strict=False):
        points = speedup_curve(same, over)
        counts = [point.count for point in points]
        rates = [point.imgs_per_s for point in points]
        ends = [row.interval for row in same if row.interval]
        spread = [[e.median - e.low for e in ends], [e.high - e.median for e in ends]]
        number = same[0].config.pipelines
        several = f"{number} pipeline{'s' * (number != 1)} each"
        axes.errorbar(
            counts, rates, yerr=spread, marker="o", capsize=3, linestyle=style,
            color=COLOURS[same[0].device], label=several if len(series) > 1 else "measured",
        )  # fmt: skip
        ideal = [rates[0] * count / counts[0] for count in counts]
        label = "in proportion" if same is series[-1] else None
        axes.plot(counts, ideal, linestyle=":", color="#888888", label=label)
        for point in points:
            rate = rate_figure(point.imgs_per_s, report.frames)
            axes.annotate(
                f"{rate}\n{point.efficiency:.0%}", (point.count, point.imgs_per_s),
                xytext=(5, -14), textcoords="offset points", fontsize=8,
            )  # fmt: skip
    axes.set_xticks(sorted({getattr(row.config, over) for row in rows}))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.12)
    axes.set_ylabel(rate_unit(report.frames))
    axes.legend(frameon=False, fontsize=8)
    words = "GPUs, a process each" if rows[0].device == "mixed" else "processes"
    _finish(figure, axes, report, words if over == "workers" else over)
    return figure


def plot_sweep(report: Report) -> Figure:
    """Threads by batch: a column a queue depth, a row for what else is turned; best bold."""
    grid = Grid.from_json(report.extra["grid"])
    kinds = ("dont_use_mmap", "executor", "pipelines", "hw_decoder_load")
    counted = [range(len(grid.values(knob))) for knob in kinds]
    panels = list(product(*counted, range(len(grid.prefetch))))
    rows, columns = len(panels) // len(grid.prefetch), len(grid.prefetch)
    figure, first = new_axes(
        height=0.5 + rows * (0.5 + 0.5 * len(grid.threads)), width=max(7.0, 2.6 * columns + 1.0)
    )
    first.remove()
    best = best_measurement(report).config
    top = best_measurement(report).median or 1.0
    found = {row.config: row.median for row in report.measurements}
    base = report.measurements[0].config
    all_axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, place in zip(all_axes.flat, panels, strict=True):
        unmapped, executors, pipelines, loads, queues = place
        load, count = grid.hw_decoder_load[loads], grid.pipelines[pipelines]
        executor = grid.executor[executors]
        values: list[list[float]] = []
        for t in range(len(grid.threads)):
            line: list[float] = []
            for b in range(len(grid.batch_size)):
                config = grid.config((loads, t, b, queues, pipelines, executors, unmapped), base)
                rate = found.get(config)
                line.append(rate if rate is not None else float("nan"))
                text = rate_figure(rate, report.frames) if rate is not None else "failed"
                dark = rate is not None and rate > 0.55 * top
                weight = "bold" if config == best else "normal"
                axes.text(
                    b, t, text, ha="center", va="center", fontsize=7, weight=weight,
                    color="white" if dark else "black",
                )  # fmt: skip
            values.append(line)
        axes.imshow(values, cmap="Greens", vmin=0, vmax=top, aspect="auto")
        axes.set_xticks(range(len(grid.batch_size)), list(map(str, grid.batch_size)), fontsize=7)
        axes.set_yticks(range(len(grid.threads)), list(map(str, grid.threads)), fontsize=7)
        words = f"prefetch {grid.prefetch[queues]}"
        words += f", load {load:g}" if load is not None else ""
        words += f", {count} pipelines" if count > 1 else ""
        words += f", {executor}" if executor != "dynamic" else ""
        words += ", dont_use_mmap" if grid.dont_use_mmap[unmapped] else ""
        axes.set_title(words, fontsize=8)
    for axes in all_axes[-1]:
        axes.set_xlabel("batch", fontsize=8)
    for axes in all_axes[:, 0]:
        axes.set_ylabel("threads", fontsize=8)
    words = f"{rate_unit(best.frames)}; best {rate_figure(top, best.frames)}: {best.settings}"
    figure.suptitle(f"{_title(report)}\n{words}", fontsize=8)
    return figure


def plot_tuning(report: Report) -> Figure:
    """The settings that were measured with care: candidates and the graph's own."""
    rows = [r for r in report.measurements if r.rounds and not r.probe]
    figure, axes = new_axes(height=1.1 + 0.45 * len(rows))
    _bars(axes, rows)
    names = [f"{row.label}: {row.config.settings}" for row in rows]
    axes.set_yticks(range(len(rows)), names, fontsize=7)
    _finish(figure, axes, report, rate_unit(report.frames))
    return figure


def plot_stages(report: Report) -> Figure:
    """Milliseconds that each stage adds to a batch, stacked, over each operator alone."""
    found = stages_of(report.extra)
    if found is None:
        raise EngineError("This record has no stages.")
    figure, axes = new_axes(height=2.8)
    shades = _shades(len(found.stages))
    views = {
        "in the pipeline": [
            stage.adds if stage.exclusive is None else stage.exclusive for stage in found.stages
        ],
        "each alone": [stage.alone for stage in found.stages],
    }
    for place, values in enumerate(views.values()):
        left = 0.0
        for stage, value, shade in zip(found.stages, values, shades, strict=True):
            width = max(value or 0.0, 0.0)
            label = f"{stage.title}, {stage.device}" if place == 0 else None
            axes.barh(place, width, left=left, color=shade, label=label, height=0.6)
            if width > 0.08 * found.total:
                dark = sum(shade[:3]) < 1.2
                axes.text(
                    left + width / 2, place, f"{width:.1f}", ha="center", va="center", fontsize=7,
                    color="white" if dark else "black",
                )  # fmt: skip
            left += width
    axes.axvline(found.total, color="black", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(views)), list(views), fontsize=8)
    axes.invert_yaxis()
    verdict = f"bottleneck: {found.bottleneck}" if found.bottleneck else "unstable: no verdict"
    note = f"whole batch {found.total:.1f} ms (dotted); {verdict}"
    if found.critical is not None:
        note += f"; {found.critical.words(found.total)}"
    nothing = [stage.title for stage in found.stages if (stage.adds or 0.0) < 0]
    if nothing:
        note += f"; measured as less than nothing: {', '.join(nothing)}"
    if found.remainder is not None:
        note += f"; alone leaves {found.remainder:+.1f} ms"
    if found.ceiling is not None:
        note += f"; {CEILING.partition(':')[0]} {rate_words(found.ceiling, report.frames)}"
    figure.legend(
        frameon=False, fontsize=7, ncols=2, loc="outside lower center",
        title=textwrap.fill(note, LINE), title_fontsize=8,
    )  # fmt: skip
    _finish(figure, axes, report, "ms a batch")
    return figure


def _shades(count: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["YlGn"](0.25 + 0.65 * place / max(1, count - 1)) for place in range(count)]


def _title(report: Report) -> str:
    machine = report.machine
    where = f"{machine.gpu_name}, {machine.cores} cores" if machine.gpu else (
        f"{machine.cpu}, {machine.cores} cores"
    )  # fmt: skip
    rows = [row for row in report.measurements if row.rounds]
    settings = {row.config.settings for row in rows}
    shown = f" · {settings.pop()}" if len(settings) == 1 else ""
    return f"{report.name or report.graph} · {where} · DALI {machine.dali}{shown}"


def _finish(figure: Figure, axes: Axes, report: Report, unit: str, note: str = "") -> None:
    axes.set_xlabel(unit, fontsize=8)
    if note:  # below the whole figure: the axes may be narrow
        figure.supxlabel(textwrap.fill(note, LINE), fontsize=8)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.suptitle(textwrap.fill(_title(report), LINE), fontsize=9)
