"""Records as files for the browser to offer: CSV, JSON, PNG, SVG."""

from __future__ import annotations

import re
from collections.abc import Mapping

from workbench.bench import Report
from workbench.bench.records.plots import plot_record
from workbench.bench.records.record import dump_report
from workbench.bench.records.record_csv import to_csv
from workbench.errors import GraphEditError
from workbench.figures import render_figure
from workbench.ui.speed.formatting import name_of

KINDS = {
    "csv": "text/csv",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
}


def export_file(kind: str, records: Mapping[str, Report]) -> tuple[str, str, bytes]:
    """Name, media type and content. Raises GraphEditError and, of a picture, EngineError.

    CSV holds all of the records; the other kinds are of one.
    """
    if kind not in KINDS:
        raise GraphEditError(f"{kind[:40]!r} is no kind of file. There are: {', '.join(KINDS)}.")
    if not records or (kind != "csv" and len(records) > 1):
        raise GraphEditError("Choose one record." if records else "There is no record yet.")
    first = next(iter(records.values()))
    name = f"{file_name(first) if len(records) == 1 else 'speed'}.{kind}"
    if kind == "csv":
        return name, KINDS[kind], to_csv(records).encode()
    if kind == "json":
        return name, KINDS[kind], dump_report(first).encode()
    return name, KINDS[kind], render_figure(plot_record(first), "png" if kind == "png" else "svg")


def file_name(report: Report) -> str:
    """A plain file name for a record."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name_of(report)).strip("-.")[:80] or "record"
