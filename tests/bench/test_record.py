"""A record reads back as it was written; other versions and damage are told."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.bench.fakes import MACHINE, measured, report
from tests.sources.clips import write_clips
from tests.sources.test_video import SHORT, a_graph
from workbench.bench import Benchmark
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.data_files import CacheState, Fingerprint
from workbench.bench.measuring.measurement import Measurement, rate_words
from workbench.bench.records.plots import plot_record
from workbench.bench.records.record import WHOLE, Report, dump_report, load_report
from workbench.bench.records.report_text import quality_flags, to_csv
from workbench.cli import main
from workbench.errors import RecordFormatError
from workbench.ui.speed.chart_views import bars
from workbench.ui.speed.record_views import record_entry

ROOT = Path(__file__).parents[2]
FULL = report(
    measured(4900, regime="decode"),
    measured(31000, device="mixed", regime="decode"),
    measured(2000, program="OpenCV"),
    measured(2800),
    Measurement(Config("mixed"), reason="not measured: why"),
    fingerprint=Fingerprint("photos", 120, 12000, (("JPEG", 120),)),
    cache=CacheState("warm", "read", 1.0),
    name="a name",
    created="2026-11-21T12:00:00+00:00",
    context={"git": {"commit": "abc", "dirty": False}},
    extra={"command": "workbench bench"},
)


def test_it_reads_back() -> None:
    assert load_report(dump_report(FULL)) == FULL


def test_the_keys_that_others_rely_on() -> None:
    record = FULL.to_json()
    assert {"format", "version", "results", "machine", "data"} <= set(record)
    first = record["results"][0]
    assert {"device", "regime", "batch_size", "threads", "imgs_per_s"} <= set(first)
    assert {"median", "low", "high", "rounds"} <= set(first["imgs_per_s"])
    assert first["imgs_per_s"]["rounds"] == list(FULL.measurements[0].imgs_per_s)
    assert record["results"][4]["imgs_per_s"]["median"] is None
    assert record["results"][4]["latency_ms"] == "not measured"
    assert record["data"]["mean_bytes"] == 100


def test_ratios_are_mixed_over_cpu_and_dali_over_peers() -> None:
    found = {(one.ours, one.theirs): one.interval for one in FULL.ratios}
    assert set(found) == {
        ("mixed, decode", "cpu, decode"),
        ("cpu, pipeline", "OpenCV, cpu, pipeline"),
    }
    assert found["mixed, decode", "cpu, decode"].median == pytest.approx(31000 / 4900, rel=0.01)


def test_the_best_is_of_the_whole_pipeline() -> None:
    assert FULL.best == 2800
    assert report(measured(4900, regime="decode")).best == 4900
    stages = measured(73_000, "up to reader"), measured(108, WHOLE), measured(149, "ceiling")
    assert report(*stages, kind="stages").best == 108
    assert report(measured(288, "candidate 1"), measured(297, "probe 2"), kind="tune").best == 288
    assert report(Measurement(Config("mixed"), reason="not measured: why")).best is None


def test_a_record_of_version_1_is_read() -> None:
    old = load_report((ROOT / "assets/benchmarks/imagenet-train-h200.json").read_text())
    cpu, mixed = old.measurements
    assert round(cpu.median or 0) == 5074
    assert (mixed.device, mixed.threads, len(mixed.rounds)) == ("mixed", 16, 5)
    assert cpu.notes == ("from a record of version 1",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not JSON"),
        ("[]", "its format is 'list'"),
        ('{"format": "dali-workbench-graph"}', "'dali-workbench-graph'"),
        ('{"format": "dali-workbench-bench", "version": 3}', "version 3; this workbench reads 1"),
        ('{"format": "dali-workbench-bench", "version": 2}', "has no 'data'"),
    ],
)
def test_what_is_no_record_says_so(text: str, words: str) -> None:
    with pytest.raises(RecordFormatError, match=words):
        load_report(text)


@pytest.mark.parametrize("key", ["machine", "results", "data", "graph", "method"])
def test_a_damaged_record_says_so(key: str) -> None:
    record = FULL.to_json()
    record[key] = 7
    if key == "graph":
        del record[key]
    with pytest.raises(RecordFormatError, match="damaged"):
        load_report(json.dumps(record))


def test_a_value_of_the_wrong_type_says_which() -> None:
    record = FULL.to_json()
    record["machine"]["cores"] = "many"
    with pytest.raises(RecordFormatError, match=r"damaged: Expected `int`, got `str`.*cores"):
        load_report(json.dumps(record))


def test_every_record_that_is_kept_is_read() -> None:
    texts = [path.read_text() for path in (ROOT / "assets/benchmarks").glob("*.json")]
    records = [text for text in texts if '"dali-workbench-bench"' in text]
    assert len(records) > 20
    for text in records:
        assert load_report(dump_report(load_report(text))) == load_report(text)


@pytest.mark.parametrize(
    ("kind", "extra"),
    [
        ("stages", {"stages": {"stages": [{"surprise": 1}]}}),
        ("stages", {"stages": {"stages": []}}),
        ("sweep", {}),
        ("sweep", {"grid": {"threads": [2, 1], "batch_size": [1]}}),
    ],
)
def test_what_a_kind_keeps_besides_may_be_damaged_too(kind: str, extra: dict[str, Any]) -> None:
    record = {**FULL.to_json(), "kind": kind, "extra": extra}
    with pytest.raises(RecordFormatError, match="damaged"):
        load_report(json.dumps(record))


def test_csv_has_a_line_for_each_measurement() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv({"one": FULL, "two": report()}))))
    assert len(rows) == 5
    assert {row["record"] for row in rows} == {"a name"}
    assert float(rows[0]["median"]) == pytest.approx(4900, rel=0.01)
    assert rows[4]["reason"] == "not measured: why"
    assert (rows[0]["cpu"], rows[0]["cache"], rows[0]["p99_ms"]) == ("A CPU", "warm", "3.0")


def test_a_bare_report_can_be_written() -> None:
    bare = Report("g", "d", MACHINE, ())
    assert load_report(dump_report(bare)).files is None


@pytest.mark.parametrize(("count", "words"), [(0, ""), (1, "1 bad file"), (2, "2 bad files")])
def test_what_is_printed_tells_the_files_left_out(count: int, words: str) -> None:
    bad = [{"file": f"{number}.jpg", "reason": "the file is empty"} for number in range(count)]
    shown = report(measured(2800), extra={"left_out": bad})
    without = f" without {words}" if words else ""
    for text in (str(shown), shown._repr_html_()):
        assert f" on photos{without}: " in text


def test_flags_of_one_cause_are_one_line() -> None:
    words = "the machine was loaded: something else kept {} of 2 cores busy"
    names = ("a", "b", "c")
    rows = [
        replace(measured(100.0), label=name, flags=(words.format(cores),))
        for name, cores in zip(names, (0.7, 1.2, 0.9), strict=True)
    ]
    calm = replace(measured(100.0), label="d")
    assert quality_flags([*rows, calm]) == ["3 of 4 figures: " + words.format("0.7 … 1.2")]


def test_a_flag_of_one_row_names_it() -> None:
    flag = "unstable: the rounds differ by more than 10 %"
    row = replace(measured(100.0), flags=(flag,))
    assert quality_flags([row, measured(90.0)]) == [f"cpu, pipeline: {flag}"]
    assert quality_flags([]) == []


@pytest.mark.parametrize(
    ("rate", "frames", "words"),
    [
        (1234.4, 0, "1,234 imgs/s"),
        (12.34, 8, "12.3 sequences/s, 99 frames/s"),
        (2345.6, 4, "2,346 sequences/s, 9,382 frames/s"),
    ],
)
def test_sequences_are_counted_as_such(rate: float, frames: int, words: str) -> None:
    assert rate_words(rate, frames) == words


@pytest.fixture(scope="module")
def of_videos(tmp_path_factory: pytest.TempPathFactory) -> Report:
    clips = write_clips(tmp_path_factory.mktemp("clips"))
    return Benchmark(a_graph(), str(clips), ["cpu"], measurement_config=SHORT).run()


def test_a_run_on_videos_says_sequences_and_frames(of_videos: Report, tmp_path: Path) -> None:
    assert of_videos.best
    assert of_videos.frames == 4
    found = load_report(dump_report(of_videos))
    assert found.frames == 4
    (bar,) = bars(found)
    assert bar["frames"] == 4
    names = [fact["name"] for fact in bar["facts"]]
    assert names[:2] == ["sequences/s", "frames/s"]
    assert record_entry("1", found, "")["frames"] == 4
    assert plot_record(found).axes[0].get_xlabel() == "sequences/s"
    (tmp_path / "a.json").write_text(dump_report(of_videos))
    told = CliRunner().invoke(main, ["records", str(tmp_path)]).output
    assert "sequences/s at best" in told


def test_a_run_on_images_says_images() -> None:
    found = report(measured(1000))
    (bar,) = bars(found)
    assert bar["facts"][0] == {"name": "imgs/s", "value": "1,000"}
    assert bar["frames"] == 0
    assert plot_record(found).axes[0].get_xlabel() == "imgs/s"
