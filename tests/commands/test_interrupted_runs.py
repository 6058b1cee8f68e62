"""What Ctrl+C leaves of bench, stages and scale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.fakes import rounds
from tests.commands.test_bench import run
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.records.record import load_report


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
        assert done.exit_code == 1, done.output
        assert "Interrupted before there was a figure" in done.output
        assert not record.exists()
        return
    assert done.exit_code == 0, done.output
    assert "interrupted: 1 of 2 measured, which are kept" in done.output
    assert "100 imgs/s" in done.output
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
    assert done.output.endswith("Error: Interrupted before there was a figure: nothing is kept.\n")
