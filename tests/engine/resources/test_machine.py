from __future__ import annotations

import os
from dataclasses import replace

import pytest

from workbench.engine import describe_machine
from workbench.engine.resources.machine import _no_gpu, usable_cores, usable_memory
from workbench.engine.resources.process_memory import default_budget


def test_facts_of_this_machine() -> None:
    machine = describe_machine()
    assert machine.cpu
    assert machine.cores == usable_cores()
    assert machine.memory_gib > 0.5
    assert machine.dali.startswith("2.")
    assert machine.system.startswith("Linux")
    assert bool(machine.gpu) != bool(machine.no_gpu)
    assert bool(machine.gpus) == bool(machine.gpu)


def test_several_gpus_are_counted() -> None:
    one = replace(describe_machine(), gpu="NVIDIA H200", gpus=1)
    assert one.gpu_name == "NVIDIA H200"
    assert replace(one, gpus=2).gpu_name == "2 × NVIDIA H200"
    assert replace(one, gpus=0).gpu_name == "NVIDIA H200", "of a record that did not count them"


def test_without_the_package_that_finds_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pynvml", None)
    assert "nvidia-ml-py" in _no_gpu()


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    pynvml = pytest.importorskip("pynvml")

    def fail() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    assert "no NVIDIA GPU" in _no_gpu()


@pytest.mark.parametrize(("quota", "cores"), [(None, 8), (0.2, 1), (1.5, 2), (64.0, 8)])
def test_a_quota_counts_as_cores(
    quota: float | None, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr("workbench.engine.resources.machine.cpu_limit", lambda: quota)
    assert usable_cores() == cores


def test_a_limit_counts_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.engine.resources.machine.memory_limit", lambda: 2**63)
    machine = usable_memory()
    monkeypatch.setattr("workbench.engine.resources.machine.memory_limit", lambda: 3 * 2**20)
    assert usable_memory() == 3 * 2**20 < machine
    describe_machine.cache_clear()
    try:
        assert default_budget()["cpu"] <= 3 * 2**17, "an eighth"
    finally:
        describe_machine.cache_clear()


def test_cores_are_those_that_this_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.engine.resources.machine.cpu_limit", lambda: None)
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert usable_cores() == len(before)
