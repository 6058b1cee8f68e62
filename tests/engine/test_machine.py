from __future__ import annotations

import os
from dataclasses import replace

import pytest

from workbench.engine import describe_machine
from workbench.engine.machine import _gpu, usable_cores


def test_facts_of_this_machine() -> None:
    machine = describe_machine()
    assert machine.cpu
    assert machine.cores == len(os.sched_getaffinity(0))
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
    gpu, memory, driver, reason, count = _gpu()
    assert (gpu, memory, driver, count) == ("", 0.0, "", 0)
    assert "nvidia-ml-py" in reason


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    pynvml = pytest.importorskip("pynvml")

    def fail() -> None:
        raise pynvml.NVMLError(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)

    monkeypatch.setattr(pynvml, "nvmlInit", fail)
    assert "no NVIDIA GPU" in _gpu()[3]


def test_cores_are_those_that_this_process_may_use() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, before)
    assert usable_cores() == len(before)
