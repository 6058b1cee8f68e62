"""Draw charts of records with matplotlib."""

from __future__ import annotations

import textwrap
from itertools import cycle
from typing import TYPE_CHECKING, Any

from workbench.bench.measuring.measurement import rate_unit
from workbench.bench.records.charts import (
    NOT_TRIED,
    BarChart,
    HeatMap,
    HeatPanel,
    ScalingChart,
    StackChart,
    chart_of,
)
from workbench.figures import COLOURS, LINE, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.bench.records.record import Report

_LINES = ("-", "--", "-.")
"""Line styles of successive series."""
_PANEL_LINE = 40
"""Number of characters of 8-point text that fit above a panel of the heat map."""


def plot_record(report: Report) -> Figure:
    """Draw the chart of a record. Raises EngineError if nothing was measured."""
    match chart_of(report):
        case BarChart() as bars:
            return _draw_bars(bars)
        case ScalingChart() as scaling:
            return _draw_scaling(scaling)
        case HeatMap() as heat:
            return _draw_heat(heat)
        case StackChart() as stack:
            return _draw_stack(stack)


def _draw_bars(chart: BarChart) -> Figure:
    bars = [bar for group in chart.groups for bar in group]
    several = len(chart.groups) > 1
    gaps = [0.5 * number for number, group in enumerate(chart.groups) for _ in group]
    places = [at + gap for at, gap in enumerate(gaps)]
    height = 0.8 + 0.3 * len(bars) + 0.15 * len(chart.groups) if several else 1.1 + 0.45 * len(bars)
    figure, axes = new_axes(height=height)
    below = [bar.median - bar.low for bar in bars]
    above = [bar.high - bar.median for bar in bars]
    axes.barh(
        places, [bar.median for bar in bars], xerr=[below, above],
        color=[COLOURS[bar.kind] for bar in bars], capsize=3, height=0.8 if several else 0.65,
    )  # fmt: skip
    for place, bar in zip(places, bars, strict=True):
        axes.annotate(
            bar.words, (max(bar.high, 0.0), place), xytext=(4, 0),
            textcoords="offset points", va="center", fontsize=8,
        )  # fmt: skip
    axes.set_yticks(places, [bar.label for bar in bars], fontsize=8)
    axes.invert_yaxis()
    axes.margins(x=0.18)
    if all(bar.low >= 0 for bar in bars):
        axes.set_xlim(left=0)
    else:
        axes.axvline(0, color="#888888", linewidth=0.8)
    _finish(figure, axes, chart.title, chart.unit, chart.note)
    return figure


def _draw_scaling(chart: ScalingChart) -> Figure:
    figure, axes = new_axes(height=3.4)
    known = [[point for point in same if point.row.rounds] for same in chart.series]
    known = [same for same in known if same]
    for same, style in zip(known, cycle(_LINES), strict=False):
        counts = [point.count for point in same]
        rates = [point.row.rate for point in same]
        ends = [point.row.interval for point in same if point.row.interval]
        spread = [[e.median - e.low for e in ends], [e.high - e.median for e in ends]]
        axes.errorbar(
            counts, rates, yerr=spread, marker="o", capsize=3, linestyle=style,
            color=COLOURS[chart.device], label=chart.name(same),
        )  # fmt: skip
        ideal = [rates[0] * count / counts[0] for count in counts]
        label = "in proportion" if same is known[-1] else None
        axes.plot(counts, ideal, linestyle=":", color="#888888", label=label)
        for point in same:
            words = f"{point.row.figure}\n{point.efficiency_text}"
            axes.annotate(
                words, (point.count, point.row.rate),
                xytext=(5, -14), textcoords="offset points", fontsize=8,
            )  # fmt: skip
    axes.set_xticks(sorted({point.count for same in known for point in same}))
    axes.set_ylim(bottom=0)
    axes.margins(x=0.12)
    axes.set_ylabel(rate_unit(chart.frames))
    axes.legend(frameon=False, fontsize=8)
    over = "GPUs, a process each" if chart.over == "GPUs" else chart.over
    _finish(figure, axes, chart.title, over)
    return figure


