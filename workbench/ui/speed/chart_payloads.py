"""Build payloads of charts: bars, ratios, and the line of conditions below a chart."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from workbench.bench import Measurement, Report
from workbench.bench.measuring.config import Regime
from workbench.bench.measuring.measurement import rate_unit
from workbench.bench.measuring.measurement_config import low_precision_notice
from workbench.bench.measuring.stats import Interval, ratio, three_digits
from workbench.bench.measuring.transfer import copied_text
from workbench.bench.records.charts import kind_of
from workbench.bench.records.report_text import report_flags
from workbench.engine.resources.machine import Machine
from workbench.ui.contract.speed_payloads import MeasuredOn, RatioEntry, SpeedBar, SpeedFact

# Words and numbers shared by the parts of the panel

NOT_MEASURED = "not measured"
GROUPS = {"decode": "Decode alone", "pipeline": "Whole pipeline"}
KINDS = {
    "bench": ("compare", "CPU and mixed"),
    "stages": ("stages", "where the time goes"),
    "optimise": ("rewrites", "rewrites"),
    "sweep": ("tune", "all settings"),
    "tune": ("tune", "tuner"),
    "threads": ("scaling", "threads"),
    "pipelines": ("scaling", "pipelines"),
    "workers": ("scaling", "processes"),
    "operators": ("peers", "operator by operator"),
}
"""Part of the panel that shows each kind of record, and the label of the kind."""


def part_of(report: Report) -> str:
    """Return the name of the panel's part that shows a record."""
    part, _ = KINDS.get(report.kind, ("compare", ""))
    return "peers" if part == "compare" and with_peers(report) else part


def with_peers(report: Report) -> bool:
    """Return whether a record includes libraries other than DALI."""
    return any(row.config.program != "DALI" for row in report.measurements)


def kind_text(report: Report) -> str:
    """Return the label of a record's kind."""
    if report.kind == "bench" and with_peers(report):
        return "peers"
    _, words = KINDS.get(report.kind, ("", report.kind))
    return words


def name_of(report: Report) -> str:
    """Return the name of a record; if it has no name, its graph and time."""
    return report.name or ", ".join(filter(None, [report.graph, time_text(report)]))


def time_text(report: Report) -> str:
    """Return a record's local time, ``21 Nov 2026, 16:20``; "" if it was not recorded."""
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(report.created).astimezone()
        return f"{moment.day} {moment:%b %Y, %H:%M}"
    return ""


def machine_text(machine: Machine) -> str:
    """Return the CPU, cores and GPU of a machine: ``AMD EPYC · 2 cores · no GPU``."""
    gpu = machine.gpu_name.replace("NVIDIA ", "") if machine.gpu else "no GPU"
    return f"{machine.cpu} · {machine.cores} core{'s' * (machine.cores != 1)} · {gpu}"


def size_text(size: float | None) -> str:
    """Format a size in bytes with a unit, for example ``68 kB``."""
    if size is None:
        return NOT_MEASURED
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.3g} {unit}" if size < 1000 else f"{size:,.0f} {unit}"
        size /= 1000
    return ""


def figure_text(value: float | None, digits: int = 2, unit: str = "") -> str:
    """Format a number for a table; None becomes ``NOT_MEASURED``."""
    return NOT_MEASURED if value is None else f"{value:,.{digits}f}{unit}"


def ending_text(rows: tuple[Measurement, ...]) -> str:
    """Return the reason why the measurement of the rows ended, as text."""
    endings = {row.stop_reason for row in rows if row.rounds}
    if not endings or endings == {None}:
        return ""
    if endings == {"precise"}:
        return "precise enough" if all(row.ending for row in rows if row.rounds) else ""
    return "time limit reached" if "budget" in endings else "ended early"


# The line below a figure, and bars

DEVICES = {"cpu": "CPU", "mixed": "Mixed"}


def measured_on(key: str, report: Report, earlier: str = "") -> MeasuredOn:
    """Return the conditions of a record. ``earlier`` describes changes since the measurement."""
    rows = report.measurements
    parts = [
        machine_text(report.machine),
        _data_text(report),
        _settings_text(report),
        f"page cache {report.cache.state}" if report.cache else "page cache not recorded",
        ending_text(rows),
        "unstable" if any(row.unstable for row in rows) else "",
    ]
    return {
        "id": key,
        "name": name_of(report),
        "line": " · ".join(part for part in parts if part),
        "facts": [{"name": name, "value": value} for name, value in _facts(report).items()],
        "quality_flags": report_flags(report),
        "quick": low_precision_notice(
            report.measurement_config,
            [row.interval for row in rows if row.interval and not row.probe],
        ),
        "partial": "",
        "earlier": earlier,
    }


