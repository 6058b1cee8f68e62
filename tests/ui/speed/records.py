"""Records as files, for the tests in the browser."""

from __future__ import annotations

from dataclasses import asdict

from tests.bench.fakes import measured, report
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.records.record import WHOLE, dump_report
from workbench.bench.records.stage_report import StageCost, StageReport


def stage_record() -> str:
    """Where the time of ``rotate-jitter`` goes."""
    found = StageReport(
        (
            StageCost("reader", "read", "cpu", 1.0, None),
            StageCost("decode", "decode", "cpu", 9.0, 8.0),
        ),
        10.0, 2.0, 900.0, "decode",
        "decode takes 90% of a batch's time. Options: 2 more threads.",
    )  # fmt: skip
    whole = measured(400.0, WHOLE)
    return dump_report(report(whole, kind="stages", extra={"stages": asdict(found)}))


def tune_record() -> str:
    """Two settings that were tried, one that failed and one that was not tried."""
    grid = Grid((1, 2), (4, 8), (2,))
    rows = (
        measured(900.0, "candidate 1", threads=2, batch_size=8),
        measured(500.0, "as it is", threads=2, batch_size=4),
        Measurement(Config(batch_size=8, threads=1), reason="not measured: Out of memory"),
    )
    told = {"probes": 3, "grid": 4, "search_seconds": 9.0, "seconds": 12.0}
    return dump_report(report(*rows, kind="tune", extra={"grid": grid.to_json(), "tune": told}))
