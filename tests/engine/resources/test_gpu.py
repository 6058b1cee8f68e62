"""Which GPU is queried on a machine whose CUDA and NVML indices differ."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from workbench.engine.resources import gpu as module
from workbench.engine.resources.gpu import (
    Gpu,
    GpuUse,
    cuda_uuids,
    first_visible_gpu,
    shared_gpu_text,
)
from workbench.engine.resources.machine import describe_machine

MEMORY = {"GPU-slow": 16, "GPU-fast": 80, "MIG-part": 10}
"""In NVML's order, by PCI bus, and an instance of the slow one; GiB."""
BUSY = {"GPU-slow": 5, "GPU-fast": 95}


class FakeError(Exception):
    pass


def by_uuid(uuid: str) -> str:
    if uuid not in MEMORY:
        raise FakeError
    return uuid


def utilization(handle: str) -> SimpleNamespace:
    if handle not in BUSY:
        raise FakeError  # as of a MIG instance
    return SimpleNamespace(gpu=BUSY[handle])


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> Any:
    nvml: dict[str, Any] = {
        "NVMLError": FakeError,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 2,
        "nvmlDeviceGetHandleByIndex": list(MEMORY).__getitem__,
        "nvmlDeviceGetHandleByUUID": by_uuid,
        "nvmlDeviceGetDeviceHandleFromMigDeviceHandle": lambda _: "GPU-slow",
        "nvmlDeviceGetName": lambda handle: handle,
        "nvmlSystemGetDriverVersion": lambda: "580",
        "nvmlDeviceGetMemoryInfo": lambda h: SimpleNamespace(total=MEMORY[h] * 2**30, used=7),
        "nvmlDeviceGetComputeRunningProcesses": lambda h: [
            SimpleNamespace(pid=1, usedGpuMemory=MEMORY[h])
        ],
        "nvmlDeviceGetUtilizationRates": utilization,
        "nvmlDeviceGetJpgUtilization": lambda _: (3, 100),
        "NVML_PCIE_UTIL_RX_BYTES": 1,
        "nvmlDeviceGetPcieThroughput": lambda _, counter: 16_000_000 * counter,  # kB/s
        "nvmlDeviceGetPcieSpeed": lambda _: 32_000,  # Mbit/s a lane: generation 5
        "nvmlDeviceGetCurrPcieLinkWidth": lambda _: 16,
        "nvmlDeviceGetCpuAffinity": lambda _, words: [0b1011, 0b1, *[0] * (words - 2)],
    }
    monkeypatch.setitem(sys.modules, "pynvml", SimpleNamespace(**nvml))
    describe_machine.cache_clear()
    yield
    describe_machine.cache_clear()


def cuda(settings: tuple[str | None, ...]) -> tuple[str, ...]:
    """As CUDA on that machine answers."""
    visible, order = settings
    every = ("slow", "fast") if order == "PCI_BUS_ID" else ("fast", "slow")
    if visible is None:
        return every
    named = {"0": every[0], "1": every[1], "GPU-slow": "slow", "MIG-part": "part"}
    return tuple(named[one] for one in visible.split(",") if one in named)


@pytest.mark.parametrize(
    ("environment", "name", "gib", "gpus"),
    [
        ({}, "GPU-fast", 80, 2),
        ({"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, "GPU-slow", 16, 2),
        ({"CUDA_VISIBLE_DEVICES": "1"}, "GPU-slow", 16, 1),
        ({"CUDA_VISIBLE_DEVICES": "GPU-slow,0"}, "GPU-slow", 16, 2),
        ({"CUDA_VISIBLE_DEVICES": "MIG-part"}, "MIG-part", 10, 1),
    ],
)
def test_the_facts_are_those_of_the_gpu_that_cuda_uses(
    environment: dict[str, str], name: str, gib: int, gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_query_cuda", cuda)
    for variable in ("CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    found = describe_machine()
    assert (found.gpu, found.gpu_memory_gib, found.gpus, found.no_gpu) == (name, gib, gpus, "")
    assert Gpu(first_visible_gpu()).memory_of(1) == gib
    assert Gpu(first_visible_gpu(environment)).memory_of(2) is None


def test_how_busy_a_part_is_is_told_of_the_whole() -> None:
    assert Gpu("part").use() == GpuUse(5, 3, 25)
    assert Gpu("fast").use() == GpuUse(95, 3, 25)


def test_the_cores_near_a_gpu_are_bits_of_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 96)
    assert Gpu("fast").near_cores() == {0, 1, 3, 64}
    assert Gpu(None).near_cores() == frozenset()


def test_all_gpus_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_query_cuda", cuda)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-elsewhere")
    found = describe_machine()
    assert (found.gpu, found.gpus) == ("", 0)
    assert "'GPU-elsewhere', which contains none of the GPUs" in found.no_gpu


def test_a_gpu_that_is_not_there_tells_nothing() -> None:
    for gpu in (Gpu(None), Gpu("other")):
        assert (gpu.name, gpu.memory_used(), gpu.memory_of(1), gpu.use()) == (
            None, None, None, GpuUse(),
        )  # fmt: skip


@pytest.mark.gpu
def test_cuda_is_asked_for_real(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pynvml")
    import pynvml

    pynvml.nvmlInit()
    known = {
        pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByIndex(number))
        for number in range(pynvml.nvmlDeviceGetCount())
    }
    seen = cuda_uuids({})
    assert {f"GPU-{uuid}" for uuid in seen} <= known
    assert cuda_uuids({"CUDA_VISIBLE_DEVICES": f"GPU-{seen[-1]}"}) == seen[-1:]
    assert cuda_uuids({"CUDA_VISIBLE_DEVICES": ""}) == ()
    assert Gpu(seen[0]).memory_total


@pytest.mark.parametrize(
    ("use", "used", "words"),
    [
        (GpuUse(2, 0), 2 * 2**30, ""),
        (GpuUse(83, None), 2 * 2**30, "other processes use the GPU: it was 83 % busy before"),
        (GpuUse(0, 40), 100 * 2**30, "it was 40 % busy and 100 of its 140 GiB were in use"),
        (GpuUse(None, None), None, ""),
    ],
)
def test_that_others_use_a_gpu_is_told(use: GpuUse, used: int | None, words: str) -> None:
    class Other(Gpu):
        memory_total = 140 * 2**30  # type: ignore[assignment]

        def use(self) -> GpuUse:
            return use

        def memory_used(self) -> int | None:
            return used

    found = shared_gpu_text(Other(None))
    assert words in found
    assert bool(found) is bool(words)
