"""Records in the speed panel: shown, opened, kept, and the speed of this very graph."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import MACHINE, measured, report, rounds
from tests.ui.screen import unpack
from tests.ui.speed.conftest import Bed, Fake
from workbench.bench import Measurement, Report
from workbench.bench.measuring.config import Config, config_of
from workbench.bench.measuring.data_files import CacheState, Fingerprint
from workbench.bench.measuring.measurement_config import COARSE_CONFIG
from workbench.bench.records.compare import compare_reports, read_report
from workbench.bench.records.record import WHOLE, dump_report, graph_hash, load_report
from workbench.bench.records.stage_report import StageCost, StageReport
from workbench.errors import GraphEditError, RecordFormatError
from workbench.graph import load_recipe
from workbench.ui.contract.payloads import LastSpeed
from workbench.ui.speed.chart_payloads import measured_on, name_of, part_of
from workbench.ui.speed.record_figures import last_speeds
from workbench.ui.speed.record_payloads import comparison_view, require_drawable, view_of
from workbench.ui.speed.speed_actions import Adopt

# Records of every kind as the parts of the panel show them.

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
    assert (view["total"], view["remainder"], view["ceiling"]) == (12.0, 2.0, "")
    assert view["bottleneck"] == "decode"
    assert (view["rate"], view["interval"]) == ("900 imgs/s", "898 to 902 at 95%")


def test_stages_say_why_one_was_not_measured() -> None:
    failed = Measurement(Config(), label="up to decode", reason="not measured: it was ended")
    record = stages()
    record = replace(record, measurements=(*record.measurements, failed))
    view = view_of("k", record, nodes=[])
    assert view["notes"] == ["up to decode: not measured: it was ended"]


def test_the_line_says_on_what() -> None:
    loaded = replace(
        measured(100.0), flags=("the machine was loaded: other processes kept 1.5 of 2 cores busy",)
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
        "page cache cold · time limit reached · unstable"
    )
    facts = {fact["name"]: fact["value"] for fact in on["facts"]}
    assert facts["Git commit"] == "0123456789ab with uncommitted changes"
    assert facts["Formats"] == "JPEG 100, PNG 20"
    assert facts["Page cache"].endswith("; 1% of the pages in memory")
    assert facts["Load before"] == "not measured"
    assert [words.partition(":")[0] for words in on["quality_flags"]] == [
        "cpu, pipeline",
        "cpu, decode",
        "cpu, decode",
    ]
    assert "the speed still changed at the end of the warm-up" in on["quality_flags"][2]


def test_a_quick_look_is_marked() -> None:
    probe = replace(measured(100.0, "probe 1"), rounds=rounds(1.0, 100.0))
    on = measured_on("k", report(measured(100.0), probe, measurement_config=COARSE_CONFIG))
    assert on["quick"].startswith("Quick results: at least 2 rounds of 0.2 s each.")
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
    assert view["points"][1]["efficiency"] == "95%"
    assert view["points"][2]["reason"].endswith("2 GPUs")


def test_scaling_by_pipelines_too_is_a_curve_for_each_number() -> None:
    rows = [measured(100 * n * p, workers=n, pipelines=p) for n in (2, 1) for p in (1, 2)]
    points = view_of("k", report(*rows, kind="workers"))["points"]
    assert [(p["pipelines"], p["count"], p["speedup"]) for p in points] == [
        (1, 1, "1.00"),
        (1, 2, "2.00"),
        (2, 1, "1.00"),
        (2, 2, "2.00"),
    ]


def test_a_comparison_names_a_few_of_the_settings_that_one_record_has_alone() -> None:
    sweep = report(*(measured(5, threads=n) for n in range(1, 12)), kind="sweep")
    other = report(measured(5, threads=64))
    on = measured_on("a", sweep), measured_on("b", other)
    only = comparison_view(*on, compare_reports(sweep, other))["only"]
    assert len(only) == 10
    assert only[8].startswith("and 3 more only in ")
    assert only[9].startswith("cpu, pipeline, batch 64, 64 threads")


# Records in the speed panel: opened beside each other, kept, found again, given to the browser.


def test_a_record_that_cannot_be_kept_is_told_at_the_start(
    bed: Bed, fake: Fake, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    bed.speed.store.folder = tmp_path / "file" / "records"
    bed.hold(fake, what="compare")
    assert ". The record cannot be stored: " in bed["message"]
    assert "Not a directory" in bed["message"]
    bed.cancel()
    assert bed["message"].startswith("The record cannot be stored: ")


def gpu_record() -> str:
    rows = measured(1000.0), measured(9000.0, device="mixed")
    extra = {"decoders": {"images": 64, "mean": 0.4, "greatest": 12.0, "share": 0.3}}
    return dump_report(report(*rows, created="2026-11-20T10:00:00+00:00", extra=extra))


def test_a_record_of_another_machine_is_opened_beside_this_one(bed: Bed) -> None:
    bed.run(what="compare")
    bed.do("open", text=gpu_record(), name="h200.json")
    assert (bed["message"], bed["failed"]) == ("Opened h200.", False)
    view = bed["compare"]
    assert [on["name"] for on in view["on"]][1] == "h200"
    assert {bar["source"] for bar in view["bars"]} == {"this machine", "h200"}
    texts = [ratio["text"] for ratio in view["ratios"]]
    assert texts[0] == "Mixed is 9.00 × CPU (h200)"
    assert texts[1].startswith("Mixed (h200) is ")
    assert texts[1].endswith("× CPU (this machine)")
    assert any("0.400 apart on average" in words for words in view["notes"])
    assert any(words.startswith("The machines differ") for words in view["notes"])
    assert bed["overlay"] == view["on"][1]["id"]
    assert bed.speed.set("overlay", "")
    assert len(bed["compare"]["on"]) == 1


def test_a_record_alone_is_shown_by_itself(bed: Bed) -> None:
    bed.do("open", text=gpu_record(), name="h200.json")
    (on,) = bed["compare"]["on"]
    assert "another machine" in on["earlier"]
    assert bed["overlay"] == ""
    bed.do("open", text=gpu_record(), name="h200.json")
    assert len(bed["records"]) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no", "The text is not valid JSON"),
        (gpu_record().replace('"seconds": 1.0', '"seconds": 0'), "damaged"),
        (gpu_record().replace('"mean": 0.4', '"mean": NaN'), "damaged"),
        (" " * 16_000_001, "at most 16,000,000"),
    ],
)
def test_what_is_no_record_is_refused(bed: Bed, text: str, words: str) -> None:
    bed.do("open", text=text, name="x.json")
    assert bed["failed"]
    assert words in bed["message"]
    assert bed["records"] == []


def test_records_are_listed_named_compared_and_dropped(bed: Bed) -> None:
    bed.run(what="compare")
    bed.do("open", text=gpu_record(), name="h200.json")
    newest, oldest = bed["records"]
    assert (newest["elsewhere"], oldest["elsewhere"]) == (False, True)
    assert newest["shown"]
    assert bed.speed.set("selected_records", [newest["id"], oldest["id"]])
    pairs = bed["comparison"]["pairs"]
    assert [pair["name"] for pair in pairs] == ["cpu, pipeline"]
    assert pairs[0]["verdict"] == "faster"
    assert bed["comparison"]["only"]
    bed.do("rename", record=newest["id"], to=" mine ")
    assert bed["records"][0]["name"] == "mine"
    bed.do("rename", record=newest["id"], to="x" * 81)
    assert "at most 80" in bed["message"]
    bed.do("delete", record=oldest["id"])
    assert [entry["name"] for entry in bed["records"]] == ["mine"]
    assert (bed["overlay"], bed["comparison"]) == ("", {})
    bed.do("delete", record=oldest["id"])
    assert "no longer exists" in bed["message"]


def test_records_come_back_and_those_of_others_are_found(bed: Bed, photos: Path) -> None:
    bed.run(what="compare")
    folder = bed.speed.store.folder
    assert folder is not None
    (folder / "broken.json").write_text("{")
    later = Bed(str(photos), folder)
    later.wait(lambda bed: bed["records"], "the record")
    assert [r["id"] for r in later["records"]] == [r["id"] for r in bed["records"]]
    later.do("open", text=gpu_record(), name="h200.json")
    assert bed.speed.set("part", "records")
    bed.wait(lambda bed: len(bed["records"]) == 2, "the record of the other")
    assert (folder / "broken.json").exists()


def test_files_for_the_browser(bed: Bed) -> None:
    bed.do("export", kind="csv", ids=[], view="v")
    bed.wait(lambda bed: bed["failed"], "the refusal")
    assert bed["message"] == "There are no records yet."
    bed.run(what="compare")
    key = bed["records"][0]["id"]
    for count, (kind, starts) in enumerate(
        {"csv": b"record,", "json": b"{", "png": b"\x89PNG", "svg": b"<?xml"}.items(), 1
    ):
        bed.do("export", kind=kind, ids=[key], view="v")

        def made(bed: Bed, count: int = count) -> bool:
            return bool(bed["file"]) and unpack(bed["file"])[0]["n"] == count

        bed.wait(made, kind)
        header, data = unpack(bed["file"])
        assert header["name"].endswith(f".{kind}")
        assert header["view"] == "v"
        assert data.startswith(starts)
    bed.do("export", kind="json", ids=[key], view="v")
    bed.wait(lambda bed: unpack(bed["file"])[0]["n"] == 5, "the record")
    assert load_report(unpack(bed["file"])[1].decode()) == bed.speed.store.require(key)
    bed.do("export", kind="gif", ids=[key])
    bed.wait(lambda bed: bed["failed"], "the refusal")
    assert "csv, json, png, svg" in bed["message"]


def test_adopting_from_a_gpu_keeps_the_cpu_where_there_is_none(bed: Bed) -> None:
    bed.do("open", text=gpu_record(), name="h200.json")
    adopted = bed.edited(Adopt(bed["records"][0]["id"]))
    assert adopted.settings.device == "cpu"
    assert "still decoded on the CPU: there is no GPU" in bed["message"]
    with pytest.raises(GraphEditError, match="no longer exists"):
        bed.edited(Adopt("x"))


# What of the records is the speed of this very graph, here.

GRAPH = load_recipe("imagenet-train")
SHA = graph_hash(GRAPH)
OWN = config_of(GRAPH)


def made(*rows: Any, **fields: Any) -> Report:
    return report(*rows, **{"context": {"graph_sha256": SHA}, "created": "2026-11-22", **fields})


def found(*records: Report) -> list[LastSpeed]:
    return last_speeds(records, GRAPH, "photos", MACHINE, lambda: SHA)


def test_the_newest_of_each_device_with_its_settings() -> None:
    new = made(measured(100.0, device="cpu", threads=2, batch_size=16))
    old = made(measured(900.0, device="mixed"), measured(90.0, device="cpu"), created="2026-11-20")
    mixed, cpu = found(new, old)
    assert (mixed["device"], mixed["figure"], mixed["when"]) == (
        "mixed",
        "900 imgs/s",
        "2026-11-20",
    )
    assert (cpu["figure"], cpu["settings"]) == ("100 imgs/s", "batch 16 · 2 threads · prefetch 2")
    assert not cpu["unstable"]


@pytest.mark.parametrize(
    "other",
    [
        {"context": {"graph_sha256": "0" * 64}},
        {"context": {}},
        {"graph": "another"},
        {"data": "elsewhere"},
        {"machine": replace(MACHINE, cpu="Another")},
        {"machine": replace(MACHINE, dali="1.0")},
        {"kind": "tune"},
        {"kind": "workers"},
    ],
    ids=str,
)
def test_what_is_not_of_this_graph_here_says_nothing(other: dict[str, Any]) -> None:
    mine = made(measured(100.0, threads=OWN.threads + 7))
    assert found(mine)
    assert found(replace(mine, **other)) == []


@pytest.mark.parametrize("kind", ["tune", "sweep", "threads"])
def test_of_many_settings_only_the_present_ones_count(kind: str) -> None:
    here = replace(measured(100.0, "as it is"), config=OWN)
    elsewhere = replace(here, config=replace(OWN, batch_size=OWN.batch_size + 1))
    assert found(made(elsewhere, kind=kind)) == []
    (one,) = found(made(elsewhere, here, kind=kind))
    assert one["figure"] == "100 imgs/s"


def test_of_stages_the_whole_counts_and_of_decoding_alone_nothing() -> None:
    part, whole = measured(900.0, "up to decode"), measured(100.0, WHOLE)
    (one,) = found(made(part, whole, kind="stages"))
    assert one["figure"] == "100 imgs/s"
    assert found(made(measured(900.0, regime="decode"))) == []
    assert found(made(measured(900.0, program="torchvision"))) == []


def test_an_unstable_one_is_marked() -> None:
    (one,) = found(made(replace(measured(100.0), rounds=rounds(10, 100, 300))))
    assert one["unstable"]


def test_the_hash_is_asked_for_only_where_it_may_matter() -> None:
    def never() -> str:
        raise AssertionError

    other = replace(made(measured(100.0)), graph="another")
    assert last_speeds([other], GRAPH, "photos", MACHINE, never) == []
