"""``workbench tune`` and ``workbench optimise`` as a user calls them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.bench.fakes import measured, report, rounds
from tests.damaged import REFUSED
from tests.emit.targets.test_execute import some_of
from tests.graph.rewrites.laws import ops
from tests.optimiser.made_up import FAR, NAMES, make_up, slow_graph
from workbench.bench.experiments.grid_experiment import SweepExperiment
from workbench.bench.measuring import interleaved
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.records.charts import best_measurement, best_rate
from workbench.bench.records.record import load_report
from workbench.cli import main
from workbench.commands.measuring import print_rows
from workbench.commands.tune import unchanged_note
from workbench.errors import EngineError
from workbench.graph import dump_graph, load_graph
from workbench.optimiser import OptimisationExperiment

SHORT = MeasurementConfig(0.02, 2, 2, warm_up_rounds=2, budget=0.0)
GRID = ("--threads", "1", "--batch-sizes", "4", "--prefetch", "1,2", "--pipelines", "1")
COUNT = 198
"""A folder with good files and two bad ones."""


def tune(data: Path, *options: object) -> Result:
    words = ["tune", "rotate-jitter", "--data", data, *GRID, *options]
    return CliRunner().invoke(main, [str(word) for word in words])


def test_an_executor_that_there_is_not_is_refused(photos: Path) -> None:
    done = tune(photos, "--executors", "dynamic,fast")
    assert done.exit_code == 2
    assert "'fast' is not a known executor. Use one of: static, dynamic, separate." in done.output


def test_files_are_mapped_or_read_and_no_third(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = tune(photos, "--files", "mapped,cached")
    assert done.exit_code == 2
    assert "'cached' is not a known kind of file access. Use one of: mapped, read." in done.output
    tried: list[Grid] = []

    def run(experiment: SweepExperiment, *_: object) -> None:
        assert experiment.given_grid is not None
        tried.append(experiment.given_grid)
        raise EngineError("enough")

    monkeypatch.setattr(SweepExperiment, "run", run)
    for files in ("mapped", "read", "mapped,read"):
        assert tune(photos, "--files", files, "--exhaustive").exit_code == 1
    assert [grid.dont_use_mmap for grid in tried] == [(None,), (True,), (None, True)]


@pytest.mark.thorough
def test_a_folder_with_one_percent_bad_files(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(entries: Sequence[ConfigJobs], _: MeasurementConfig, *rest: Any) -> Any:
        return interleaved.measure(entries, SHORT, *rest)

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", measure)
    folder = some_of(photos, COUNT, tmp_path / "photos")
    make, _ = REFUSED["bomb.png"]
    (folder / "all" / "bomb.png").write_bytes(make(b""))
    (folder / "all" / "empty.jpg").write_bytes(b"")
    record, tuned = tmp_path / "record.json", tmp_path / "tuned.json"
    done = tune(folder, "--json", record, "-o", tuned)
    assert done.exit_code == 0, done.output
    assert f"{COUNT} files without 2 bad" in done.stdout
    assert "2 of 2 settings tried" in done.stdout
    for bad in ("bomb.png", "empty.jpg"):
        (line,) = (line for line in done.output.splitlines() if bad in line)
        assert line.startswith("skipped: ")
    kept = load_report(record.read_text())
    assert len(kept.left_out) == 2
    assert all(row.rounds for row in kept.measurements)
    best = best_measurement(kept).config
    assert load_graph(tuned.read_text()).settings.batch_size == best.batch_size


def test_a_setting_that_could_not_be_measured_is_told(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are measured all the same."""
    reason = "not measured: The worker was terminated by SIGKILL."
    fails = iter([True])

    def measure(entries: Sequence[ConfigJobs], *_: Any) -> tuple[Measurement, ...]:
        if next(fails, False):
            return tuple(Measurement(entry.config, reason=reason) for entry in entries)
        found = rounds(100.0, 101.0)
        return tuple(Measurement(entry.config, found, label=entry.label) for entry in entries)

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", measure)
    done = tune(photos)
    assert done.exit_code == 0, done.output
    assert re.search(
        rf"^batch \d+, \d+ threads?, .*: {re.escape(reason)}$", done.stdout, re.MULTILINE
    )
    assert "best: " in done.stdout