def _draw_heat(chart: HeatMap) -> Figure:
    """Draw the heat map with a column per prefetch and a row per combination of the other knobs."""
    columns = chart.columns
    rows = len(chart.panels) // columns
    figure, first = new_axes(
        height=0.5 + rows * (0.5 + 0.5 * len(chart.panels[0].threads)),
        width=max(7.0, 2.6 * columns + 1.0),
    )
    first.remove()
    most = max(cell.rate or 0.0 for panel in chart.panels for cell in panel.cells) or 1.0
    all_axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes, panel in zip(all_axes.flat, chart.panels, strict=True):
        _draw_panel(axes, panel, most)
    for axes in all_axes[-1]:
        axes.set_xlabel("batch", fontsize=8)
    for axes in all_axes[:, 0]:
        axes.set_ylabel("threads", fontsize=8)
    figure.suptitle(chart.title, fontsize=8)
    return figure


def _draw_panel(axes: Axes, panel: HeatPanel, highest_rate: float) -> None:
    wide = len(panel.batches)
    rates = [float("nan") if cell.rate is None else cell.rate for cell in panel.cells]
    values = [rates[at : at + wide] for at in range(0, len(rates), wide)]
    axes.imshow(values, cmap="Greens", vmin=0, vmax=highest_rate, aspect="auto")
    for at, cell in enumerate(panel.cells):
        failed = "" if cell.reason == NOT_TRIED else "failed"
        text = failed if cell.rate is None else cell.figure.replace(" to ", "\nto ")
        axes.text(
            at % wide, at // wide, text, ha="center", va="center", fontsize=7,
            weight="bold" if cell.best else "normal",
            color="white" if (cell.rate or 0.0) > 0.55 * highest_rate else "#000000",
        )  # fmt: skip
    axes.set_xticks(range(wide), list(map(str, panel.batches)), fontsize=7)
    axes.set_yticks(range(len(panel.threads)), list(map(str, panel.threads)), fontsize=7)
    axes.set_title(textwrap.fill(panel.title, _PANEL_LINE), fontsize=8)


def _draw_stack(chart: StackChart) -> Figure:
    figure, axes = new_axes(height=2.8)
    shades = _shades(len(chart.parts))
    for place in range(len(chart.rows)):
        left = 0.0
        for (name, values), shade in zip(chart.parts, shades, strict=True):
            width = max(values[place] or 0.0, 0.0)
            label = name if place == 0 else None
            axes.barh(place, width, left=left, color=shade, label=label, height=0.6)
            if width > 0.08 * chart.total:
                dark = sum(shade[:3]) < 1.2
                axes.text(
                    left + width / 2, place, f"{width:.1f}", ha="center", va="center", fontsize=7,
                    color="white" if dark else "#000000",  # not INK in notebooks, as "black" is
                )  # fmt: skip
            left += width
    axes.axvline(chart.total, color="black", linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(chart.rows)), chart.rows, fontsize=8)
    axes.invert_yaxis()
    figure.legend(
        frameon=False, fontsize=7, ncols=2, loc="outside lower center",
        title=textwrap.fill(chart.note, LINE), title_fontsize=8,
    )  # fmt: skip
    _finish(figure, axes, chart.title, chart.unit)
    return figure


def _shades(count: int) -> list[Any]:
    from matplotlib import colormaps

    return [colormaps["YlGn"](0.25 + 0.65 * place / max(1, count - 1)) for place in range(count)]


def _finish(figure: Figure, axes: Axes, title: str, unit: str, note: str = "") -> None:
    axes.set_xlabel(unit, fontsize=8)
    if note:  # below the whole figure: the axes may be narrow
        figure.supxlabel(textwrap.fill(note, LINE), fontsize=8)
    axes.tick_params(labelsize=8)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.suptitle(textwrap.fill(title, LINE), fontsize=9)
