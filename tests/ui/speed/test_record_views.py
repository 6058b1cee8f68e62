"""Records of every kind as the parts of the panel show them."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import measured, report, rounds
from workbench.bench import Measurement
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.data_fingerprint import Fingerprint
from workbench.bench.measuring.measurement_config import COARSE_CONFIG
from workbench.bench.measuring.page_cache import CacheState
from workbench.bench.records.compare import compare_reports, read_report
from workbench.bench.records.record import WHOLE
from workbench.bench.records.stage_report import StageCost, StageReport
from workbench.errors import RecordFormatError
from workbench.ui.speed.chart_views import measured_on
from workbench.ui.speed.formatting import name_of, part_of
from workbench.ui.speed.record_views import comparison_view, require_drawable, view_of

BENCHMARKS = Path(__file__).parents[3] / "assets" / "benchmarks"
STAGES = StageReport(
    (
        StageCost("reader", "read", "cpu", 1.0, None, "readers.file", 0.5, 1.5),
        StageCost("decode", "decode", "cpu", 9.0, 8.0),
        StageCost("copy to the host", "copy", "gpu", None, None),
    ),
    12.0, 2.0, 1800.0, "decode", "decode takes 75% of a batch's time.",
)  # fmt: skip


def stages(**fields: Any) -> Any:
    return report(measured(900, WHOLE), kind="stages", extra={"stages": asdict(STAGES)}, **fields)


def test_stages_name_the_nodes_that_can_be_selected() -> None:
    view = view_of("k", stages(), nodes=["reader", "decode", "flip"])
    assert [stage["node"] for stage in view["stages"]] == ["reader", "decode", ""]
    assert [stage["op"] for stage in view["stages"]] == ["readers.file", "", ""]
    assert [stage["low"] for stage in view["stages"]] == [0.5, None, None]
    assert (view["total"], view["remainder"], view["ceiling"]) == (12.0, 2.0, 1800.0)
    assert view["bottleneck"] == "decode"
    assert view["low"] <= view["rate"] <= view["high"]


def test_stages_say_why_one_was_not_measured() -> None:
    failed = Measurement(Config(), label="up to decode", reason="not measured: it was ended")
    record = stages()
    record = replace(record, measurements=(*record.measurements, failed))
    view = view_of("k", record, nodes=[])
    assert view["notes"] == ["up to decode: not measured: it was ended"]


def test_the_line_says_on_what() -> None:
    loaded = replace(
        measured(100.0), flags=("the machine was loaded: something else kept 1.5 of 2 cores busy",)
    )
    record = report(
        loaded,
        replace(measured(9, regime="decode"), stop_reason="budget", settled=False),
        fingerprint=Fingerprint("photos", 120, 8_160_000, (("JPEG", 100), ("PNG", 20))),
        cache=CacheState("cold", "dropped before every round", 0.01),
        context={"git": {"commit": "0123456789abcdef", "dirty": True}, "graph_sha256": "f" * 64},
    )
    on = measured_on("k", record, "of an earlier graph")
    assert on["line"] == (
        "A CPU · 16 cores · H200 · 120 files of 68 kB · batch 64 · 4 threads · prefetch 2 · "
        "pages cold · time was up · unstable"
    )
    facts = {fact["name"]: fact["value"] for fact in on["facts"]}
    assert facts["Checkout"] == "0123456789ab with changes"
    assert facts["Formats"] == "JPEG 100, PNG 20"
    assert facts["Page cache"].endswith("; 1% of the pages in memory")
    assert facts["Load before"] == "not measured"
    assert [words.partition(":")[0] for words in on["quality_flags"]] == [
        "cpu, pipeline",
        "cpu, decode",
    ]


def test_a_quick_look_is_marked() -> None:
    probe = replace(measured(100.0, "probe 1"), rounds=rounds(1.0, 100.0))
    on = measured_on("k", report(measured(100.0), probe, measurement_config=COARSE_CONFIG))
    assert on["quick"].startswith("Quick figures: 2 rounds of 0.2 s at least for each.")
    assert "up to 0% from" in on["quick"], "probes are another matter"
    assert measured_on("k", report(measured(100.0)))["quick"] == ""


def test_a_record_of_version_1_is_shown() -> None:
    record = read_report(BENCHMARKS / "imagenet-train-h200.json")
    require_drawable(record)
    view = view_of("k", record)
    assert view["ratios"][0]["text"].startswith("Mixed is 5.")
    assert part_of(record) == "compare"
    assert name_of(record) == "imagenet-train"


@pytest.mark.parametrize("kind", ["stages", "tune", "sweep"])
def test_a_record_that_lacks_what_its_kind_has_is_refused(kind: str) -> None:
    with pytest.raises(RecordFormatError, match="damaged"):
        require_drawable(report(measured(1.0), kind=kind))


def test_scaling_over_processes_has_reasons() -> None:
    rows = (
        measured(1000, workers=1, device="mixed"),
        measured(1900, workers=2, device="mixed"),
        Measurement(Config("mixed", workers=4), reason="not measured: this machine has 2 GPUs"),
    )
    view = view_of("k", report(*rows, kind="workers"))
    assert (view["unit"], view["kind"]) == ("GPUs", "mixed")
    assert [point["count"] for point in view["points"]] == [1, 2, 4]
    assert {point["pipelines"] for point in view["points"]} == {0}, "one number alone"
    assert view["points"][1]["efficiency"] == pytest.approx(0.95)
    assert view["points"][2]["reason"].endswith("2 GPUs")


def test_scaling_by_pipelines_too_is_a_curve_for_each_number() -> None:
    rows = [measured(100 * n * p, workers=n, pipelines=p) for n in (2, 1) for p in (1, 2)]
    points = view_of("k", report(*rows, kind="workers"))["points"]
    assert [(p["pipelines"], p["count"], round(p["speedup"])) for p in points] == [
        (1, 1, 1),
        (1, 2, 2),
        (2, 1, 1),
        (2, 2, 2),
    ]


def test_a_comparison_names_a_few_of_the_settings_that_one_record_has_alone() -> None:
    sweep = report(*(measured(5, threads=n) for n in range(1, 12)), kind="sweep")
    other = report(measured(5, threads=64))
    on = measured_on("a", sweep), measured_on("b", other)
    only = comparison_view(*on, compare_reports(sweep, other))["only"]
    assert len(only) == 10
    assert only[8].startswith("and 3 more: only in ")
    assert only[9].startswith("cpu, pipeline, batch 64, 64 threads")
