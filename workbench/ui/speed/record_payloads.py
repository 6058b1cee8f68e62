"""Build payloads of records for the parts of the Speed panel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from workbench.bench import Report
from workbench.bench.measuring.pixels import pixel_sentences
from workbench.bench.records.charts import rate_of, scaling_chart
from workbench.bench.records.compare import Comparison, compare_reports
from workbench.bench.records.record import WHOLE
from workbench.bench.records.report_text import faster_exports, interrupted_text
from workbench.bench.records.stage_report import CEILING, stages_of
from workbench.engine.resources.machine import describe_machine
from workbench.errors import RecordFormatError
from workbench.ui.contract.speed_payloads import (
    CompareView,
    ComparisonView,
    MeasuredOn,
    RecordEntry,
    ScalingView,
    StagesView,
)
from workbench.ui.speed.chart_payloads import (
    bars,
    kind_text,
    machine_text,
    marked_as_partial,
    measured_on,
    mixed_over_cpu_ratios,
    name_of,
    part_of,
    ratios,
    rounds_text,
    time_text,
)
from workbench.ui.speed.heatmap_view import tune_view
from workbench.ui.speed.rewrites_view import rewrites_view

_NAMED = 8
"""Maximum number of listed rows that are in only one of two records."""


def view_of(key: str, report: Report, earlier: str = "", nodes: Sequence[str] = ()) -> Any:
    """Return the payload that displays a record. Its type depends on the record's part."""
    on = measured_on(key, report, earlier)
    match part_of(report):
        case "stages":
            return stages_view(on, report, nodes)
        case "rewrites":
            return rewrites_view(on, report)
        case "tune":
            return tune_view(on, report, None)
        case "scaling":
            return scaling_view(on, report)
    return compare_view(on, report)


def partial_view(report: Report, earlier: str = "", nodes: Sequence[str] = ()) -> Any:
    """Return the payload of an unfinished measurement: results so far, without conclusions."""
    view = view_of("", report, earlier, nodes)
    rows = report.measurements
    known = sum(bool(row.rounds) for row in rows)
    some = (
        f"{known} of {len(rows)} rows have results"
        if known < len(rows)
        else "every row has results"
    )
    on = marked_as_partial(view["on"][0], f"{some}, of {rounds_text(report)} so far")
    return {**view, "on": [on], **({"ratios": [], "advice": []} if "ratios" in view else {})}


def compare_view(
    on: MeasuredOn, report: Report, other_record: tuple[MeasuredOn, Report] | None = None
) -> CompareView:
    """Return the payload that compares CPU and mixed decoding, or DALI and its peers.

    ``other_record`` is another record whose bars are added. Reasons why a result is unreliable are
    displayed next to its bar, and not repeated below the chart.
    """
    on = {**on, "quality_flags": []}
    if other_record is None:
        return {
            "on": [on],
            "bars": bars(report),
            "ratios": ratios(report),
            "advice": faster_exports(report),
            "notes": _notes(report),
        }
    there, other = other_record
    names = _source(on, report), _source(there, other)
    if names[0] == names[1]:
        names = on["name"], there["name"]
    warnings = compare_reports(report, other).warnings
    return {
        "on": [on, {**there, "quality_flags": []}],
        "bars": [*bars(report, names[0]), *bars(other, names[1])],
        "ratios": [
            *ratios(report, names[0]),
            *ratios(other, names[1]),
            *mixed_over_cpu_ratios(report, other, names),
        ],
        "advice": [],
        "notes": [
            *(f"{words} ({names[0]})" for words in _notes(report)),
            *(f"{words} ({names[1]})" for words in _notes(other)),
            *(words[:1].upper() + words[1:] for words in warnings),
        ],
    }


def _notes(report: Report) -> list[str]:
    return [*filter(None, [_interrupted_sentence(report)]), *pixel_sentences(report.extra)]


def _as_interrupted(on: MeasuredOn, report: Report) -> MeasuredOn:
    words = _interrupted_sentence(report)
    return {**on, "partial": words} if words else on


def _interrupted_sentence(report: Report) -> str:
    words = interrupted_text(report)
    return words[:1].upper() + words[1:]


def _source(on: MeasuredOn, report: Report) -> str:
    return "this machine" if report.machine == describe_machine() else on["name"]


