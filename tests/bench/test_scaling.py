"""Curves, shards and cores; two processes for real."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench.fakes import measured, prepared, rounds
from tests.helpers import with_settings
from workbench.bench.experiments.scaling import (
    Affinity,
    GpuScalingExperiment,
    ProcessScalingExperiment,
    ThreadScalingExperiment,
    _core_position,
    cores_near_gpus,
    split_cores,
)
from workbench.bench.measuring.config import Config
from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.measurement_config import MeasurementConfig
from workbench.bench.measuring.worker_group import merge_rounds
from workbench.bench.measuring.workload import ScriptJob
from workbench.bench.records.charts import scaling_series
from workbench.catalog import Catalog, load_catalog
from workbench.engine.resources.gpu import Gpu, cuda_uuids
from workbench.engine.resources.machine import describe_machine
from workbench.errors import ArgumentError, EngineError
from workbench.graph import Graph, load_recipe

SHORT = MeasurementConfig(0.05, 2, 2, warm_up_rounds=2, budget=0.0)


@pytest.fixture
def graph() -> Graph:
    return with_settings(load_recipe("imagenet-train"), batch_size=4, num_threads=1)


def test_efficiency_is_over_the_first_point() -> None:
    rows = [measured(129_700, workers=4), measured(38_800, workers=1), measured(75_300, workers=2)]
    (found,) = scaling_series([*rows, Measurement(Config(workers=8), reason="no")], "workers")
    assert [point.count for point in found] == [1, 2, 4, 8]
    assert [round(point.speedup, 2) for point in found] == [1.0, 1.94, 3.34, 0.0]
    assert found[2].efficiency == pytest.approx(0.836, abs=0.001)
    assert scaling_series([], "threads") == []


def test_rounds_at_the_same_time_add_up() -> None:
    (one,), (two,) = rounds(100, others=1.5), rounds(300, others=1.6)
    found = merge_rounds([one, replace(two, seconds=2.0, samples=600)], overlapping=True)
    assert found.imgs_per_s == pytest.approx(400, rel=0.01)
    assert found.others == pytest.approx(0.425, abs=0.01), "neighbours are no strangers"
    assert merge_rounds([one, two], overlapping=False).others == pytest.approx(3.1)
    assert merge_rounds(rounds(1, 2, others=None), overlapping=True).others is None


def test_cores_are_shared_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(
        "workbench.bench.experiments.scaling._core_position", lambda core: (0, core, core)
    )
    assert split_cores(2) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert split_cores(3) == ((0, 1), (2, 3), (4, 5))
    assert len(split_cores(16)) == 16
    assert all(split_cores(16))


def test_threads_of_one_physical_core_stay_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for core in range(4):
        topology = tmp_path / f"cpu{core}" / "topology"
        topology.mkdir(parents=True)
        (topology / "physical_package_id").write_text("0\n")
        (topology / "core_id").write_text(f"{core % 2}\n")
    places = {core: _core_position(core, str(tmp_path)) for core in range(4)}
    assert places[3] == (0, 1, 3)
    assert _core_position(9, str(tmp_path)) == (0, 9, 9), "where Linux does not tell"
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    monkeypatch.setattr("workbench.bench.experiments.scaling._core_position", places.__getitem__)
    assert split_cores(2) == ((0, 2), (1, 3))
    assert split_cores(2, {0, 1, 2}) == ((0,), (2,)), "a GPU interrupts core 3"


def test_each_gpu_has_cores_near_it_where_the_driver_tells() -> None:
    shares = ((0, 1), (2, 3), (4, 5), (6, 7))
    low, high = frozenset(range(4)), frozenset(range(4, 8))
    assert cores_near_gpus(shares, [high, low, high, low]) == ((4, 5), (0, 1), (6, 7), (2, 3))
    assert cores_near_gpus(shares, [high] * 4) == ((4, 5), (6, 7), (0, 1), (2, 3)), (
        "a share for each"
    )
    assert cores_near_gpus(shares, [frozenset()] * 4) == shares
    assert cores_near_gpus(shares[:1], []) == shares[:1]


@pytest.mark.thorough
@pytest.mark.parametrize("affinity", ["none", "split"])
def test_processes_of_pipelines_for_real(affinity: Affinity, graph: Graph, photos: Path) -> None:
    run = ProcessScalingExperiment(
        graph, str(photos), (1, 2), (1, 2), affinity=affinity, measurement_config=SHORT
    )
    report = run.run()
    assert [row.reason for row in report.measurements] == [""] * 4
    assert [row.name for row in report.measurements] == [
        "1 process of 1 pipeline",
        "2 processes of 1 pipeline",
        "1 process of 2 pipelines",
        "2 processes of 2 pipelines",
    ]
    found = scaling_series(report.measurements, "workers")
    counts = [[(point.count, point.row.config.pipelines) for point in same] for same in found]
    assert counts == [[(1, 1), (2, 1)], [(1, 2), (2, 2)]]
    assert [same[0].speedup for same in found] == [1.0, 1.0]


def test_a_machine_without_a_gpu_counts_none(
    graph: Graph, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = replace(describe_machine(), no_gpu="this machine has no NVIDIA GPU")
    monkeypatch.setattr("workbench.bench.experiments.scaling.describe_machine", lambda: without)
    with pytest.raises(EngineError, match=r"across GPUs cannot be measured: .*\(--processes 1,2\)"):
        GpuScalingExperiment(graph, str(photos), (1, 2)).run()


def test_too_few_gpus_are_a_reason(
    graph: Graph, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = replace(describe_machine(), no_gpu="")
    monkeypatch.setattr("workbench.bench.experiments.scaling.describe_machine", lambda: there)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.unmeasurable_reason", lambda *_: ""
    )
    monkeypatch.setattr("workbench.bench.experiments.scaling.cuda_uuids", lambda: ("a",))
    monkeypatch.setattr(GpuScalingExperiment, "measure", lambda *_: ())
    (row,) = GpuScalingExperiment(graph, str(photos), (2,)).run().measurements
    assert row.reason == "not measured: this machine has 1 GPU"


def test_a_source_that_reads_no_shard_is_named(
    graph: Graph, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = load_catalog()
    reader = graph.sources[0].op
    args = {name: arg for name, arg in whole[reader].args.items() if name != "num_shards"}
    ops = {**whole, reader: replace(whole[reader], args=args)}
    catalog = Catalog(ops, whole.dali_version)
    monkeypatch.setattr(
        "workbench.bench.experiments.speed_experiment.load_catalog", lambda: catalog
    )
    with pytest.raises(EngineError, match=r"reader: .* cannot read a part of its data"):
        ProcessScalingExperiment(graph, str(photos), (1, 2), measurement_config=SHORT).run()


def test_too_many_threads_are_refused_before_any_work(graph: Graph, photos: Path) -> None:
    with pytest.raises(ArgumentError, match="num_threads is 2000"):
        ThreadScalingExperiment(graph, str(photos), (1, 2000), measurement_config=SHORT).run()


def test_threads_for_real(graph: Graph, photos: Path) -> None:
    report = ThreadScalingExperiment(graph, str(photos), (1, 2), measurement_config=SHORT).run()
    assert [row.threads for row in report.measurements] == [1, 2]
    assert all(row.median for row in report.measurements)


@pytest.mark.gpu
def test_a_gpu_for_real(graph: Graph, photos: Path) -> None:
    report = GpuScalingExperiment(graph, str(photos), (1,), (1, 2), measurement_config=SHORT).run()
    assert all(row.median for row in report.measurements)


@pytest.mark.gpu
def test_each_of_two_gpus_has_the_cores_near_it(graph: Graph, photos: Path) -> None:
    gpus = [Gpu(uuid) for uuid in cuda_uuids()[:2]]
    if len(gpus) < 2:
        pytest.skip("one GPU")
    run = GpuScalingExperiment(
        graph, str(photos), (1, 2), (2,), affinity="split", measurement_config=SHORT
    )
    cores = run.cores(2)
    assert not {*cores[0]} & {*cores[1]}

    def near(shares: Sequence[tuple[int, ...]]) -> int:
        return sum(len({*s} & gpu.near_cores()) for s, gpu in zip(shares, gpus, strict=True))

    assert near(cores) >= near(cores[::-1])
    assert all(row.median for row in run.run().measurements)


def test_each_process_has_a_gpu_and_a_shard_of_its_own(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.bench.experiments.scaling.cuda_uuids", lambda: ("b", "a", "c"))
    monkeypatch.setattr(
        "workbench.bench.experiments.scaling.cores_without_interrupts", lambda: {*range(1, 31)}
    )
    run = GpuScalingExperiment(graph, "photos", (2,), affinity="split")
    run.prepared = prepared()
    entry = run.sharded_entry(replace(run.base, workers=2))
    assert [one["CUDA_VISIBLE_DEVICES"] for one in entry.environments] == ["GPU-b", "GPU-a"]
    assert [len(cores) for cores in entry.cores] == [15, 15]
    assert {core for cores in entry.cores for core in cores} == {*range(1, 31)}, "two interrupted"
    for shard, job in enumerate(entry.jobs):
        assert isinstance(job, ScriptJob)
        assert job.device == "mixed"
        assert f"shard_id={shard}" in job.source.text
        assert "num_shards=2" in job.source.text


def test_pipelines_of_a_process_divide_its_shard(graph: Graph) -> None:
    run = ProcessScalingExperiment(graph, "photos", (2,), (1, 2))
    config = replace(run.base, workers=2, pipelines=2)
    run.prepared = prepared(files=10)
    entry = run.sharded_entry(config)
    assert entry.label == "2 processes of 2 pipelines"
    assert (entry.environments, entry.cores) == ((), ())
    for shard, job in enumerate(entry.jobs):
        assert isinstance(job, ScriptJob)
        assert f"shard_id={shard} * num_shards + shard_id" in job.source.text
        assert "num_shards=2 * num_shards" in job.source.text
    assert entry.notes == (
        "10 files, fewer than 2 processes times 2 pipelines times a batch of 4: every batch is "
        "padded, and padding is not counted",
    )
