"""A record of measurements as text, HTML and a frame: what it shows of itself."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from workbench.bench.measuring.measurement import Measurement
from workbench.bench.records.operator_report import operator_lines, operators_of
from workbench.bench.records.rate import rate_figure, rate_words
from workbench.bench.records.stage_report import stages_of

if TYPE_CHECKING:
    from workbench.bench.records.record import Report  # which shows itself with these

_MOST_ROWS = 60
"""Rows of a table; a sweep has hundreds."""


def report_rows(report: Report) -> list[dict[str, Any]]:
    """For each measurement its setting, imgs/s with the interval of the median, and what is odd."""
    rows = []
    for row in report.measurements:
        interval = row.interval
        rows.append(
            {
                "what": row.name,
                "device": row.device,
                "batch": row.batch_size,
                "threads": row.threads,
                "imgs_per_s": interval.median if interval else None,
                "low": interval.low if interval else None,
                "high": interval.high if interval else None,
                "rounds": len(row.rounds),
                "note": row.reason or ("unstable" if row.unstable else ""),
            }
        )
    return rows


def stage_rows(report: Report) -> list[dict[str, Any]]:
    """For each stage of a run by stages its times, in milliseconds for a batch; else none."""
    found = stages_of(report.extra)
    if found is None:
        return []
    slow = found.files.slowest if found.files else ()
    return [
        {
            "stage": stage.stage,
            "operator": stage.op,
            "kind": stage.kind,
            "device": stage.device,
            "takes_ms": stage.exclusive,
            "share": None if stage.exclusive is None else stage.exclusive / found.total,
            "measured_ms": stage.adds,
            "low_ms": stage.low,
            "high_ms": stage.high,
            "alone_ms": stage.alone,
            "critical": found.critical is not None and stage.stage in found.critical.stages,
            "file": "",
        }
        for stage in found.stages
    ] + [
        {"stage": "slow file", "file": one.file, "alone_ms": one.milliseconds, "takes_ms": one.adds}
        for one in slow
    ]


def report_frame(report: Report) -> Any:
    """The same as a pandas frame; of a run by stages a row a stage, then the slowest files."""
    import pandas

    return pandas.DataFrame(stage_rows(report) or report_rows(report))


def interrupted_words(report: Report) -> str:
    """That a comparison was ended early, and how much of it there is; else empty."""
    if not report.extra.get("interrupted"):
        return ""
    count = sum(bool(row.rounds) for row in report.measurements)
    return f"interrupted: {count} of {len(report.measurements)} measured, which are kept"


def report_text(report: Report) -> str:
    """A line of what was measured where, and one for each measurement, or tables of operators."""
    lines = [_title(report)]
    if costs := operators_of(report.extra):
        return "\n".join([*lines, *(f"  {line}".rstrip() for line in operator_lines(costs))])
    lines += [f"  {_line(row)}" for row in report.measurements[:_MOST_ROWS]]
    if (more := len(report.measurements) - _MOST_ROWS) > 0:
        lines.append(f"  and {more} more")
    lines += [
        f"  {each.ours} / {each.theirs}: {each.interval.median:.2f}" for each in report.ratios
    ]
    return "\n".join(lines)


def report_html(report: Report) -> str:
    """The same as a table."""
    if costs := operators_of(report.extra):
        lines = escape("\n".join(operator_lines(costs)))
        return f"<p>{escape(_title(report))}</p><pre>{lines}</pre>"
    rows = "".join(
        f"<tr><td>{escape(row.name)}</td><td>{escape(_figure(row))}</td></tr>"
        for row in report.measurements[:_MOST_ROWS]
    )
    ratios = "".join(
        f"<p>{escape(each.ours)} / {escape(each.theirs)}: {each.interval.median:.2f} "
        f"({each.interval.low:.2f} to {each.interval.high:.2f})</p>"
        for each in report.ratios
    )
    return f"<p>{escape(_title(report))}</p><table>{rows}</table>{ratios}"


def _title(report: Report) -> str:
    machine = report.machine
    where = f"{machine.gpu_name}, " if machine.gpu else ""
    bad = len(report.left_out)
    without = f" without {bad:,} bad file{'s' * (bad > 1)}" if bad else ""
    data = f"{report.data}{without}"
    return f"{report.kind} of {report.graph} on {data}: {where}{machine.cores} cores"


def _line(row: Measurement) -> str:
    return f"{row.name}: {_figure(row)}"


def _figure(row: Measurement) -> str:
    interval = row.interval
    if interval is None:
        return row.reason or "not measured"
    low, high = (rate_figure(end, row.config.frames) for end in (interval.low, interval.high))
    unstable = ", unstable" if row.unstable else ""
    return f"{rate_words(interval.median, row.config.frames)} ({low} to {high}{unstable})"
