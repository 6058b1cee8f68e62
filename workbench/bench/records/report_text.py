"""Convert a record to text, HTML, CSV and a data frame, with warnings about its results."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING, Any

from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.pixels import PixelDifference
from workbench.bench.measuring.stats import Interval
from workbench.bench.records.charts import equally_fast
from workbench.bench.records.operator_report import operator_lines, operators_of
from workbench.bench.records.stage_report import stages_of
from workbench.engine.resources.machine import Machine

if TYPE_CHECKING:
    from workbench.bench.records.record import Report  # which uses these to display itself

_MOST_ROWS = 60
"""Maximum number of rows in a table. A sweep has hundreds of rows."""


def report_rows(report: Report) -> list[dict[str, Any]]:
    """Return a table row for each measurement: setting, imgs/s with interval, and warnings."""
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
                "within_3_percent": row.within_3_percent,
                "rounds": len(row.rounds),
                "note": row.reason or ("unstable" if row.unstable else ""),
            }
        )
    return rows


def stage_rows(report: Report) -> list[dict[str, Any]]:
    """Return a table row with the times of each stage in milliseconds; [] for other records."""
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
    """Return a data frame with a row per measurement or, for a stage run, per stage."""
    import pandas

    return pandas.DataFrame(stage_rows(report) or report_rows(report))


def interrupted_text(report: Report) -> str:
    """Return a note on how much of an interrupted run was measured, or "" if it was complete."""
    if not report.extra.get("interrupted"):
        return ""
    count = sum(bool(row.rounds) for row in report.measurements)
    stages = stages_of(report.extra)
    if not count and stages and (alone := sum(s.alone is not None for s in stages.stages)):
        return f"interrupted: {alone} operators measured alone; the pipeline was not"
    return f"interrupted: {count} of {len(report.measurements)} measured"


def report_text(report: Report) -> str:
    """Return a record as text: a summary, then one line per measurement (or operator tables)."""
    lines = [_title(report)]
    if costs := operators_of(report.extra):
        return "\n".join([*lines, *(f"  {line}".rstrip() for line in operator_lines(costs))])
    lines += [f"  {line}" for line in _verdict_lines(report)]
    lines += [f"  {_line(row, report)}" for row in report.measurements[:_MOST_ROWS]]
    if (more := len(report.measurements) - _MOST_ROWS) > 0:
        lines.append(f"  and {more} more")
    lines += [f"  {each.ours} / {each.theirs}: {each.interval.text()}" for each in report.ratios]
    lines += [f"  {words}" for words in faster_exports(report)]
    lines += [f"  caution: {words}" for words in report_flags(report)]
    return "\n".join(lines)


def report_html(report: Report) -> str:
    """Return a record as HTML tables, with the content of ``report_text``."""
    if costs := operators_of(report.extra):
        lines = escape("\n".join(operator_lines(costs)))
        return f"<p>{escape(_title(report))}</p><pre>{lines}</pre>"
    rows = "".join(
        f"<tr><td>{escape(_name(row, report))}</td><td>{escape(_rate_text(row))}</td></tr>"
        for row in report.measurements[:_MOST_ROWS]
    )
    ratios = "".join(
        f"<p>{escape(each.ours)} / {escape(each.theirs)}: {each.interval.with_range}</p>"
        for each in report.ratios
    )
    ratios += "".join(f"<p>{escape(words)}</p>" for words in faster_exports(report))
    cautions = "".join(f"<p>{escape(words)}</p>" for words in report_flags(report))
    verdict = "<br>".join(escape(line) for line in _verdict_lines(report))
    verdict = f"<p>{verdict}</p>" if verdict else ""
    return f"<p>{escape(_title(report))}</p>{verdict}<table>{rows}</table>{ratios}{cautions}"


def faster_exports(report: Report) -> list[str]:
    """Return a recommendation for each library that is faster than DALI and has an export target.

    The ratio must be farther below 1 than that of the control, DALI measured a second time.
    """
    peers = report.extra.get("peers") or {}
    rows = {row.name: row for row in report.measurements}
    ratios: dict[str, Interval] = {}
    for one in report.ratios:
        if not (rows[one.ours].unstable or rows[one.theirs].unstable) and one.interval.level:
            ratios[rows[one.theirs].config.program] = one.interval
    noise = min([1.0, *(found.low for name, found in ratios.items() if name not in peers)])
    return [
        _recommendation(name, peers[name], found, report.machine)
        for name, found in ratios.items()
        if peers.get(name, {}).get("target") and found.high < noise
    ]


def _recommendation(name: str, peer: Mapping[str, Any], ratio: Interval, machine: Machine) -> str:
    faster = Interval(1 / ratio.median, 1 / ratio.high, 1 / ratio.low, ratio.level)
    where = f"{machine.cpu}, {machine.cores} cores"
    words = f"{name} was {faster.with_range} times as fast as DALI on {where}."
    pixels = peer.get("difference", {})
    if "mean" not in pixels or not PixelDifference(**pixels).is_same:
        return f"{words} It is not the same augmentation."
    return (
        f"{words} Make DALI faster with rewrites (`workbench optimise`), or use its export "
        f"(`workbench export --target {peer['target']}`)."
    )


def _verdict_lines(report: Report) -> list[str]:
    if report.kind == "tune" and report.measurements:
        best = report.measurements[0]
        equal = equally_fast(report, best)
        return [f"best: {best.config.settings}, {_rate_text(best)}", *[equal] * bool(equal)]
    found = stages_of(report.extra)
    if found is None:
        return []
    lines = []
    for stage in found.stages:
        alone = "" if stage.alone is None else f"alone {stage.alone:.1f} ms"
        cost = ""
        if stage.exclusive is not None:
            share = stage.exclusive / found.total
            cost = f"{stage.exclusive:.1f} ms of a batch, {share:.0%}"
        if words := "; ".join(filter(None, (cost, alone))):
            lines.append(f"{stage.title}: {words}")
    return [*([found.advice] if found.advice else []), *lines]


def _title(report: Report) -> str:
    machine = report.machine
    where = f"{machine.gpu_name}, " if machine.gpu else ""
    bad = len(report.left_out)
    without = f" without {bad:,} bad file{'s' * (bad > 1)}" if bad else ""
    data = f"{report.data}{without}"
    return f"{report.kind} of {report.graph} on {data}: {where}{machine.cores} cores"


def _line(row: Measurement, report: Report) -> str:
    return f"{_name(row, report)}: {_rate_text(row)}"


def _name(row: Measurement, report: Report) -> str:
    """Return the name of a row, with its setting if the record is a tuning run or sweep."""
    tried = report.kind in ("tune", "sweep") and row.name != row.config.settings
    return f"{row.name}: {row.config.settings}" if tried else row.name


def _rate_text(row: Measurement) -> str:
    if row.interval is None:
        return row.reason or "not measured"
    return row.rate_text + " (unstable)" * row.unstable


_CORES = re.compile(r"[0-9.]+(?= of [0-9]+ core)")
"""Pattern of the number of cores in a warning."""
_NUMBERS = re.compile(rf"{_CORES.pattern}|(?<=--budget )[0-9]+")
"""Pattern of the numbers in a warning. Warnings that differ only in these are merged."""


def report_flags(report: Report) -> list[str]:
    """Return the warnings about the results of a record, except about a tuner's probes.

    Stage runs have few rounds, so their rates are ranges. This is no warning.
    """
    rows = [row for row in report.measurements if not row.probe]
    return quality_flags(rows, report.kind != "stages")


def quality_flags(rows: Sequence[Measurement], with_uncertainty: bool = True) -> list[str]:
    """Return each warning about results once, with the name of its row or the number of rows.

    ``with_uncertainty`` includes the reasons why rates are shown as ranges.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        flags = (*(row.flags or ["unstable"] * row.unstable), *[row.uncertainty] * with_uncertainty)
        for flag in filter(None, dict.fromkeys(flags)):
            found.setdefault(_NUMBERS.sub("", flag), []).append((row.name, flag))
    return [_flag_text(same, len(rows)) for same in found.values()]


