"""The tuner and its probes, around measurements that are made up."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from tests.bench.fakes import GRID, MACHINE, measured, rate_of_config, rounds
from tests.helpers import with_settings
from workbench.bench.experiments.tune import (
    BUS,
    CORES,
    ENGINES,
    NOT_FOR_LONG,
    NOTHING_MORE,
    TIME_UP,
    UNCOMPARED,
    InterleavedSettings,
    Probes,
    TuningExperiment,
    TuningTime,
    headroom_of,
    long_seconds,
)
from workbench.bench.experiments.tuner_search import default_probe_allowance
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.deadline import (
    Deadline,
    minimum_seconds,
    require_seconds,
    start_seconds,
)
from workbench.bench.measuring.grid import Grid
from workbench.bench.measuring.interleaved import ConfigJobs
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import (
    GPU_PROBE_CONFIG,
    PROBE_CONFIG,
    QUICK_CONFIG,
    MeasurementConfig,
)
from workbench.bench.measuring.worker_group import ReusableWorker
from workbench.bench.measuring.workload import TimedRound
from workbench.bench.records.charts import best_measurement
from workbench.bench.records.record import dump_report, load_report
from workbench.engine.protocol.progress import Progress
from workbench.errors import ArgumentError, CancelledError, EngineError
from workbench.graph import load_recipe
from workbench.sources import open_datasets
from workbench.ui.notebook.notebook_runs import RunAccess


def test_the_tuner_finds_it_in_a_fifth_of_the_time_and_measures_it_anew(
    made_up: list[list[Config]], photos: Path
) -> None:
    heard: list[float] = []
    report = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID).run(
        lambda share, text: heard.append(share)
    )
    assert heard == sorted(heard)
    told = report.extra["tune"]
    assert told["probes"] <= default_probe_allowance(len(GRID)) - 2
    assert best_measurement(report).median == pytest.approx(
        rate_of_config(Config("cpu", "pipeline", 64, 4, 4)), rel=0.1
    )
    *_, finalists, chosen = made_up
    assert Config() in finalists, "the graph's own settings, beside the best"
    assert chosen == [best_measurement(report).config], "then the fastest for long"
    cared = len(finalists) + len(chosen)
    assert [row.confirmed for row in report.measurements[:cared]].count(True) == 1
    assert all(row.label.startswith("probe") for row in report.measurements[cared:])
    assert "of it is reached" in told["headroom"]


def test_nothing_can_be_measured(made_up: list[list[Config]], photos: Path) -> None:
    grid = Grid((1,), (128,))
    graph = with_settings(load_recipe("imagenet-train"), batch_size=128)
    with pytest.raises(EngineError, match="Out of memory"):
        TuningExperiment(graph, str(photos), grid=grid).run()


def test_where_nothing_of_the_grid_fits_the_graphs_own_setting_is_the_best(
    made_up: list[list[Config]], photos: Path
) -> None:
    tuner = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=Grid((1,), (128,)))
    assert best_measurement(tuner.run()).config == tuner.base


def test_cancelled(made_up: list[list[Config]], photos: Path) -> None:
    tune = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID)
    with pytest.raises(CancelledError):
        tune.run(lambda share, text: tune.cancel())
    assert len(made_up) == 0


def rows_of(
    monkeypatch: pytest.MonkeyPatch, rate_of: Callable[[Config, MeasurementConfig], Measurement]
) -> list[tuple[Config, MeasurementConfig, float]]:
    """Replace measuring by a formula; return what was measured, how, and against which rate."""
    seen: list[tuple[Config, MeasurementConfig, float]] = []

    def fake(entries: Sequence[ConfigJobs], how: MeasurementConfig, *rest: Any) -> tuple:
        best = rest[4]
        seen.extend((entry.config, how, best) for entry in entries)
        return tuple(
            replace(rate_of(e.config, how), config=e.config, label=e.label) for e in entries
        )

    monkeypatch.setattr("workbench.bench.experiments.speed_experiment.measure", fake)
    return seen


def test_a_choice_that_does_not_keep_its_rate_for_long_gives_way_to_the_next(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As two pipelines on an H200: 40,000 in short probes and 20,000 over a minute."""

    def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
        long = how.rounds == 1
        rate = {1: 30_000.0, 2: 20_000.0 if long else 40_000.0}[config.pipelines]
        seconds = tuple(rate * (0.8 if second == 3 else 1.0) for second in range(10))
        one = TimedRound(10.0, 100, round(10 * rate), 1.5, by_second=seconds if long else ())
        return Measurement(config, (one,))

    seen = rows_of(monkeypatch, rate_of)
    grid = Grid((1, 2), (16, 32), (2,), pipelines=(1, 2))
    graph = with_settings(load_recipe("imagenet-train"), batch_size=16, num_threads=2)
    report = TuningExperiment(graph, str(photos), grid=grid).run()
    best = best_measurement(report)
    assert best.config.pipelines == 1
    assert best.confirmed
    assert best.slowest_second == pytest.approx(0.8)
    against = [rate for _, how, rate in seen if how == PROBE_CONFIG]
    assert against[0] == 0.0
    assert max(against) == pytest.approx(40_000), "each against the best so far"
    again = load_report(dump_report(report))
    assert best_measurement(again).slowest_second == pytest.approx(0.8)