def marked_as_partial(on: MeasuredOn, progress: str) -> MeasuredOn:
    """Mark conditions as those of an unfinished run. ``progress`` describes how far the run is."""
    words = f"Partial: {progress}. The run continues."
    return {**on, "partial": words, "quality_flags": [], "quick": ""}


def rounds_text(report: Report) -> str:
    """Return the largest number of rounds of a row as text, such as ``2 rounds``."""
    rounds = max((len(row.rounds) for row in report.measurements), default=0)
    return f"{rounds} round{'s' * (rounds != 1)}"


def _data_text(report: Report) -> str:
    if report.files is None:
        return "files not counted"
    mean = report.fingerprint.mean_size if report.fingerprint else None
    without = f" without {len(report.left_out):,} bad" if report.left_out else ""
    return f"{report.files:,} files{without}" + (f" of {size_text(mean)}" if mean else "")


def _settings_text(report: Report) -> str:
    """Return the settings that all rows share; "" for a sweep, whose rows differ in settings."""
    found = {row.config.settings for row in report.measurements}
    if len(found) == 1:
        return found.pop().replace(", ", " · ")
    if report.kind in ("threads", "pipelines") and report.measurements:
        config = report.measurements[0].config
        return f"batch {config.batch_size} · prefetch {config.prefetch}"
    return ""


def _facts(report: Report) -> dict[str, str]:
    machine, found, config = report.machine, report.fingerprint, report.measurement_config
    context: Mapping[str, Any] = report.context
    git = context.get("git")
    commit = NOT_MEASURED
    if isinstance(git, Mapping):
        commit = str(git.get("commit", ""))[:12] + " with uncommitted changes" * bool(
            git.get("dirty")
        )
    formats = ", ".join(f"{name} {count}" for name, count in found.formats) if found else ""
    cache = "not recorded"
    if report.cache is not None:
        share = report.cache.resident
        there = "" if share is None else f"; {share:.0%} of the pages in memory"
        cache = f"{report.cache.state} ({report.cache.how}){there}"
    driver = f", driver {machine.driver}" if machine.driver else ""
    each = " each" if machine.gpus > 1 else ""
    gpu = f"{machine.gpu_name}, {machine.gpu_memory_gib:g} GiB{each}{driver}" if machine.gpu else ""
    load = context.get("load_average")
    return {
        "Run": f"{kind_text(report)}, {time_text(report) or 'date not recorded'}",
        "Graph": f"{report.graph} {str(context.get('graph_sha256', ''))[:12]}".strip(),
        "CPU": f"{machine.cpu}, {machine.cores} usable cores, {machine.memory_gib:g} GiB",
        "GPU": gpu or f"none: {machine.no_gpu}",
        "Versions": f"DALI {machine.dali}, Python {machine.python}, {machine.system}, "
        f"workbench {context.get('workbench', 'not recorded')}",
        "Git commit": commit,
        "Data": f"{report.data}: {_data_text(report)}, {size_text(report.size)}",
        **({"Skipped": "; ".join(report.left_out)} if report.left_out else {}),
        "Formats": formats or NOT_MEASURED,
        **({"Copied to a GPU per batch": words} if (words := copied_text(report.extra)) else {}),
        "Page cache": cache,
        "Method": f"rounds of at least {config.round_seconds:g} s and "
        f"{config.round_batches} batches, at least {config.rounds} rounds, until the 95 % interval "
        "is within "
        f"{config.precision:.0%} or {config.budget:g} s have passed; each in a fresh process",
        "Load before": figure_text(load) if isinstance(load, int | float) else NOT_MEASURED,
    }


def bars(report: Report, source: str = "") -> list[SpeedBar]:
    """Return a bar for every row of a record. ``source`` is the record's name if two are shown."""
    found = [bar(row, source) for row in report.measurements]
    if with_peers(report):
        for made, row in zip(found, report.measurements, strict=True):
            if row.config.program == "DALI":
                made["label"] = f"DALI, {made['label']}"
    if report.kind == "operators":
        for made, row in zip(found, report.measurements, strict=True):
            made["group"] = row.name.partition(":")[0]
    return found


