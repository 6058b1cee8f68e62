"""Build the heat maps of a sweep or the tuner: threads by batch size."""

from __future__ import annotations

from workbench.bench import Measurement, Report
from workbench.bench.experiments.grid_experiment import describe_ineffective
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.grid import Grid, knob_values
from workbench.bench.measuring.measurement import long_run_text
from workbench.bench.measuring.stats import paired_ratio
from workbench.bench.records.charts import (
    best_measurement,
    best_rate,
    equally_fast,
    heat_map,
)
from workbench.errors import EngineError
from workbench.ui.contract.speed_payloads import HeatCell, HeatPanel, MeasuredOn, TuneView
from workbench.ui.speed.chart_payloads import marked_as_partial

OWN = "as it is"
"""Label of the row with the graph's own settings in the tuner's records."""


def tune_view(on: MeasuredOn, report: Report, graph_config: Config | None) -> TuneView:
    """Return the heat maps, the best setting, and its speed-up over ``graph_config``."""
    best: Measurement | None
    try:
        best = best_measurement(report)
    except EngineError:
        best = None
    return _view(on, report, graph_config, best)


def running_view(
    on: MeasuredOn, report: Report, graph_config: Config, now: Config | None
) -> TuneView:
    """Return the heat maps of an unfinished run. ``now`` is the setting that is being measured."""
    rows = [row for row in report.measurements if row.rounds]
    best = max(rows, key=lambda row: row.rate, default=None)
    view = _view(on, report, graph_config, best, now)
    count = len(Grid.from_json(report.extra["grid"]))
    tried = f"{len(report.measurements)} of {count} settings tried so far"
    return {**view, "on": [marked_as_partial(on, tried)], "tried": tried, "running": True}


def _view(
    on: MeasuredOn,
    report: Report,
    graph_config: Config | None,
    best: Measurement | None,
    now: Config | None = None,
) -> TuneView:
    grid = Grid.from_json(report.extra["grid"])
    panels = _panels(report, best, graph_config, now)
    failed = list(dict.fromkeys(row.reason for row in report.measurements if row.reason))
    idle = report.extra.get("sweep", {}).get("no_effect", ())
    record = report.extra.get("tune", {})
    figure, caution = best_rate(report, best) if best else ("", "")
    return {
        "on": [on],
        "panels": panels,
        "most": max(
            (cell["rate"] or 0.0 for panel in panels for cell in panel["cells"]), default=0
        ),
        "best": best.config.settings if best else "",
        "figure": figure,
        "interval": best.spread_text if best else "",
        "gain": _gain(report, best),
        "tried": _tried(report, grid, best),
        "notes": [
            *(words for words in (record.get("headroom"), record.get("stopped")) if words),
            *filter(None, [caution, equally_fast(report, best) if best else ""]),
            *map(describe_ineffective, idle),
            *failed[:5],
            *([f"and {len(failed) - 5} more reasons, in the record"] if len(failed) > 5 else []),
        ],
        "adopted": best is not None
        and graph_config is not None
        and knob_values(best.config) == knob_values(graph_config),
        "running": False,
    }


def _panels(
    report: Report, best: Measurement | None, graph_config: Config | None, now: Config | None
) -> list[HeatPanel]:
    """Return the heat maps, except maps of rare settings in which no setting was tried."""
    own_knobs, running_knobs = graph_config and knob_values(graph_config), now and knob_values(now)
    panels: list[HeatPanel] = []
    for panel in heat_map(report, best).panels:
        cells: list[HeatCell] = [
            {
                "threads": cell.threads,
                "batch": cell.batch,
                "rate": cell.rate,
                "figure": cell.figure,
                "reason": cell.reason,
                "best": cell.best,
                "own": cell.knobs == own_knobs,
                "now": cell.knobs == running_knobs,
            }
            for cell in panel.cells
        ]
        if panel.rare and not any(cell["rate"] or cell["now"] for cell in cells):
            continue
        panels.append(
            {
                "title": panel.title,
                "threads": list(panel.threads),
                "batches": list(panel.batches),
                "cells": cells,
            }
        )
    return panels


def _gain(report: Report, best: Measurement | None) -> str:
    """Return the best setting's speed-up over the graph's setting as text, or "".

    The speed-up is measured in interleaved rounds.
    """
    own = next((row for row in report.measurements if row.label == OWN and row.rounds), None)
    if best is None or own is None:
        return ""
    turned = [row for row in report.measurements if not row.probe and not row.confirmed]
    best = next((row for row in turned if row.config == best.config), best)
    if own is best:
        return "no settings were found that are faster than the graph's settings at the time"
    gain = paired_ratio(best.imgs_per_s, own.imgs_per_s)
    ends = f", {gain.low:.2f} to {gain.high:.2f}" if gain.is_known else ""
    return (
        f"{gain.text()} × the throughput with the graph's settings at the time "
        f"({own.config.settings}){ends}"
    )


def _tried(report: Report, grid: Grid, best: Measurement | None) -> str:
    if report.extra.get("interrupted"):
        return f"interrupted: {len(report.measurements)} of {len(grid)} settings tried"
    if tune := report.extra.get("tune"):
        tried = f"{tune['probes']} of {tune['grid']} settings tried in {tune['seconds']:.0f} s"
        long = long_run_text(best) if best else ""
        return f"{tried}; the best{long}" if long else tried
    seconds = report.extra.get("sweep", {}).get("seconds")
    took = "" if seconds is None else f" in {seconds:.0f} s"
    return f"all {len(grid)} settings tried{took}"
