"""Records round-trip; other versions and damage are reported."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from tests.bench.fakes import MACHINE, measured, report, rounds
from tests.sources.clips import write_clips
from tests.sources.test_video import SHORT, a_graph
from tests.thorough import one_in
from workbench.bench import Benchmark
from workbench.bench.experiments.peers import CONTROL
from workbench.bench.measuring.config import Config, adopt_config, config_of
from workbench.bench.measuring.data_files import CacheState, Fingerprint
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.measurement import Measurement, rate_text
from workbench.bench.measuring.pixels import PixelDifference
from workbench.bench.records.charts import equally_fast
from workbench.bench.records.compare import compare_reports, read_folder, read_report
from workbench.bench.records.plots import plot_record
from workbench.bench.records.record import (
    WHOLE,
    Report,
    dump_report,
    gpu_command,
    graph_hash,
    load_report,
)
from workbench.bench.records.report_text import faster_exports, quality_flags, to_csv
from workbench.bench.records.stage_report import StageCost, StageReport
from workbench.catalog import load_catalog
from workbench.cli import main
from workbench.engine.resources.gpu import GPU_SHARED
from workbench.errors import DataError, EngineError, RecordFormatError
from workbench.figures import render_figure
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.graph.execution.dataset_parameters import with_datasets
from workbench.graph.model import Body, Node, Port, Source
from workbench.sources import open_datasets
from workbench.ui.speed.chart_payloads import bars, measured_on
from workbench.ui.speed.record_payloads import compare_view, record_entry

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


@pytest.mark.parametrize(
    ("rate", "control", "mean", "words"),
    [
        (3000, 2000, 2.0, "use its export (`workbench export --target albumentations`)"),
        (3000, 2000, 20.0, "not the same augmentation"),
        (2100, 2150, 2.0, ""),
        (1900, 2000, 2.0, ""),
    ],
    ids=["faster", "other pixels", "within the noise", "slower"],
)
def test_the_export_of_a_faster_library_is_recommended(
    rate: float, control: float, mean: float, words: str
) -> None:
    pixels = asdict(PixelDifference(64, mean, 60.0, 0.9, "levels of 255"))
    peer = {"version": "2", "target": "albumentations", "difference": pixels}
    rows = (
        measured(2000),
        measured(control, program=CONTROL),
        measured(rate, program="Albumentations"),
    )
    found = report(*rows, extra={"peers": {"Albumentations": peer}})
    advice = faster_exports(found)
    assert advice == compare_view(measured_on("", found), found)["advice"]
    assert bool(advice) == bool(words)
    for line in advice:
        assert line.startswith("Albumentations was 1.50")
        assert words in line
        assert line in repr(found)


def test_the_best_is_of_the_whole_pipeline() -> None:
    assert FULL.best == 2800
    assert (repr(FULL.best), str(FULL.best)) == ("2,800 imgs/s", "2,800")
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
        ("{", "not valid JSON"),
        ("[]", "its format is 'list'"),
        ('{"format": "dali-workbench-graph"}', "'dali-workbench-graph'"),
        (
            '{"format": "dali-workbench-bench", "version": 3}',
            "version 3, but this workbench reads 1",
        ),
        ('{"format": "dali-workbench-bench", "version": 2}', "'data' is missing"),
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
    with pytest.raises(RecordFormatError, match=r"damaged .Expected `int`, got `str`.*cores"):
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


BUSY_GPU = f"{GPU_SHARED}: it was 90 % busy before the measurement."
LOADED = "the machine was loaded: end other processes"


@pytest.mark.parametrize(
    ("rates", "change", "words", "reason"),
    [
        ((97.2, 99, 100, 101, 102.4), {}, "100 imgs/s", ""),
        ((90, 99, 100, 101, 110), {}, "90 to 110 imgs/s", "the rounds vary. Measure longer"),
        ((100, 100.1), {}, "about 100 imgs/s", "2 rounds, too few for 95 % confidence"),
        ((1234,), {}, "about 1,200 imgs/s", "1 round, too few for 95 % confidence"),
        ((98, 100, 100, 100, 101), {"settled": False}, "98 to 101 imgs/s", "still changed"),
        ((98, 100, 100, 100, 101), {"flags": (LOADED,)}, "98 to 101 imgs/s", LOADED),
        ((98, 100, 100, 100, 101), {"notes": (BUSY_GPU,)}, "98 to 101 imgs/s", BUSY_GPU),
        ((100, 140) * 60, {}, "100 to 140 imgs/s", "Measure while no other program runs"),
    ],
)
def test_a_rate_that_is_not_known_within_3_percent_is_a_range(
    rates: tuple[float, ...], change: dict[str, Any], words: str, reason: str
) -> None:
    row = replace(measured(100.0), rounds=rounds(*rates), **change)
    assert row.rate_text == words
    assert reason in row.uncertainty
    assert row.within_3_percent == (not reason)
    found = report(row)
    assert repr(found.best) == words
    for shown in (repr(found), found._repr_html_()):
        assert words in shown
        assert reason in shown
    assert found.to_json()["results"][0]["imgs_per_s"]["within_3_percent"] == (not reason)


def test_the_seconds_of_a_long_round_show_how_well_its_rate_is_known() -> None:
    steady = replace(rounds(100)[0], by_second=(99.0, 100.0, 101.0) * 3)
    assert replace(measured(100.0), rounds=(steady,)).rate_text == "100 imgs/s"
    changing = replace(steady, by_second=(70.0, 130.0) * 5)
    assert replace(measured(100.0), rounds=(changing,)).rate_text == "70 to 130 imgs/s"


def test_settings_that_may_be_as_fast_as_the_best_are_named() -> None:
    best, equal = measured(100.0, "candidate 1"), measured(100.1, "as it is", threads=2)
    slower = measured(99.0, "candidate 2", threads=3)
    found = report(best, equal, slower, kind="tune")
    assert equally_fast(found, best) == f"not measurably slower: {equal.config.settings}"
    assert equally_fast(found, best) in repr(found)
    assert equally_fast(replace(found, kind="sweep"), best) == equally_fast(found, best)
    assert equally_fast(report(best, slower, kind="tune"), best) == ""


def test_flags_of_one_cause_are_one_line() -> None:
    words = "the machine was loaded: other processes kept {} of 2 cores busy"
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
    assert rate_text(rate, frames) == words


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
    assert record_entry("1", found, "")["best"].endswith(" frames/s")
    assert plot_record(found).axes[0].get_xlabel() == "sequences/s"
    (tmp_path / "a.json").write_text(dump_report(of_videos))
    told = CliRunner().invoke(main, ["records", str(tmp_path)]).output
    assert "sequences/s (best)" in told


def test_a_run_on_images_says_images() -> None:
    found = report(measured(1000))
    (bar,) = bars(found)
    assert bar["facts"][0] == {"name": "imgs/s", "value": "1,000"}
    assert bar["frames"] == 0
    assert plot_record(found).axes[0].get_xlabel() == "imgs/s"


# The hash that identifies graphs, and the command for a machine with a GPU.


def loaded(graph: Graph, load: float) -> Graph:
    return adopt_config(graph, replace(config_of(graph), hw_decoder_load=load))


def test_knobs_do_not_change_the_hash_and_arguments_do() -> None:
    graph = load_recipe("rotate-jitter")
    same = set_setting(loaded(graph, 1.0), batch_size=8, device="mixed")
    assert graph_hash(same) == graph_hash(graph)
    assert graph_hash(set_arg(same, load_catalog(), "reader", "dont_use_mmap", True)) == graph_hash(
        graph
    )
    other = set_arg(graph, load_catalog(), "rotate", "angle", 45.0)
    assert graph_hash(other) != graph_hash(graph)


def test_neither_the_kind_of_data_nor_the_file_format_changes_the_hash(photos: Path) -> None:
    graph = load_recipe("rotate-jitter")
    listed = with_datasets(graph, open_datasets([next(photos.rglob("*.jpg"))]))
    assert listed != graph
    assert graph_hash(listed) == graph_hash(graph)
    record = Path(__file__).parents[2] / "assets/benchmarks/peers-rotate-jitter-2-cores.json"
    assert f'"graph_sha256": "{graph_hash(graph)}"' in record.read_text()


def test_what_is_inside_a_block_counts() -> None:
    inner = Node("flip", "flip", inputs={"data": Port("if.then", "images")})
    passed = Body((), {"images": Port("if.else", "images")}, ("images",))
    flipped = Body((inner,), {"images": Port("flip", "output")}, ("images",))
    graph = Graph(nodes=(Node("if", "if", bodies={"then": flipped, "else": passed}),))
    vertical = graph.replace_node(replace(inner, args={"vertical": 1}))
    assert graph_hash(vertical) != graph_hash(graph)
    loaded_inside = graph.replace_node(replace(inner, args={"hw_decoder_load": 0.9}))
    assert graph_hash(loaded_inside) == graph_hash(graph)


def test_what_to_run_on_a_machine_with_a_gpu() -> None:
    recipe = load_recipe("rotate-jitter")
    assert gpu_command(recipe)[0] == (
        "workbench bench rotate-jitter --data DIR --json rotate-jitter-gpu.json"
    )
    set_so, hint = gpu_command(loaded(set_setting(recipe, batch_size=8, num_threads=2), 0.9))
    assert " --batch-size 8 --threads 2 --load 0.9 " in set_so
    assert hint == ""
    edited = set_arg(recipe, load_catalog(), "rotate", "angle", 45.0)
    command, hint = gpu_command(replace(edited, name="my graph"), ("decode",))
    assert command == (
        "workbench bench 'my graph.json' --data DIR --regime decode --json 'my graph-gpu.json'"
    )
    assert "Save the graph" in hint


def test_each_further_parameter_is_named() -> None:
    recipe = load_recipe("rotate-jitter")
    second = Source("second", "readers.file", kind="folder", dataset="others")
    command, _ = gpu_command(replace(recipe, nodes=(*recipe.nodes, second)))
    assert " --data DIR --data others=DIR " in command


def test_a_setting_without_an_option_goes_by_file() -> None:
    graph = set_setting(load_recipe("rotate-jitter"), prefetch_queue_depth=4)
    command, hint = gpu_command(graph)
    assert command.startswith("workbench bench rotate-jitter.json ")
    assert "Save the graph" in hint


# Two records side by side.


def test_pairs_and_what_only_one_has() -> None:
    first = report(measured(100), measured(50, regime="decode"))
    second = report(measured(120, threads=8), measured(900, device="mixed"))
    found = compare_reports(first, second)
    (pair,) = found.pairs
    assert pair.ratio.median == pytest.approx(1.2, rel=0.01)
    assert pair.verdict == "faster"
    assert pair.differs == ("threads 4 -> 8",)
    assert (found.only_first, found.only_second) == (("cpu, decode",), ("mixed, pipeline",))
    assert found.warnings == ()


@pytest.mark.parametrize(
    ("rates", "verdict"),
    [
        ((80, 79, 80, 81, 80, 80, 79, 81), "slower"),
        ((120, 119, 120, 121, 120, 120, 119, 121), "faster"),
        ((100.2,) * 8, "the same"),
        ((60, 90, 150, 80, 120, 140, 70, 100), "no measurable difference"),
    ],
)
def test_verdicts(rates: tuple[float, ...], verdict: str) -> None:
    first = Measurement(Config(), rounds(*[1000.0] * 8))
    second = Measurement(Config(), rounds(*[10 * rate for rate in rates]))
    (pair,) = compare_reports(report(first), report(second)).pairs
    assert pair.verdict == verdict


def test_rows_of_a_sweep_and_of_thread_counts_are_paired_by_their_settings() -> None:
    one, two = (
        report(*(measured(r * n, threads=n) for n in (1, 2)), kind="threads") for r in (1, 3)
    )
    found = compare_reports(one, two)
    assert [pair.first.threads for pair in found.pairs] == [1, 2]
    assert [pair.name for pair in found.pairs] == [
        "cpu, pipeline, batch 64, 1 thread, prefetch 2",
        "cpu, pipeline, batch 64, 2 threads, prefetch 2",
    ]
    sweep = report(measured(5, threads=2, batch_size=32), measured(7, threads=2), kind="sweep")
    (pair,) = compare_reports(sweep, two).pairs
    assert (pair.first.batch_size, pair.second.threads) == (64, 2)


def test_probes_are_not_compared() -> None:
    tuned = report(measured(5, "candidate 1"), measured(6, "probe 1"), kind="tune")
    assert [pair.name for pair in compare_reports(tuned, tuned).pairs] == ["candidate 1"]


def test_what_differs_besides_is_told() -> None:
    first = report(measured(1), fingerprint=Fingerprint("a", 1, 2), context={"graph_sha256": "a"})
    second = report(measured(1), fingerprint=Fingerprint("a", 3, 4), context={"graph_sha256": "b"})
    words = " ".join(compare_reports(first, second).warnings)
    assert "1 files, 2 bytes and 3 files, 4 bytes" in words
    assert "the graphs differ" in words


def test_machines_that_differ_in_cores_or_driver_are_told() -> None:
    there = replace(MACHINE, gpu="NVIDIA H200", no_gpu="", driver="1", cores=16)
    first = replace(report(measured(1)), machine=there)
    second = replace(first, machine=replace(there, cores=32, driver="2"))
    words = " ".join(compare_reports(first, second).warnings)
    assert "16 cores, NVIDIA H200 and" in words
    assert "driver differs: 1 and 2" in words
    assert not compare_reports(first, first).warnings


def test_a_folder_of_records(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text(dump_report(report(created="2026-01-01")))
    (tmp_path / "a.json").write_text(dump_report(report(created="2026-02-01")))
    (tmp_path / "c.json").write_text("{}")
    found, refused = read_folder(tmp_path)
    assert list(found) == ["b", "a"], "oldest first"
    assert len(refused) == 1
    assert "c.json" in refused[0]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_report(tmp_path / "none.json")
    with pytest.raises(DataError, match="no folder"):
        read_folder(tmp_path / "none")
    (tmp_path / "x.json").write_text("no")
    with pytest.raises(RecordFormatError, match=r"x\.json"):
        read_report(tmp_path / "x.json")


# Every kind of record has its picture, as PNG and as SVG, the same each time.

GRID = Grid((1, 2), (16, 32), (2, 4), (0.65, 1.0))
FAILED = Measurement(Config("mixed"), reason="not measured: no GPU")
STAGES = StageReport(
    (
        StageCost("reader", "read", "cpu", 0.1, None),
        StageCost("decode", "decode", "mixed", 2.0, 2.4),
        StageCost("copy to the host", "copy", "gpu", 1.1, None),
    ),
    *(2.1, 0.3, 60_000.0, "decode", "advice"),
)
KINDS: dict[str, tuple[Report, tuple[str, ...]]] = {
    "bench": (
        report(measured(4900, regime="decode"), measured(2800), FAILED),
        ("imgs/s", "cpu, decode", "not measured: mixed, pipeline", "4,900"),
    ),
    "sweep": (
        report(
            *[
                Measurement(GRID.config(place, Config("mixed")), reason="not measured: memory")
                if index == 3
                else measured(100.0 + index, **asdict(GRID.config(place, Config("mixed"))))
                for index, place in enumerate(GRID.places())
            ],
            kind="sweep",
            extra={"grid": GRID.to_json()},
        ),
        ("failed", "prefetch 2, hw_decoder_load 0.65", "threads", "best 115"),
    ),
    "tune": (
        report(measured(200, "candidate 1"), measured(100, "as it is"), measured(1, "probe 1"),
               kind="tune"),
        ("candidate 1", "as it is"),
    ),
    "threads": (
        report(measured(100, threads=1), measured(180, threads=2), kind="threads"),
        ("90%", "threads", "in proportion"),
    ),
    "workers": (
        report(measured(100, device="mixed"), measured(150, device="mixed", workers=2),
               kind="workers"),
        ("75%", "GPUs, a process each", "measured"),
    ),
    "cards by pipelines": (
        report(*(measured(100 * n * p, device="mixed", workers=n, pipelines=p)
                 for n in (1, 2) for p in (1, 2)), kind="workers"),
        ("1 pipeline each", "2 pipelines each", "400", "100%"),
    ),
    "stages": (
        report(measured(500, WHOLE), kind="stages", extra={"stages": asdict(STAGES)}),
        ("decode, mixed", "bottleneck: decode", "ms a batch", "0.3 ms more than the sum"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", one_in(3, KINDS))
def test_each_kind(kind: str) -> None:
    record, words = KINDS[kind]
    svg = render_figure(plot_record(record), "svg").decode()
    for word in words:
        assert word in svg
    assert render_figure(plot_record(record), "svg").decode() == svg, "no date, no chance"
    with Image.open(io.BytesIO(render_figure(plot_record(record)))) as image:
        assert image.format == "PNG"
        assert image.width > 900


def test_beside_a_peer_dali_is_named() -> None:
    def labels(*rows: Measurement) -> list[str]:
        (axes,) = plot_record(report(*rows)).axes
        return [label.get_text() for label in axes.get_yticklabels()]

    peer = measured(820, program="OpenCV")
    assert labels(measured(985), peer) == ["DALI, cpu, pipeline", "OpenCV, cpu, pipeline"]
    assert labels(measured(985)) == ["cpu, pipeline"]


def test_long_words_stay_in_the_picture() -> None:
    missing = [Measurement(Config("mixed"), label=f"peer {n} " * 5) for n in range(4)]
    rows = report(measured(4900, "torchvision, decode_jpeg on CUDA, mixed, pipeline"), *missing)
    figure = plot_record(replace(rows, name="a long name " * 12))
    figure.draw_without_rendering()  # lays it out
    for words in (figure._supxlabel, figure._suptitle):  # type: ignore[attr-defined]
        assert "\n" in words.get_text()
        box = words.get_window_extent()
        assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_nothing_measured_has_no_picture() -> None:
    with pytest.raises(EngineError, match="no results to plot"):
        plot_record(report(FAILED))


def test_no_pyplot() -> None:
    code = (
        "import sys; from tests.bench.fakes import measured, report; "
        "from workbench.bench.records.plots import plot_record; "
        "from workbench.figures import render_figure; "
        "render_figure(plot_record(report(measured(4900)))); "
        "print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