def bar(row: Measurement, source: str = "") -> SpeedBar:
    """Return the bar of one row."""
    config, found = row.config, row.interval
    peer = config.program != "DALI"
    flags = list(row.flags) or ["unstable"] * (bool(row.rounds) and row.unstable)
    flags += [row.uncertainty] * (row.uncertainty not in ("", *flags))
    return {
        "kind": kind_of(row),
        "label": config.program if peer else DEVICES[config.device],
        "group": GROUPS[config.regime],
        "source": source,
        "median": found.median if found else None,
        "figure": row.figure,
        "frame_rate": row.frame_rate,
        "interval": row.spread_text,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "frames": config.frames,
        "rounds": list(row.imgs_per_s),
        "settings": config.settings.replace(", ", " · "),
        "reason": row.reason,
        "flags": flags,
        "uncertainty": row.uncertainty,
        "notes": list(row.notes),
        "facts": row_facts(row) if row.rounds else [],
    }


def row_facts(row: Measurement) -> list[SpeedFact]:
    """Return all facts about a row as texts, including values that were not measured."""
    latency, frames = row.latency, row.config.frames
    share = [latency.p50, latency.p95, latency.p99] if latency else []
    facts = {
        rate_unit(frames): row.figure,
        **({"frames/s": row.frame_rate.removesuffix(" frames/s")} if frames else {}),
        "interval": row.spread_text,
        "CV": f"{row.variation:.1%}",
        "rounds": str(len(row.rounds)),
        "batch ms p50 p95 p99": " ".join(f"{v:.3g}" for v in share) or NOT_MEASURED,
        "first batch": figure_text(row.first_batch, 2, " s"),
        "busy cores": figure_text(row.cpu_cores, 1),
        "host memory": size_text(row.host_bytes),
        "GPU memory": size_text(row.gpu_bytes),
        "GPU busy": figure_text(row.gpu_busy, 0, " %"),
        "JPEG engines": figure_text(row.jpeg_busy, 0, " %"),
        "ended": ending_text((row,)) or "not recorded",
    }
    return [{"name": name, "value": value} for name, value in facts.items()]


def ratios(report: Report, source: str = "") -> list[RatioEntry]:
    """Return the speed ratios of mixed to CPU decoding, and of DALI to each peer."""
    rows = {row.name: row for row in report.measurements}
    found: list[RatioEntry] = []
    for one in report.ratios:
        ours, theirs = rows[one.ours], rows[one.theirs]
        if ours.unstable or theirs.unstable:
            continue  # the bars show that there is no verdict
        peer = theirs.config.program != "DALI"
        first, second = ("DALI", theirs.config.program) if peer else ("Mixed", "CPU")
        where = f" ({source})" if source else ""
        found.append(_ratio_entry(ours.regime, first, f"{second}{where}", one.interval))
    return found


def mixed_over_cpu_ratios(
    report: Report, other: Report, names: tuple[str, str]
) -> list[RatioEntry]:
    """Return speed ratios of mixed decoding in one record to CPU decoding in the other.

    The list is empty unless exactly one record has results of mixed decoding. The records were
    measured separately, so ``stats.ratio`` computes the interval.
    """

    def rows(of: Report, device: str) -> dict[Regime, Measurement]:
        return {
            row.regime: row
            for row in of.measurements
            if row.rounds and row.device == device and row.config.program == "DALI"
        }

    theirs = {} if rows(report, "mixed") else rows(other, "mixed")
    return [
        _ratio_entry(
            regime,
            f"Mixed ({names[1]})",
            f"CPU ({names[0]})",
            ratio(theirs[regime].imgs_per_s, ours.imgs_per_s),
        )
        for regime, ours in rows(report, "cpu").items()
        if regime in theirs
    ]


def _ratio_entry(regime: Regime, first: str, second: str, interval: Interval) -> RatioEntry:
    ends = f"{three_digits(interval.low)} to {three_digits(interval.high)} "
    level = f"{interval.level:.0%}"
    return {
        "group": GROUPS[regime],
        "text": f"{first} is {interval.text(three_digits)} × {second}",
        "interval": f"{ends}at {level}" if interval.is_known else f"{level} confidence",
    }