def test_a_tuning_that_is_interrupted_keeps_what_it_has(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def measure(entries: Sequence[ConfigJobs], *_: Any) -> tuple[Measurement, ...]:
        asked.append(len(entries))
        if len(asked) == 3:
            raise KeyboardInterrupt
        rates = rounds(100.0 * entries[0].config.pipelines, 101.0 * entries[0].config.pipelines)
        return tuple(Measurement(entry.config, rates, label=entry.label) for entry in entries)

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", measure)
    record, tuned = tmp_path / "record.json", tmp_path / "tuned.json"
    done = tune(photos, "--pipelines", "1,2", "--json", record, "-o", tuned)
    assert done.exit_code == 0, done.output
    assert "interrupted: 2 of 4 settings measured\n" in done.stdout
    assert f"The record is in {record}.\n" in done.stdout
    kept = load_report(record.read_text())
    assert len(kept.measurements) == 2
    assert load_graph(tuned.read_text()).settings.pipelines == 2


def test_why_the_best_is_the_graphs_own_setting() -> None:
    own, other = measured(100.0), measured(90.0, batch_size=16)
    failed = replace(other, rounds=(), reason="Out of memory")
    for rows, words in (
        ((own,), "no other setting was tried"),
        ((own, own), "no other setting was tried"),
        ((own, failed), "no other setting could be measured"),
        ((own, failed, other), "no faster setting was found in 2 of 72"),
    ):
        assert unchanged_note(report(*rows), own.config, 72) == f" (unchanged: {words})"


def test_two_results_of_the_best_that_contradict_each_other_are_a_range() -> None:
    candidate, long = measured(150.0, "candidate 1"), measured(240.0, "confirmed")
    rate, caution = best_rate(report(long, candidate), long)
    assert rate == "150 to 240 imgs/s"
    assert caution.startswith("the long run had 240 imgs/s, but the rounds next to other settings")
    close = measured(242.0, "candidate 1")
    assert best_rate(report(long, close), long) == ("240 imgs/s", "")


def test_one_that_is_interrupted_before_anything_else_was_tried(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def measure(entries: Sequence[ConfigJobs], *_: Any) -> tuple[Measurement, ...]:
        asked.append(len(entries))
        if len(asked) == 2:
            raise KeyboardInterrupt
        return tuple(Measurement(entry.config, rounds(100.0)) for entry in entries)

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", measure)
    done = tune(photos, "--pipelines", "1,2", "--seconds", "20")
    assert done.exit_code == 0, done.output
    assert "imgs/s (unchanged: no other setting was tried)" in done.stdout
    assert "No record was written. Pass --json FILE to store the results.\n" in done.stdout


def test_a_long_round_by_itself_has_no_interval(capsys: pytest.CaptureFixture[str]) -> None:
    short = Measurement(Config(), rounds(100.0, 102.0), stop_reason="precise")
    long = replace(short, rounds=(replace(short.rounds[0], seconds=6.0),), label="confirmed")
    print_rows(report(short, long))
    first, second = (line for line in capsys.readouterr().out.splitlines() if "imgs/s" in line)
    assert first.endswith("2 rounds)"), "two rounds are not precise"
    assert second.startswith("confirmed")
    assert second.endswith("; one round of 6 s)")


# ``workbench optimise`` as a user calls it.

FASTER = {"colour-after-crop": 200.0, "crop-in-decoder": 300.0, "colour-into-twist": 310.0}


def optimise(photos: Path, tmp_path: Path, *options: object) -> Result:
    graph = tmp_path / "slow.json"
    graph.write_text(dump_graph(slow_graph()))
    words = ["optimise", graph, "--data", photos, *options]
    return CliRunner().invoke(main, [str(word) for word in words])


def test_the_table_the_record_and_the_graph(
    monkeypatch: pytest.MonkeyPatch, photos: Path, tmp_path: Path
) -> None:
    make_up(monkeypatch, FASTER)
    output, script, record = (tmp_path / name for name in ("fast.json", "fast.py", "record.json"))
    done = optimise(
        photos, tmp_path, "--apply", "exact", "-o", output, "--script", script, "--json", record
    )
    assert done.exit_code == 0, done.output
    for name in NAMES:
        assert name in done.stdout
    assert "crop-in-decoder: none in 24 samples" not in done.stderr, "made up, and so not compared"
    assert "colour-after-crop, crop-in-decoder: 3.00 times the speed" in done.stderr.splitlines()
    assert "applied: colour-after-crop, crop-in-decoder" in done.stdout
    assert ops(load_graph(output.read_text()))[1:] == [
        "decoders.image_crop",
        "contrast",
        "brightness",
    ]
    assert "fn.decoders.image_crop" in script.read_text()
    assert len(load_report(record.read_text()).extra["optimise"]["proposals"]) == len(NAMES)


def test_what_is_not_there_is_told_at_once_or_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, photos: Path, tmp_path: Path
) -> None:
    seen = make_up(monkeypatch, {**FASTER, "colour-into-twist": 200.0})
    for option in ("--only", "--apply"):
        unknown = optimise(photos, tmp_path, option, "crop-in-decode")
        assert unknown.exit_code == 2
        assert "Did you mean crop-in-decoder" in unknown.output
    assert not seen
    refused = optimise(photos, tmp_path, "--apply", "colour-into-twist")
    assert refused.exit_code == 1
    assert "There is no proposal" in refused.output
    assert "(slower: 0.67 times)" in refused.output
    small = optimise(photos, tmp_path, "--for", "memory")
    assert "peak memory: 954 MiB instead of 954 MiB" in small.stdout


def test_if_nothing_is_proposed_the_figures_of_the_graph_are_written(
    monkeypatch: pytest.MonkeyPatch, photos: Path, tmp_path: Path
) -> None:
    make_up(monkeypatch, {}, lambda name: FAR)
    output, chart = tmp_path / "fast.json", tmp_path / "memory.svg"
    done = optimise(photos, tmp_path, "--for", "memory", "-o", output, "--plot", chart)
    assert done.exit_code == 0, done.output
    assert "  peak memory: 954 MiB\n" in done.stdout
    assert "  speed of the graph: 100 imgs/s\n" in done.stdout
    assert f"{output} (no rewrite was applied: same graph as the input)" in done.stdout
    assert load_graph(output.read_text()) == slow_graph()
    assert "MiB of peak memory" in chart.read_text()


def test_a_search_that_is_interrupted_while_it_compares_keeps_the_differences(
    monkeypatch: pytest.MonkeyPatch, photos: Path, tmp_path: Path
) -> None:
    make_up(monkeypatch, FASTER)

    def ended(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(OptimisationExperiment, "measure", ended)
    done = optimise(photos, tmp_path, "--json", tmp_path / "record.json")
    assert done.exit_code == 0, done.output
    assert "not proposed: not measured: the search was ended; none in 24 samples" in done.stdout
    assert load_report((tmp_path / "record.json").read_text()).extra["interrupted"]