def test_full_engines_end_the_search(photos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
        row = measured(40_000.0)
        return replace(row, config=config, jpeg_busy=98.0, bus_busy=31.0)

    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.describe_machine", lambda: MACHINE
    )
    seen = rows_of(monkeypatch, rate_of)
    grid = Grid((1, 2, 4, 8), (64, 128, 256), (2, 4), (0.65, 1.0), (1, 2, 3))
    graph = with_settings(load_recipe("imagenet-train"), device="mixed")
    report = TuningExperiment(graph, str(photos), grid=grid).run()
    told = report.extra["tune"]
    assert told["probes"] == 1
    assert told["stopped"] == NOTHING_MORE
    assert (
        "JPEG engines 98%; bus 31%. The limit of the JPEG engines is 40,816 imgs/s"
        in told["headroom"]
    )
    assert seen[0][1] == GPU_PROBE_CONFIG
    assert seen[-1][1].round_seconds == 46.08, "the choice for long: the grid has 144 settings"


class SlowMachine:
    """A machine on which every measurement takes this many seconds, and its clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float, rate: float) -> None:
        self.now = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("workbench.bench.measuring.deadline.time", clock)

        def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
            self.now += seconds
            return measured(rate * rate_of_config(config) / 500)

        self.seen = rows_of(monkeypatch, rate_of)


def test_the_time_bounds_the_search_the_turns_and_the_long_run(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SlowMachine(monkeypatch, 3.0, 5000.0)
    graph = load_recipe("imagenet-train")
    tuner = TuningExperiment(graph, str(photos), grid=GRID, seconds=40.0)
    texts: list[str] = []
    told = tuner.run(lambda _, text: texts.append(text)).extra["tune"]
    probed = [config.settings for config, _, _ in machine.seen[:6]]
    shown = dict.fromkeys(text.partition(": ")[2] for text in texts if text.startswith("probe "))
    assert list(shown) == probed, "the progress names each setting"
    assert told["probes"] == 6, "of 3 s in 18 s"
    assert told["stopped"].startswith(TIME_UP)
    assert told["seconds"] == machine.now <= 40
    assert machine.seen[0][0] == tuner.base, "the graph's own comes first"
    limits = [how.limit for _, how, _ in machine.seen[:6]]
    assert limits == [4.5, 4.5, 4.5, 4.5, 4.5, 3.0], "a quarter of 18 s, or what is left"
    turns = [how for _, how, _ in machine.seen if how.rounds == 3]
    assert {(how.budget, how.limit) for how in turns} == {(2.0, 14 / len(turns))}
    last = machine.seen[-1][1]
    assert (last.round_seconds, last.round_batches) == (6.0, 1)


@pytest.mark.gpu
@pytest.mark.timeout(120)
def test_on_a_gpu_the_choice_is_confirmed_within_the_time(photos: Path) -> None:
    graph = with_settings(load_recipe("imagenet-train"), batch_size=8, device="mixed")
    report = TuningExperiment(graph, str(photos), "mixed", seconds=40.0).run()
    best = best_measurement(report)
    assert best.confirmed
    assert best.bus_busy is not None
    tuning = report.extra["tune"]
    assert tuning["headroom"].startswith("used: ")
    assert tuning["seconds"] < 40 + 10, "a pipeline's start at most"


def test_where_the_time_allows_no_comparison_the_best_of_the_search_is_flagged(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SlowMachine(monkeypatch, 9.0, 20.0)
    graph = with_settings(load_recipe("imagenet-train"), batch_size=16)
    tuner = TuningExperiment(graph, str(photos), grid=GRID, seconds=40.0)
    report = tuner.run()
    best, *probes = report.measurements
    assert machine.now == 36
    assert len(probes) == report.extra["tune"]["probes"] == 4
    assert best.median == max(row.median or 0.0 for row in probes)
    assert UNCOMPARED in best.flags
    assert best_measurement(report) == best


def test_a_second_probe_that_is_too_large_for_the_time_is_replaced_by_a_smaller_one(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter((25.0, 10.0))
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("workbench.bench.measuring.deadline.time", clock)

    def rate_of(config: Config, how: MeasurementConfig) -> Measurement:
        now[0] += next(seconds)
        return measured(20.0, batch_size=config.batch_size)

    seen = rows_of(monkeypatch, rate_of)
    graph = with_settings(load_recipe("imagenet-train"), batch_size=64)
    report = TuningExperiment(graph, str(photos), grid=GRID, seconds=40.0).run()
    own, second = (config for config, _, _ in seen[:2])
    assert own.batch_size == 64
    assert second.batch_size == 32, "128 would take 16 s, and 15 s are left"
    told = report.extra["tune"]
    assert told["probes"] == len(seen) == 2
    assert told["stopped"] == f"{TIME_UP} (10 s for one more setting, 5 s left for the search)"


def test_where_there_is_no_time_for_a_long_run_the_choice_is_flagged(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = SlowMachine(monkeypatch, 4.0, 5000.0)
    tuner = TuningExperiment(load_recipe("imagenet-train"), str(photos), grid=GRID, seconds=20.0)
    report = tuner.run()
    assert machine.now <= 20
    assert not any(row.confirmed for row in report.measurements)
    assert NOT_FOR_LONG in best_measurement(report).flags


@pytest.mark.parametrize(
    ("options", "seconds"), [({}, 120.0), ({"seconds": 30.0}, 30.0), ({"grid": GRID}, None)]
)
def test_a_workbench_limits_tuning_unless_a_grid_is_passed(
    photos: Path, options: dict[str, Any], seconds: float | None
) -> None:
    class Access(RunAccess):
        graph = load_recipe("imagenet-train")
        _read_data = open_datasets(photos)

        def _measured(self, experiment: Any) -> NoReturn:
            raise InterruptedError(experiment.seconds)

    with pytest.raises(InterruptedError, match=str(seconds)):
        Access().tune(**options)


def test_a_time_too_short_is_refused(photos: Path) -> None:
    with pytest.raises(ArgumentError, match=r"seconds is 5. Use 20 or more"):
        TuningExperiment(load_recipe("imagenet-train"), str(photos), seconds=5)


def nobody(share: float, text: str) -> None:
    """A progress callback that does nothing."""


def test_one_that_fails_in_a_worker_of_others_is_tried_in_a_fresh_one() -> None:
    reused = iter((False, True, False, False))

    def measure(
        config: Config, how: MeasurementConfig, _: Progress, best: float, kept: ReusableWorker
    ) -> Measurement:
        kept.reused = next(reused)
        if kept.reused or config.threads == 8:
            return Measurement(config, reason="Out of memory")
        return measured(100.0)

    probes = Probes(measure, 16, TuningTime(None))
    rows = [probes.probe(Config(threads=threads), nobody) for threads in (1, 2, 8)]
    assert [row.reason for row in rows] == ["", "", "Out of memory"]
    assert next(reused, None) is None, "one that fails in a fresh one is not tried again"


def test_full_engines_and_the_time_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    time = TuningTime(None)
    row = measured(40_000.0, device="mixed")

    def measure(*_: object) -> Measurement:
        return row

    probes = Probes(measure, 16, time)
    monkeypatch.setattr(time, "has_no_time_for_probes", lambda size: True)
    assert probes.stop_reason() == "", "one probe at least"
    probes.probe(Config("mixed"), nobody)
    assert probes.stop_reason().startswith(TIME_UP)
    row = replace(row, jpeg_busy=98.0)
    probes.probe(Config("mixed"), nobody)
    assert probes.stop_reason() == NOTHING_MORE
    probes.close()


# How full engines, cores and bus were, and where they end.


def test_the_fullest_resource_is_the_limit() -> None:
    row = replace(measured(30_000.0, device="mixed"), jpeg_busy=75.0, bus_busy=30.0)
    found = headroom_of(row, cores=16)  # 1.5 cores are busy in the fakes
    assert found is not None
    assert [each.name for each in found.resources] == [CORES, ENGINES, BUS]
    assert found.most_used == found.resources[1]
    assert found.limit == pytest.approx(40_000, rel=0.001)
    assert not found.exhausted
    assert "cores 9%; JPEG engines 75%; bus 30%" in found.text()
    assert "The limit of the JPEG engines is 40,000 imgs/s: 75% of it is reached" in found.text()


def test_without_nvml_it_says_that_it_is_not_known() -> None:
    found = headroom_of(measured(30_000.0, device="mixed"), cores=16)
    assert found is not None
    assert found.limit is None
    assert "JPEG engines: unknown (NVML does not report it)" in found.text()
    assert found.text().endswith("The physical limit is unknown")


@pytest.mark.parametrize(("jpeg", "bus", "end"), [(97.0, 10.0, True), (50.0, 99.0, True),
                                                  (96.0, 96.0, False)])  # fmt: skip
def test_nothing_brings_more_where_engines_or_bus_are_full(
    jpeg: float, bus: float, end: bool
) -> None:
    row = replace(measured(40_000.0, device="mixed"), jpeg_busy=jpeg, bus_busy=bus)
    found = headroom_of(row, cores=16)
    assert found is not None
    assert found.exhausted is end


def test_full_cores_do_not_say_that_nothing_brings_more() -> None:
    """Another batch size may make an image cheaper."""
    found = headroom_of(measured(1000.0), cores=1)
    assert found is not None
    assert found.resources[0].busy == 1.0
    assert not found.exhausted
    assert headroom_of(replace(measured(1.0), rounds=()), 2) is None


# What fits into the time that a run is given, and how a tuning spends it.


def test_what_is_left_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(
        "workbench.bench.measuring.deadline.time", SimpleNamespace(monotonic=lambda: clock[0])
    )
    deadline = Deadline(60.0)
    clock[0] += 20
    assert (deadline.elapsed, deadline.seconds_left(), deadline.seconds_left(0.5)) == (
        20.0,
        40.0,
        10.0,
    )
    assert deadline.config_within(PROBE_CONFIG, 4).limit == 10.0
    assert deadline.config_within(PROBE_CONFIG, share=0.5, maximum=3.0).limit == 3.0
    clock[0] += 50
    assert deadline.seconds_left() == -10.0
    assert deadline.config_within(PROBE_CONFIG).limit == 0.0, "what a figure needs at least"


def test_without_a_time_there_is_no_limit() -> None:
    deadline = Deadline()
    assert deadline.seconds_left(0.1) == math.inf
    assert deadline.config_within(PROBE_CONFIG, 3) is PROBE_CONFIG


def test_seconds_too_few_are_refused() -> None:
    require_seconds("Run", None)
    require_seconds("Run", 20)
    with pytest.raises(ArgumentError, match=r"Run: seconds is 19. Use 20 or more"):
        require_seconds("Run", 19)


def test_the_start_is_what_the_rounds_leave() -> None:
    row = replace(measured(100.0), rounds=rounds(100.0, 100.0), warm_up=(90.0,))
    assert start_seconds(row, 10.0) == pytest.approx(7.0), "three rounds of a second"
    assert start_seconds(row, 2.0) == 0.0
    assert start_seconds(Measurement(row.config, reason="not measured"), 2.0) == 2.0


def test_the_least_is_a_start_and_three_rounds_of_each() -> None:
    row = measured(100.0, batch_size=50, prefetch=2, pipelines=1)
    assert minimum_seconds([row], 4.0) == pytest.approx(4 + 3 * 6 * 0.5)
    double = measured(100.0, batch_size=50, prefetch=2, pipelines=2)
    assert minimum_seconds([row, double], 4.0) == pytest.approx(8 + 3 * (6 + 10) * 0.5)


OWN, FAST, OTHER = (Config(threads=threads) for threads in (1, 4, 2))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time, in its only element."""
    now = [0.0]
    time = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("workbench.bench.measuring.deadline.time", time)
    return now


