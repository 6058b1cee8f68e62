"""The speed lab's commands as a user calls them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.bench.fakes import measured, report, rounds
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.interleaved import WARM_UP_CUT
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import COARSE_CONFIG, MeasurementConfig
from workbench.bench.records.record import dump_report, load_report
from workbench.cli import main
from workbench.engine.resources.machine import describe_machine
from workbench.graph import dump_graph, load_graph, load_recipe

SHORT = MeasurementConfig(0.02, 2, 2, warm_up_rounds=2, budget=0.0)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds of two batches: these tests are about outputs and files."""
    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", _shortly)


def _shortly(entries, _, *rest):  # type: ignore[no-untyped-def]
    from workbench.bench.measuring.interleaved import measure

    return measure(entries, SHORT, *rest)


def test_bench_records_what_it_measured(photos: Path, tmp_path: Path) -> None:
    record, picture = tmp_path / "speed.json", tmp_path / "speed.svg"
    options = ["--data", photos, "--batch-size", 8, "--threads", 2, "--json", record]
    result = run("bench", "imagenet-eval", *options, "--plot", picture, "--name", "here")
    assert result.exit_code == 0, result.output
    assert "imgs/s" in result.output
    assert "page cache warm" in result.output
    found = json.loads(record.read_text())
    shown = [(row["device"], row["regime"]) for row in found["results"]]
    both = ["cpu", "mixed"]
    assert shown == [(d, "decode") for d in both] + [(d, "pipeline") for d in both]
    cpu = found["results"][0]
    assert (cpu["batch_size"], cpu["threads"]) == (8, 2)
    speed = cpu["imgs_per_s"]
    assert 0 < speed["low"] <= speed["median"] <= speed["high"]
    assert len(speed["rounds"]) >= 2
    mixed = found["results"][1]
    assert mixed["imgs_per_s"]["median"] or mixed["reason"].startswith("not measured: ")
    assert found["machine"]["cores"] >= 1
    assert (found["name"], found["data"]["files"]) == ("here", 120)
    assert "<svg" in picture.read_text()


