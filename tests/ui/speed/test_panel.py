"""The speed panel around made-up measurements: what is shown for what is options."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import measured, report, rounds
from tests.ui.speed.conftest import NO_GPU, Bed, Fake
from workbench.bench import Benchmark
from workbench.bench.experiments.stages import StageCostExperiment
from workbench.bench.experiments.tune import TuningExperiment
from workbench.bench.measuring.config import config_of
from workbench.bench.records.record import graph_hash
from workbench.catalog import load_catalog
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.optimiser import OptimisationExperiment
from workbench.sources import open_datasets
from workbench.ui.speed.chart_payloads import ratios
from workbench.ui.speed.experiment_factory import experiment_for, tuner_for
from workbench.ui.speed.panel import SpeedPanel
from workbench.ui.speed.speed_actions import Adopt

TRY = {
    **{"threads": "1, 2, 4", "batches": "16 32 64", "prefetch": "2"},
    **{"loads": "", "pipelines": "1", "files": "", "memory": ""},
}


def test_a_comparison_shows_the_cpu_and_why_there_is_no_mixed(bed: Bed) -> None:
    assert bed["compare"] == {}
    bed.run(what="compare")
    view = bed["compare"]
    assert [(bar["group"], bar["label"]) for bar in view["bars"]] == [
        ("Decode alone", "CPU"),
        ("Decode alone", "Mixed"),
        ("Whole pipeline", "CPU"),
        ("Whole pipeline", "Mixed"),
    ]
    cpu, mixed = view["bars"][:2]
    assert cpu["low"] <= cpu["median"] <= cpu["high"]
    assert mixed["median"] is None
    assert mixed["reason"] == "not measured: there is no GPU"
    assert view["ratios"] == []
    (on,) = view["on"]
    for words in (
        "A CPU · 2 cores · no GPU",
        "files of ",
        "batch 64 · 4 threads",
        "page cache warm",
    ):
        assert words in on["line"]
    assert on["line"].endswith("precise enough")
    assert on["earlier"] == ""
    assert bed["limits"]["command"].startswith("workbench bench rotate-jitter --data DIR")
    assert (bed["message"], bed["failed"], bed["part"]) == ("", False, "compare")


def test_edits_after_a_run_are_told(bed: Bed) -> None:
    bed.run(what="compare")
    graph = bed.graph
    bed.graph = set_arg(graph, load_catalog(), "rotate", "angle", 45.0)
    assert bed["compare"]["on"][0]["earlier"] == "the graph has been edited since"
    bed.graph = set_setting(graph, batch_size=8)
    assert "the graph now has batch 8, 4 threads" in bed["compare"]["on"][0]["earlier"]
    bed.graph = graph
    assert bed["compare"]["on"][0]["earlier"] == ""
    bed.data = open_datasets("elsewhere")
    assert bed["compare"]["on"][0]["earlier"].startswith("other data")


def test_a_run_is_of_the_graph_that_it_began_with(bed: Bed, fake: Fake) -> None:
    bed.do("measure", what="compare")
    began = graph_hash(bed.graph)
    bed.graph = set_arg(bed.graph, load_catalog(), "rotate", "angle", 45.0)
    bed.wait(lambda bed: not bed["running"], "the end")
    (record,) = bed.speed.store.records.values()
    assert record.context["graph_sha256"] == began
    assert "edited since" in bed["compare"]["on"][0]["earlier"]


def test_one_run_at_a_time_and_cancel(bed: Bed, fake: Fake) -> None:
    bed.run(what="compare")
    before = bed["compare"]
    bed.hold(fake, what="threads")
    assert (bed["running"], bed["what"], bed["progress"]) == (True, "scaling", 0.5)
    assert bed["message"].startswith("cpu: round 3, about ")
    bed.do("measure", what="compare")
    assert bed["what"] == "scaling"
    bed.cancel()
    assert (bed["message"], bed["failed"]) == (
        "Stopped early. The results up to this point are stored.",
        False,
    )
    assert bed["compare"] == before


def test_what_cannot_be_measured_says_why(bed: Bed) -> None:
    bed.run(what="workers")
    assert bed["failed"]
    assert bed["message"] == "there is no GPU; scaling across GPUs needs two or more"
    bed.run(what="kitchen")
    assert "Use one of: compare, stages" in bed["message"]
    bed.data = "/nowhere"
    bed.run(what="compare")
    assert bed["failed"]
    assert "/nowhere" in bed["message"]


def test_a_fault_of_the_lab_itself_is_told(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("no")

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", broken)
    bed.run(what="compare")
    assert bed["message"] == "The measurement failed: ZeroDivisionError: no"


def test_the_best_setting_is_adopted(bed: Bed) -> None:
    bed.graph = set_setting(bed.graph, batch_size=8)
    bed.run("tune", search="all", **(TRY | {"batches": "16 64 128"}))
    view = bed["tune"]
    assert view["best"] == "batch 64, 4 threads, prefetch 2"
    assert not view["adopted"]
    cells = view["panels"][0]["cells"]
    assert [cell["threads"] for cell in cells if cell["best"]] == [4]
    failed = [cell for cell in cells if cell["reason"]]
    assert {(cell["batch"], cell["reason"]) for cell in failed} == {
        (128, "not measured: Out of memory")
    }
    assert "all 9 settings tried" in view["tried"]
    bed.graph = bed.edited(Adopt(view["on"][0]["id"]), set_setting(bed.graph, seed=7))
    assert config_of(bed.graph).settings == "batch 64, 4 threads, prefetch 2"
    assert bed.graph.settings.seed == 7
    assert bed["tune"]["adopted"]
    assert "undo restores" in bed["message"]


def test_the_tuner_tells_what_it_gains(bed: Bed) -> None:
    bed.graph = set_setting(bed.graph, num_threads=1, batch_size=16)
    bed.run("tune", search="tuner", **TRY)
    view = bed["tune"]
    assert (
        "× the throughput with the graph's settings at the time (batch 16, 1 thread, prefetch 2)"
        in view["gain"]
    )
    assert any(cell["own"] for cell in view["panels"][0]["cells"])
    assert any(cell["reason"] == "not tried" for cell in view["panels"][0]["cells"])


@pytest.mark.parametrize(
    ("search", "prefetch", "count"), [("all", "1, 2", 18), ("tuner", "1, 2, 4", 27)]
)
def test_the_heat_map_fills_while_it_is_measured(
    bed: Bed, fake: Fake, search: str, prefetch: str, count: int
) -> None:
    fake.hold_at = 3
    bed.do("tune", search=search, **(TRY | {"prefetch": prefetch}))
    assert fake.holding.wait(30)
    view = bed["tune"]
    cells = [cell for panel in view["panels"] for cell in panel["cells"]]
    assert len(cells) == count
    assert len([cell for cell in cells if cell["rate"]]) == 2
    assert [cell["rate"] for cell in cells if cell["now"]] == [None]
    assert view["running"]
    assert view["tried"] == f"2 of {count} settings tried so far"
    best = max(cells, key=lambda cell: cell["rate"] or 0.0)
    assert [cell for cell in cells if cell["best"]] == [best]
    assert view["figure"] == f"{best['figure']} imgs/s"
    assert view["best"].startswith(f"batch {best['batch']}, {best['threads']} thread")
    assert bed["message"].endswith(" left")
    assert bed["progress"] > 0.1
    bed.cancel()
    assert "Stopped early" in bed["message"], "what was tried is kept"
    assert bed["tune"]["tried"] == f"interrupted: 2 of {count} settings tried"
    assert len(bed["records"]) == 1


@pytest.mark.parametrize(
    ("what", "part"), [("compare", "compare"), ("threads", "scaling"), ("stages", "stages")]
)
def test_figures_are_shown_while_a_run_goes_on_and_give_no_verdict(
    bed: Bed, fake: Fake, what: str, part: str
) -> None:
    bed.hold(fake, what=what)
    view = bed[part]
    assert view["on"][0]["partial"].startswith("Partial: ")
    assert view["on"][0]["partial"].endswith("of 6 rounds so far. The run continues.")
    if part == "stages":
        assert view["total"] > 0
        assert (view["bottleneck"], view["advice"]) == ("", "")
    else:
        rows = view["bars" if part == "compare" else "points"]
        assert any(row["median"] for row in rows)
        assert view.get("ratios", []) == []
    json.dumps(view, allow_nan=False)
    bed.cancel()
    assert "Stopped early" in bed["message"], "it keeps what it has"
    view = bed[part]
    mark = view["notes"][0] if part == "compare" else view["on"][0]["partial"]
    assert mark.startswith("Interrupted: ")
    assert mark.endswith(" measured")
    if part == "stages":
        assert (view["bottleneck"], view["advice"]) == ("", "")
    assert len(bed["records"]) == 1


@pytest.mark.parametrize(
    ("do", "part"),
    [
        ({"action": "measure", "what": "compare"}, "compare"),
        ({"action": "measure", "what": "threads"}, "scaling"),
        ({"action": "measure", "what": "stages"}, "stages"),
        ({"action": "tune", "search": "all", **TRY}, "tune"),
    ],
)
def test_figures_of_a_run_that_goes_on_say_that_they_are_of_another_graph_or_data(
    bed: Bed, fake: Fake, photos: Path, do: dict[str, Any], part: str
) -> None:
    fake.hold_at = 2 if part == "tune" else 1
    bed.do(**do)
    assert fake.holding.wait(30)
    assert bed[part]["on"][0]["earlier"] == ""
    before, bed.graph = bed.graph, set_arg(bed.graph, load_catalog(), "rotate", "fill_value", 9.0)
    assert bed[part]["on"][0]["earlier"] == "the graph has been edited since"
    bed.graph, bed.data = before, open_datasets(photos / "cat")
    assert bed[part]["on"][0]["earlier"] == f"other data, {photos}"
    bed.cancel()


def test_an_unstable_run_gives_no_verdict() -> None:
    cpu, mixed = measured(100.0, device="cpu"), measured(900.0, device="mixed")
    assert len(ratios(report(cpu, mixed))) == 1
    shaky = replace(mixed, rounds=rounds(300, 900, 1500))
    assert ratios(report(cpu, shaky)) == []


def test_before_the_first_setting_the_grid_is_empty(bed: Bed, fake: Fake) -> None:
    bed.run("tune", search="all", **TRY)
    fake.hold_at = fake.calls + 1
    bed.do("tune", search="all", **(TRY | {"threads": "2"}))
    assert fake.holding.wait(30)
    assert [cell["rate"] for cell in bed["tune"]["panels"][0]["cells"]] == [None] * 3
    assert (bed["tune"]["best"], bed["tune"]["adopted"]) == ("", False)
    bed.cancel()
    assert "all 9 settings tried" in bed["tune"]["tried"], "the earlier record is back"
    assert not bed["tune"]["running"]


def test_wrong_values_to_try_name_the_field(bed: Bed) -> None:
    for wrong, words in (
        ({"threads": "one"}, "threads: 'one' is not a number"),
        ({"batches": "0, 4"}, "batch_size: use at most 32 numbers from 1"),
        ({"loads": "1.5"}, "hw_decoder_load: use at most 32 numbers from 0 to 1"),
        ({"files": "cached"}, "files: 'cached' is not allowed. Use mapped or read."),
        ({"memory": "lots"}, "memory: 'lots' is not allowed. Enter a size in GiB"),
    ):
        bed.run("tune", search="tuner", **(TRY | wrong))
        assert bed["failed"]
        assert words in bed["message"]


def test_files_are_mapped_read_or_both(bed: Bed) -> None:
    assert bed["limits"]["grid"]["files"] == "mapped"
    few = TRY | {"threads": "1", "batches": "16"}
    for files, tried in (("read", 1), ("mapped, read", 2), ("", 1)):
        bed.run("tune", search="all", **(few | {"files": files}))
        assert f"all {tried} settings tried" in bed["tune"]["tried"], bed["message"]


@pytest.mark.thorough
def test_a_quick_look_at_the_stages(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StageCostExperiment, "_alone", lambda *_: {"decode": 1.0})
    bed.run(what="stages")
    assert bed["stages"]["on"][0]["quick"].startswith("Quick results: at least 3 rounds of 0.5 s")
    assert bed.speed.set("effort", "quick")
    bed.run(what="stages")
    assert bed["stages"]["on"][0]["quick"].startswith("Quick results: at least 2 rounds of 0.2 s")
    stages = {stage["name"]: stage for stage in bed["stages"]["stages"]}
    assert (stages["color"]["op"], stages["flip"]["op"]) == ("color_twist", "")
    assert stages["color"]["node"] == "color"


def test_scaling(bed: Bed) -> None:
    bed.run(what="threads")
    view = bed["scaling"]
    assert view["unit"] == "threads"
    assert view["points"][0]["efficiency"] == "100%"
    assert all(point["median"] for point in view["points"])


def test_peers_that_are_not_there_say_so(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.bench.experiments.peers.find_spec", lambda module: None)
    bed.run(what="peers")
    bars = bed["peers"]["bars"]
    assert bars[0]["label"] == "DALI, CPU"
    control, *peers = bars[1:]
    assert control["label"] == "DALI again"
    assert {bar["kind"] for bar in peers} == {"peer"}
    assert all("not measured" in bar["reason"] for bar in peers)
    assert {peer["name"] for peer in bed["limits"]["peers"]} == {bar["label"] for bar in peers}


def test_single_peers_can_be_measured(bed: Bed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.bench.experiments.peers.find_spec", lambda module: None)
    seconds = bed["limits"]["peer_seconds"]
    bed.run(what="peers", peers=["Albumentations", "torchvision"])
    assert [bar["label"] for bar in bed["peers"]["bars"][2:]] == ["torchvision", "Albumentations"]
    (record,) = bed.speed.store.records.values()
    assert record.measurement_config.limit == seconds["usual"]
    assert seconds["quick"] < seconds["usual"]
    for other in ("numpy", "os:system"):  # no function is called because the browser names it
        bed.run(what="peers", peers=[other])
        assert bed["failed"]
        assert (
            bed["message"]
            == f"'{other}' is not a known library. Use one of: torchvision, Albumentations."
        )


def test_fields_that_either_side_sets(bed: Bed) -> None:
    assert bed.speed.set("effort", "quick")
    assert not bed.speed.set("effort", "sloppy")
    assert not bed.speed.set("part", "kitchen")
    assert not bed.speed.set("threads", 4)
    assert bed.speed.set("overlay", "nothing")
    assert bed["overlay"] == ""


def test_what_is_shown_is_of_the_present_graph(bed: Bed) -> None:
    bed.run(what="compare")
    graph = bed.graph
    assert bed["compare"]["on"]
    key = bed["compare"]["on"][0]["id"]
    bed.graph = replace(set_arg(graph, load_catalog(), "rotate", "angle", 45.0), name="another")
    assert bed["compare"] == {}
    assert bed.speed.last_speeds(bed.graph, bed.data) == []
    bed.do("view", record=key)  # who opens a record sees it, marked
    assert "another graph" in bed["compare"]["on"][0]["earlier"]
    bed.graph = graph
    assert bed["compare"]["on"][0]["earlier"] == ""


def test_an_earlier_record_of_this_very_graph_is_shown_as_the_footer_has_it(bed: Bed) -> None:
    bed.run(what="compare")
    (record,) = bed.speed.store.records.values()
    fresh = SpeedPanel(bed.speed._lock, lambda: None, bed.speed.machine, None)
    fresh.store.add(record)
    assert fresh.last_speeds(bed.graph, bed.data)
    assert fresh.fields(bed.graph, bed.data)["compare"]["bars"]


def test_a_message_stays_with_its_part_graph_and_data(bed: Bed, fake: Fake) -> None:
    graph = bed.graph
    bed.hold(fake, what="compare")
    bed.speed.set("part", "rewrites")
    bed.cancel()
    assert bed["message"] == ""
    bed.speed.set("part", "compare")
    assert bed["message"].startswith("Stopped early")
    bed.graph = replace(graph, name="another")
    assert bed["message"] == ""
    bed.graph = graph
    assert bed["message"].startswith("Stopped early")


def test_how_long_a_measurement_takes_is_said_before_and_can_be_limited(bed: Bed) -> None:
    estimates = bed["limits"]["estimates"]
    more = "if a batch takes at most 3 s, otherwise longer"
    assert estimates["usual"]["compare"] == f"up to 48 s {more}"  # decode and pipeline on the CPU
    quick = experiment_for("compare", bed.graph, bed.data, "quick", NO_GPU)
    assert isinstance(quick, Benchmark)
    assert quick.measurement_config.limit == 7.0
    assert estimates["quick"]["compare"].startswith("up to 14 s if a batch")  # of two
    parts = {"compare", "stages", "threads", "pipelines", "rewrites", "tuner", "all"}
    assert set(estimates["usual"]) == set(estimates["quick"]) == parts
    graph, data = bed.graph, bed.data
    tuner = tuner_for({**TRY, "search": "tuner"}, graph, data, NO_GPU, 120.0)
    limits = (60.0, "memory")
    rewrites = experiment_for("rewrites", graph, data, "usual", NO_GPU, (), *limits)
    assert isinstance(tuner, TuningExperiment)
    assert isinstance(rewrites, OptimisationExperiment)
    assert (tuner.seconds, rewrites.seconds, rewrites.objective) == (120.0, *limits)
    bed.do("tune", search="tuner", seconds=3.0, **TRY)
    assert "seconds is 3.0. Use 20" in bed["message"]
    bed.do("measure", what="rewrites", objective="size")
    assert "objective" in bed["message"]


def test_memory_and_decoders_are_predicted(bed: Bed) -> None:
    assert bed["memory"] == bed["decoders"] == {}
    for what in ("memory", "decoders"):
        bed.do("predict", what=what)
        bed.wait(lambda here, what=what: here[what]["state"] != "running", what)  # type: ignore[misc]
    rows = [(row["node"], row["cells"]) for row in bed["memory"]["rows"]]
    assert [cells[0] for node, cells in rows if not node] == [
        "peak of the process",
        "copies of the decoder",
    ]
    assert dict(rows)["decode"][1] == "cpu"
    assert bed["memory"]["warning"] == ""
    assert bed["decoders"]["rows"][0]["cells"][0] == "JPEG engines"
    bed.graph = set_setting(bed.graph, batch_size=8)
    assert (bed["memory"]["stale"], bed["decoders"]["stale"]) == (True, False)
    bed.data = {}
    bed.do("predict", what="decoders")
    bed.wait(lambda here: here["decoders"]["state"] == "failed", "a failure")
    assert (
        bed["decoders"]["text"] == "The graph reads no images. Use a graph that reads one data set."
    )