def row(config: Config, rate: float = 10_000.0) -> Measurement:
    """Of eight rounds of a second each, the warm-up included."""
    return replace(measured(rate), config=config)


def test_without_a_time_there_is_time_for_all(clock: list[float]) -> None:
    time = TuningTime(None)
    time.count_probe(row(OWN), 10.0)
    clock[0] = 1e6
    assert not time.has_no_time_for_probes()
    assert time.probe_config(PROBE_CONFIG) is PROBE_CONFIG
    assert time.settings_to_compare([FAST, OTHER], OWN) == InterleavedSettings((FAST, OTHER), 1.0)
    assert time.interleaved_config(QUICK_CONFIG, 3, 1.0) is QUICK_CONFIG
    how = time.long_run_config(30.0)
    assert how is not None
    assert how.round_seconds == 30.0


def test_probes_end_at_their_share_or_where_a_comparison_would_find_no_room(
    clock: list[float],
) -> None:
    time = TuningTime(100.0)
    assert time.probe_config(PROBE_CONFIG).limit == pytest.approx(11.25), "a quarter of 45 s"
    time.count_probe(row(OWN), 10.0)  # 2 s until the first round
    time.count_probe(row(FAST), 9.0)
    for now, over in ((35.9, False), (36.1, True)):
        clock[0] = now
        assert time.has_no_time_for_probes() == over, "9 s before 45 s"


