"""What a measurement takes of the machine, and what something else takes meanwhile.

Host figures come from ``/proc`` (proc(5)), GPU figures from the driver's NVML. What cannot be told
is None, which is written as "not measured".
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Process ids of the children of a process, and of theirs."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        parent = waiting.pop()
        for task in _tasks(parent):
            with suppress(OSError):
                text = Path(f"/proc/{parent}/task/{task}/children").read_text(encoding="ascii")
                children = [int(child) for child in text.split()]
                found += children
                waiting += children
    return found


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def cpu_seconds(children: list[int]) -> float:
    """CPU time of this process, all its threads included, and of some other processes."""
    return time.process_time() + sum(map(_process_seconds, children))


def _process_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float | None:
    """CPU time that all processes, and other guests of the host, took of the cores of this one."""
    usable = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    ticks = 0
    try:
        for line in Path("/proc/stat").read_text(encoding="ascii").splitlines():
            name, *fields = line.split()
            if name in usable:  # user, nice, system, (idle, iowait), irq, softirq, steal
                values = [int(field) for field in fields[:8]]
                ticks += sum(values[:3]) + sum(values[5:8])
    except (OSError, ValueError):
        return None
    return ticks / _TICKS


def peak_host_bytes(children: list[int]) -> int:
    """The most host memory that this process, and some others, have occupied (VmHWM)."""
    return sum(_high_water(pid) for pid in [os.getpid(), *children])


def _high_water(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


@dataclass(frozen=True, slots=True)
class GpuUse:
    """Percent of the last sample period, 1/6 s to 1 s, in which units of the GPU worked (NVML)."""

    gpu: int | None = None
    jpeg: int | None = None
    """The JPEG engines; None where the GPU has none or the driver does not tell."""


class Gpu:
    """One GPU as NVML sees it; every answer is None where there is none."""

    def __init__(self, index: int = 0) -> None:
        """``index`` as the driver counts, before CUDA_VISIBLE_DEVICES."""
        self._nvml: Any = None
        with suppress(Exception):  # no package, no driver, no such GPU: nothing can be told
            import pynvml

            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            self._nvml = pynvml

    def memory_used(self) -> int | None:
        """Bytes taken on the GPU, by whomever."""
        found: int | None = self._ask(
            lambda nvml: int(nvml.nvmlDeviceGetMemoryInfo(self._handle).used)
        )
        return found

    def memory_of(self, pid: int) -> int | None:
        """Bytes that one process has on the GPU."""

        def ask(nvml: Any) -> int | None:
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(self._handle):
                if process.pid == pid and process.usedGpuMemory is not None:
                    return int(process.usedGpuMemory)
            return None

        found: int | None = self._ask(ask)
        return found

    def use(self) -> GpuUse:
        """How busy its units were just now."""
        return GpuUse(
            self._ask(lambda nvml: int(nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu)),
            self._ask(lambda nvml: int(nvml.nvmlDeviceGetJpgUtilization(self._handle)[0])),
        )

    def _ask(self, question: Any) -> Any:
        if self._nvml is None:
            return None
        try:
            return question(self._nvml)
        except self._nvml.NVMLError:
            return None


def visible_gpu(environment: Mapping[str, str] = os.environ) -> int:
    """The driver's number of the GPU that CUDA calls 0 in a process of this environment."""
    first = environment.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0].strip()
    return int(first) if first.isdigit() else 0
