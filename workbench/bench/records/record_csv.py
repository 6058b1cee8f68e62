"""Records as a table: CSV with a line for each measurement."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict

from workbench.bench.records.record import Report

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
        "cv",
    ),
    *("rounds", "p50_ms", "p95_ms", "p99_ms", "first_batch_s", "cpu_cores", "host_bytes"),
    *("gpu_bytes", "stopped", "unstable", "reason", "cpu", "cores", "gpu", "dali", "files"),
    *("bytes", "cache"),
)


def to_csv(reports: Mapping[str, Report]) -> str:
    """One line for each measurement of some reports, by the name of the record."""
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