def test_probes_leave_room_to_compare_the_fastest_with_the_graphs_own(clock: list[float]) -> None:
    time = TuningTime(100.0)
    pair = row(FAST, 50.0), row(OWN, 35.0)
    time.count_probe(pair[1], 10.0)
    time.count_probe(pair[0], 9.0)
    room = 100.0 - minimum_seconds(pair, 2.0)
    assert 9.0 < room < 45.0, "before the search ends anyway"
    for now, over in ((room - 9.1, False), (room - 8.9, True), (room + 0.1, False)):
        clock[0] = now
        assert time.has_no_time_for_probes() == over, "none is left to leave: so all of the time is"


def test_the_second_probe_may_take_twice_as_long_as_the_first_without_its_start(
    clock: list[float],
) -> None:
    time = TuningTime(100.0)
    time.count_probe(row(OWN), 10.0)
    for now, over in ((83.9, False), (84.1, True)):
        clock[0] = now
        assert time.has_no_time_for_probes() == over, (
            "the first two have all of the time: 16 s of it"
        )


def test_where_the_time_is_short_fewer_are_compared_and_none_runs_for_long(
    clock: list[float],
) -> None:
    time = TuningTime(100.0)
    for config in (OWN, FAST, OTHER):
        time.count_probe(row(config), 10.0)  # interleaved: 2 s, and three rounds of 0.1 s
    expected = {70.0: ((FAST, OTHER), 0.8), 75.0: ((FAST,), 0.8), 90.0: ((FAST,), 1.0), 99.0: None}
    for now, turns in expected.items():
        clock[0] = now
        assert time.settings_to_compare([FAST, OTHER], OWN) == turns
    clock[0] = 80.0
    how = time.interleaved_config(QUICK_CONFIG, 2, 1.0)
    assert (how.rounds, how.budget, how.limit) == (3, 3.0, 10.0)
    long = time.long_run_config(60.0)
    assert long is not None
    assert (long.round_seconds, long.round_batches) == (15.0, 1)
    clock[0] = 90.0
    assert (long := time.long_run_config(60.0)) is not None
    assert long.round_seconds == pytest.approx(7.0), "10 s without a start and what leads in"
    clock[0] = 92.0
    assert time.long_run_config(60.0) is None


def test_the_choice_of_a_large_grid_runs_longer_up_to_a_minute_on_a_gpu() -> None:
    assert [long_seconds(count, "cpu") for count in (1, 24, 500)] == [6.0, 7.68, 10.0]
    assert long_seconds(500, "mixed") == 60.0
