"""Words and numbers that the parts of the panel share."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from workbench.bench import Measurement, Report
from workbench.engine.resources.machine import Machine

NOT_MEASURED = "not measured"
GROUPS = {"decode": "Decode alone", "pipeline": "Whole pipeline"}
KINDS = {
    "bench": ("compare", "CPU against mixed"),
    "stages": ("stages", "where the time goes"),
    "optimise": ("rewrites", "rewrites"),
    "sweep": ("tune", "every setting"),
    "tune": ("tune", "tuner"),
    "threads": ("scaling", "threads"),
    "pipelines": ("scaling", "pipelines"),
    "workers": ("scaling", "processes"),
    "operators": ("peers", "operator by operator"),
}
"""Kind of a record -> the part of the panel that shows it, and what it is called."""


def part_of(report: Report) -> str:
    """The part of the panel that shows a record."""
    part, _ = KINDS.get(report.kind, ("compare", ""))
    return "peers" if part == "compare" and with_peers(report) else part


def with_peers(report: Report) -> bool:
    """Whether libraries other than DALI take part."""
    return any(row.config.program != "DALI" for row in report.measurements)


def kind_words(report: Report) -> str:
    """What kind of run it was, in words."""
    if report.kind == "bench" and with_peers(report):
        return "peers"
    _, words = KINDS.get(report.kind, ("", report.kind))
    return words


def name_of(report: Report) -> str:
    """The record's name, or what it is of and when it was made."""
    return report.name or ", ".join(filter(None, [report.graph, time_text(report)]))


def time_text(report: Report) -> str:
    """Local time: ``21 Nov 2026, 16:20``; empty where it is not recorded."""
    with suppress(ValueError, OverflowError):
        moment = datetime.fromisoformat(report.created).astimezone()
        return f"{moment.day} {moment:%b %Y, %H:%M}"
    return ""


def machine_words(machine: Machine) -> str:
    """``AMD EPYC · 2 cores · no GPU``."""
    gpu = machine.gpu_name.replace("NVIDIA ", "") if machine.gpu else "no GPU"
    return f"{machine.cpu} · {machine.cores} core{'s' * (machine.cores != 1)} · {gpu}"


def size_words(size: float | None) -> str:
    """Bytes for a reader: 68 kB."""
    if size is None:
        return NOT_MEASURED
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.3g} {unit}" if size < 1000 else f"{size:,.0f} {unit}"
        size /= 1000
    return ""


def figure_text(value: float | None, digits: int = 2, unit: str = "") -> str:
    """A number for a table, or that it was not measured."""
    return NOT_MEASURED if value is None else f"{value:,.{digits}f}{unit}"


def ratio_text(value: float) -> str:
    """A ratio for reading: 3.27, 13.2, 132."""
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def ending_words(rows: tuple[Measurement, ...]) -> str:
    """How the rows that were measured ended, together."""
    endings = {row.stop_reason for row in rows if row.rounds}
    if not endings or endings == {None}:
        return ""
    if endings == {"precise"}:
        return "precise enough"
    return "time was up" if "budget" in endings else "ended early"