def stages_view(on: MeasuredOn, report: Report, nodes: Sequence[str]) -> StagesView:
    """Return the payload for the time by stage. ``nodes`` are the current graph's node ids."""
    found = stages_of(report.extra)
    whole = {row.name: row for row in report.measurements}[WHOLE]
    if found is None or not whole.rounds:
        raise ValueError("it has no stages")
    return {
        "on": [_as_interrupted(on, report)],
        "stages": [
            {
                "name": stage.stage,
                "op": stage.op if stage.op != stage.stage else "",
                "kind": stage.kind,
                "device": stage.device,
                "adds": stage.adds,
                "low": stage.low,
                "high": stage.high,
                "exclusive": stage.exclusive,
                "alone": stage.alone,
                "node": stage.stage if stage.stage in nodes else "",
            }
            for stage in found.stages
        ],
        "total": found.total,
        "rate": whole.rate_text,
        "interval": whole.spread_text,
        "remainder": found.remainder,
        "ceiling": rate_of(report, CEILING),
        "bottleneck": found.bottleneck,
        "advice": found.advice,
        "functions": list(found.function_texts),
        "path": list(found.path_texts),
        "notes": [f"{row.name}: {row.reason}" for row in report.measurements if row.reason],
    }


def scaling_view(on: MeasuredOn, report: Report) -> ScalingView:
    """Return the imgs/s by threads, pipelines or processes, with a series per pipeline count."""
    chart = scaling_chart(report)
    several = len(chart.series) > 1
    return {
        "on": [_as_interrupted(on, report)],
        "unit": chart.over,
        "kind": chart.device,
        "frames": report.frames,
        "points": [
            {
                "count": point.count,
                "pipelines": row.config.pipelines if several else 0,
                "median": row.median,
                "low": row.interval.low if row.interval else None,
                "high": row.interval.high if row.interval else None,
                "figure": row.figure,
                "interval": row.spread_text,
                "speedup": point.speedup_text,
                "efficiency": point.efficiency_text,
                "reason": row.reason,
                "flags": [*row.flags, *row.notes],
            }
            for series in chart.series
            for point in series
            for row in [point.row]
        ],
    }


def comparison_view(
    first: MeasuredOn, second: MeasuredOn, comparison: Comparison
) -> ComparisonView:
    """Return the payload for the comparison of two records."""
    return {
        "first": first,
        "second": second,
        "pairs": [
            {
                "name": pair.name,
                "first": pair.first.figure,
                "second": pair.second.figure,
                "ratio": pair.ratio_text,
                "verdict": pair.verdict,
                "differs": list(pair.differs),
            }
            for pair in comparison.pairs
        ],
        "only": [*_only(comparison.only_first, first), *_only(comparison.only_second, second)],
        "warnings": list(comparison.warnings),
    }


def _only(names: Sequence[str], on: MeasuredOn) -> list[str]:
    """Return a line for each row that is in only one record, up to ``_NAMED`` lines."""
    lines = [f"{name}: only in {on['name']}" for name in names[:_NAMED]]
    more = len(names) - _NAMED
    return [*lines, f"and {more} more only in {on['name']}"] if more > 0 else lines


def record_entry(key: str, report: Report, this_machine: str) -> RecordEntry:
    """Return the list entry of a record. ``this_machine`` is ``machine_text`` of this machine."""
    machine = machine_text(report.machine)
    return {
        "id": key,
        "name": name_of(report),
        "kind": kind_text(report),
        "part": part_of(report),
        "graph": report.graph,
        "when": time_text(report),
        "machine": machine,
        "best": report.best_row.rate_text if report.best_row else "",
        "shown": False,
        "elsewhere": machine != this_machine,
    }


def is_drawable(report: Report) -> bool:
    """Return whether the panel can display a record."""
    try:
        require_drawable(report)
    except RecordFormatError:
        return False
    return True


def require_drawable(report: Report) -> None:
    """Raise RecordFormatError if the panel cannot display a record."""
    try:
        json.dumps(view_of("", report), allow_nan=False)
        json.dumps(report.to_json(), allow_nan=False)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, LookupError) as error:
        raise RecordFormatError(
            f"The record is damaged: {type(error).__name__}: {error}. Measure again."
        ) from None