@pytest.mark.parametrize("command", ["bench", "scale"])
def test_the_budget_bounds_the_whole_and_what_it_ended_is_told(
    command: str, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[tuple[float | None, float]] = []

    def fake(entries, how, *_):  # type: ignore[no-untyped-def]
        limits.append((how.limit, how.budget))
        return tuple(
            Measurement(entry.config, rounds(100, 100), flags=(WARM_UP_CUT,)) for entry in entries
        )

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    options = ["--data", photos, "--device", "cpu", "--budget", "7"]
    result = run(command, "imagenet-eval", *options)
    assert result.exit_code == 0, result.output
    assert limits == [(7.0, 7.0)]
    assert f"figures: {WARM_UP_CUT}" in result.output


def test_peers_are_named_and_their_time_is_told(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.bench.experiments.peers.find_spec", lambda name: None)
    options = ["--data", photos, "--device", "cpu", "--batch-size", 4, "--budget", 5]
    result = run("bench", "imagenet-eval", *options, "--regime", "pipeline", "--peer", "albu")
    assert result.exit_code == 0, result.output
    assert "This takes at most 10 s" in result.output
    assert "Albumentations, cpu, pipeline" in result.output
    assert "torchvision" not in result.output
    refused = run("bench", "imagenet-eval", *options, "--peer", "numpy")
    assert refused.exit_code == 2
    assert "'numpy' is not one of torchvision, Albumentations." in refused.output


def test_operators_have_a_record_of_their_own(photos: Path, tmp_path: Path) -> None:
    record = tmp_path / "speed.json"
    options = ["--data", photos, "--batch-size", 4, "--device", "cpu", "--json", record]
    options += ["--regime", "pipeline", "--name", "here", "--each-operator"]
    result = run("bench", "imagenet-eval", *options)
    assert result.exit_code == 0, result.output
    assert "µs per image that the operator adds" in result.output
    whole = load_report(record.read_text())
    assert (whole.kind, whole.name) == ("bench", "here")
    alone = load_report((tmp_path / "speed-operators.json").read_text())
    assert (alone.kind, alone.name) == ("operators", "here operators")
    nodes = [row.name.partition(":")[0] for row in alone.measurements]
    assert nodes == ["decoding", "nothing", "resize", "normalize"]
    assert all(row.rounds for row in alone.measurements)
    listed = run("records", tmp_path)
    assert "operators imagenet-eval" in listed.output


@pytest.mark.thorough
def test_pipelines_side_by_side_are_measured(photos: Path, tmp_path: Path) -> None:
    record = tmp_path / "speed.json"
    options = ["--data", photos, "--batch-size", 4, "--threads", 1, "--device", "cpu"]
    result = run("bench", "imagenet-eval", *options, "--pipelines", 2, "--json", record)
    assert result.exit_code == 0, result.output
    assert "batch 4, 2 pipelines of 1 thread, prefetch 2" in result.output
    assert [row["pipelines"] for row in json.loads(record.read_text())["results"]] == [2, 2]
    few = run("bench", "imagenet-eval", *options, "--pipelines", 2, "--batch-size", 100)
    assert "120 files, fewer than 2 pipelines times a batch of 100: every batch is" in few.output
    refused = run("bench", "imagenet-eval", *options, "--pipelines", 5)
    assert "5 is not in the range 1<=x<=4" in refused.output


def test_a_number_out_of_range_is_refused_with_the_option_that_was_typed(photos: Path) -> None:
    refused = run("bench", "imagenet-eval", "--data", photos, "--threads", 100_000)
    assert refused.exit_code == 2
    assert "'--threads': 100000 is not in the range 1<=x<=1024" in refused.output


def test_the_regime_can_be_chosen_and_a_knob_without_effect_is_told(
    photos: Path, tmp_path: Path
) -> None:
    record = tmp_path / "a.json"
    options = ["--data", photos, "--batch-size", 4, "--device", "cpu", "--json", record]
    result = run("bench", "imagenet-eval", *options, "--regime", "decode", "--load", 0.9)
    assert "hw_decoder_load had no effect: it is for mixed decoding" in result.output
    (row,) = json.loads(record.read_text())["results"]
    assert row["regime"] == "decode"


def test_without_a_gpu_the_command_for_one_is_shown(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = replace(describe_machine(), gpu="", no_gpu="the driver is asleep")
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: machine
    )
    result = run("bench", "imagenet-eval", "--data", photos, "--device", "mixed")
    assert result.exit_code == 1
    assert "the driver is asleep" in result.output
    assert "workbench bench imagenet-eval --data DIR" in result.output


def test_unsteady_rounds_are_marked(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    row = Measurement(Config(), rounds(100.0, 100.0, 150.0))
    row = replace(row, flags=row.quality_flags(2))
    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", lambda *_: (row,))
    result = run(
        "bench", "imagenet-eval", "--data", photos, "--device", "cpu", "--regime", "decode"
    )
    assert "unstable: the rounds differ by more than 10 %" in result.output


@pytest.mark.thorough
def test_stages(photos: Path, tmp_path: Path) -> None:
    graph = tmp_path / "g.json"
    graph.write_text(_small("imagenet-eval"))
    result = run("stages", graph, "--data", photos, "--plot", tmp_path / "s.png")
    assert result.exit_code == 0, result.output
    for words in ("decode", "total, and remainder", "ceiling"):
        assert words in result.output
    assert ("Options" in result.output) != ("Unstable: " in result.output)
    assert "normalize (crop_mirror_normalize)" in result.output
    assert "Quick results: at least 3 rounds of 0.5 s" in result.output
    assert (tmp_path / "s.png").stat().st_size > 1000


@pytest.mark.thorough
def test_a_quick_look_at_the_stages(photos: Path, tmp_path: Path) -> None:
    graph, record = tmp_path / "g.json", tmp_path / "r.json"
    graph.write_text(_small("imagenet-eval"))
    result = run("stages", graph, "--data", photos, "--quick", "--json", record, "--name", "first")
    assert result.exit_code == 0, result.output
    assert "Quick results: at least 2 rounds of 0.2 s" in result.output
    assert "at 50% confidence" in result.output
    kept = load_report(record.read_text())
    assert (kept.measurement_config, kept.name) == (COARSE_CONFIG, "first")


@pytest.mark.thorough
def test_tune_writes_graph_script_and_record(photos: Path, tmp_path: Path) -> None:
    out = {name: tmp_path / name for name in ("t.json", "pipe.py", "r.json")}
    result = run(
        *("tune", "imagenet-eval", "--data", photos, "-o", out["t.json"]),
        *("--script", out["pipe.py"], "--json", out["r.json"]),
        *("--threads", "1,2", "--batch-sizes", "2,4", "--prefetch", "2"),
    )
    assert result.exit_code == 0, result.output
    best = result.output.rpartition("best: ")[2]
    settings = load_graph(out["t.json"].read_text()).settings
    assert f"batch {settings.batch_size}, " in best
    assert f"{settings.num_threads} thread" in best
    assert ("2 pipelines of" in best) == (settings.pipelines == 2)
    assert f"BATCH_SIZE = {settings.batch_size}" in out["pipe.py"].read_text()
    assert load_report(out["r.json"].read_text()).kind == "tune"


@pytest.mark.thorough
def test_scale(photos: Path, tmp_path: Path) -> None:
    graph = tmp_path / "g.json"
    graph.write_text(_small("imagenet-eval"))
    result = run("scale", graph, "--data", photos, "--threads", "1,2")
    assert result.exit_code == 0, result.output
    assert "2 threads: " in result.output
    result = run("scale", graph, "--data", photos, "--pipelines", "1,2")
    assert "1 pipeline: " in result.output
    assert "2 pipelines: " in result.output
    own = ("--threads", "1", "--batch-size", "3", "--prefetch", "1", "--files", "read")
    record = tmp_path / "processes.json"
    result = run(
        *("scale", graph, "--data", photos, "--processes", "1,2", "--pipelines", "2", *own),
        *("--json", record),
    )
    assert result.exit_code == 0, result.output
    assert "1 process of 2 pipelines: " in result.output
    assert "2 processes of 2 pipelines: " in result.output
    config = load_report(record.read_text()).measurements[1].config
    assert (config.workers, config.pipelines, config.threads) == (2, 2, 1)
    assert (config.batch_size, config.prefetch, config.dont_use_mmap) == (3, 1, True)


def test_compare(tmp_path: Path) -> None:
    for name, rate in (("a", 100), ("b", 150)):
        (tmp_path / f"{name}.json").write_text(dump_report(report(measured(rate))))
    result = run("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert result.exit_code == 0
    assert "ratio 1.500" in result.output
    assert "faster" in result.output
    (tmp_path / "b.json").write_text(dump_report(report(measured(1, device="mixed"))))
    result = run("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert result.exit_code == 1
    assert "no configuration in common" in result.output
    (tmp_path / "b.json").write_text('{"format": "dali-workbench-bench", "version": 99}')
    result = run("compare", tmp_path / "a.json", tmp_path / "b.json")
    assert (result.exit_code, "version 99" in result.output) == (2, True)


def test_records_are_listed_named_drawn_and_exported(tmp_path: Path) -> None:
    path, table, plots = tmp_path / "a.json", tmp_path / "t.csv", tmp_path / "plots"
    path.write_text(dump_report(report(measured(100))))
    assert run("records", path, "--name", "before").exit_code == 0
    result = run("records", tmp_path, "--csv", table, "--plots", plots)
    assert result.exit_code == 0, result.output
    assert "before" in result.output
    (row,) = csv.DictReader(table.open())
    assert row["record"] == "before"
    assert "before" in (plots / "a.svg").read_text()
    failed = Measurement(Config(), reason="not measured: unreadable")
    (tmp_path / "none.json").write_text(dump_report(report(failed)))
    result = run("records", tmp_path, "--csv", table, "--plots", plots)
    assert result.exit_code == 0, "one that has no picture keeps no other from its own"
    assert "no chart: none: This record has no results to plot" in result.output
    assert len(list(csv.DictReader(table.open()))) == 2
    assert run("records", tmp_path, "--name", "x").exit_code == 2
    result = run("records", path, "--csv", path)
    assert (result.exit_code, "would overwrite the source" in result.output) == (2, True)
    result = run("records", path, "--plots", table)
    assert (result.exit_code, "cannot be created" in result.output) == (1, True)


def test_the_graph_that_is_tuned_is_not_written_over_by_its_script(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(dump_graph(load_recipe("simclr")))
    result = run("tune", path, "--data", tmp_path, "--script", path)
    assert (result.exit_code, "would overwrite the source" in result.output) == (2, True)
    assert path.read_text() == dump_graph(load_recipe("simclr"))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["bench", "simclr", "--data", "/nowhere"], 2, "no folder /nowhere"),
        (["bench", "simclr", "--data", ".", "--json", "-"], 2, "Use a file"),
        (["bench", "simclr", "--data", ".", "--threads", "0"], 2, "threads"),
        (["bench", "simclr", "--data", ".", "--plot", "a.gif"], 2, ".png nor .svg"),
        (["bench", "simclr", "--data", "."], 2, "is empty"),
        (["bench", "simclr", "--data", ".", "--budget", "nan"], 2, "nan is not a finite number"),
        (["tune", "simclr", "--data", ".", "--memory", "inf"], 2, "inf is not a finite number"),
        (["tune", "simclr", "--data", ".", "--loads", "0.5,nan"], 2, "Use increasing numbers"),
        (["tune", "simclr", "--data", ".", "--threads", "4,2"], 2, "Use increasing numbers"),
        (["tune", "simclr", "--data", ".", "--threads", "a"], 2, "Use increasing numbers"),
        (["tune", "simclr", "--data", ".", "--batch-sizes", "0,1"], 2, "Use increasing numbers"),
        (["stages", "nowhere.json", "--data", "."], 2, "There is no file nowhere.json"),
        (["compare", "a.json", "b.json"], 2, "'a.json' does not exist"),
        (["records", "a.json"], 2, "'a.json' does not exist"),
    ],
)
def test_what_is_wrong_is_said(
    arguments: list[str], code: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == code, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--processes", "1", "--gpus", "1"], "--gpus and --processes cannot be combined"),
        (["--gpus", "1", "--threads", "1,2"], "a single number"),
        (["--gpus", "1", "--device", "cpu"], "Omit --device"),
    ],
)
def test_options_of_scale_that_do_not_go_together(
    options: list[str], message: str, photos: Path
) -> None:
    result = run("scale", "simclr", "--data", photos, *options)
    assert result.exit_code == 2, result.output
    assert message in result.output


def _small(recipe: str) -> str:
    from tests.helpers import with_settings

    return dump_graph(with_settings(load_recipe(recipe), batch_size=4, num_threads=1))


# What Ctrl+C leaves of bench, stages and scale.


@pytest.mark.parametrize(
    ("command", "options"),
    [("bench", ("--device", "cpu")), ("stages", ()), ("scale", ("--threads", "1,2"))],
)
def test_what_an_interrupt_leaves_is_told_and_kept(
    command: str,
    options: tuple[str, ...],
    photos: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(entries, config, stop, on_progress, before, on_rows, *_):  # type: ignore[no-untyped-def]
        found = [replace(Measurement(one.config, label=one.label)) for one in entries]
        on_rows((replace(found[0], rounds=rounds(100.0, 101.0)), *found[1:]))
        raise KeyboardInterrupt

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", interrupted)
    record = tmp_path / "record.json"
    done = run(command, "rotate-jitter", "--data", photos, "--json", record, *options)
    if command == "stages":  # the whole is the last: without it no stage has a time
        assert done.exit_code == 0, done.output
        assert "Interrupted before the pipeline was measured. Measured alone" in done.output
        assert "whole, and remainder" not in done.output
        kept = load_report(record.read_text())
        assert kept.extra["interrupted"] is True
        assert "Measured alone" in repr(kept)
        return
    assert done.exit_code == 0, done.output
    assert "interrupted: 1 of 2 measured\n" in done.output
    assert f"The record is in {record}." in done.output
    assert "100 to 101 imgs/s" in done.output
    assert "not measured: interrupted" in done.output
    kept = load_report(record.read_text())
    assert [bool(row.rounds) for row in kept.measurements] == [True, False]
    assert kept.extra["interrupted"] is True


def test_an_interrupt_before_the_first_round_is_one_line(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", interrupted)
    done = run("bench", "rotate-jitter", "--data", photos, "--device", "cpu")
    assert done.exit_code == 1
    assert done.output.endswith("Interrupted before the first result, so nothing is saved.\n")