def _flag_text(same: Sequence[tuple[str, str]], rows: int) -> str:
    name, flag = max(same, key=lambda pair: len(pair[1]))
    if len(same) == 1:
        return f"{name}: {flag}"
    cores = sorted({float(found[0]) for _, words in same if (found := _CORES.search(words))})
    if len(cores) > 1:
        flag = _CORES.sub(f"{cores[0]:.1f} … {cores[-1]:.1f}", flag)
    return f"{len(same)} of {rows} figures: {flag}"


CSV_COLUMNS = (
    *("record", "created", "kind", "graph", "label", "program", "device", "regime", "batch_size"),
    *(
        "threads",
        "prefetch",
        "hw_decoder_load",
        "workers",
        "pipelines",
        "dont_use_mmap",
        "median",
        "low",
        "high",
        "level",
        "within_3_percent",
        "cv",
    ),
    *("rounds", "p50_ms", "p95_ms", "p99_ms", "first_batch_s", "cpu_cores", "host_bytes"),
    *("gpu_bytes", "stopped", "unstable", "reason", "cpu", "cores", "gpu", "dali", "files"),
    *("bytes", "cache"),
)


def to_csv(reports: Mapping[str, Report]) -> str:
    """Return CSV with one line per measurement of these records, each with the record's name."""
    text = io.StringIO()
    writer = csv.DictWriter(text, CSV_COLUMNS, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    for name, report in reports.items():
        common = {
            "record": report.name or name,
            "created": report.created,
            "kind": report.kind,
            "graph": report.graph,
            **asdict(report.machine),
            "files": report.files,
            "bytes": report.size,
            "cache": report.cache.state if report.cache else None,
        }
        for row in report.measurements:
            figures = asdict(row.interval) if row.interval else {}
            latency = asdict(row.latency) if row.latency else {}
            writer.writerow(
                {
                    **common,
                    **asdict(row.config),
                    **figures,
                    **{f"{name}_ms": value for name, value in latency.items()},
                    "label": row.name,
                    "within_3_percent": row.within_3_percent,
                    "cv": row.variation,
                    "rounds": len(row.rounds),
                    "first_batch_s": row.first_batch,
                    "cpu_cores": row.cpu_cores,
                    "host_bytes": row.host_bytes,
                    "gpu_bytes": row.gpu_bytes,
                    "stopped": row.stop_reason,
                    "unstable": row.unstable,
                    "reason": row.reason,
                }
            )
    return text.getvalue()
