"""Query the GPU that CUDA, and therefore DALI, uses as device 0, with the driver's NVML.

CUDA filters and reorders GPUs by CUDA_VISIBLE_DEVICES (numbers, UUIDs or MIG instances) and lists
the fastest first. NVML lists all GPUs in the order of the PCI bus. Both report the UUID.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

_ORDERED_BY = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
_PROGRAM = Path(__file__).with_name("cuda_devices.py")
_LIMIT = 60.0
"""Timeout for starting the driver, in seconds. It usually takes 0.3 s, but much longer with eight
GPUs without persistence mode.
"""
_WORD = 64
"""Number of bits per word of NVML's core masks."""
GPU_SHARED = "other processes use the GPU"
_IDLE = 5
"""Utilisation in percent below which a GPU is considered idle."""
T = TypeVar("T")


def cuda_uuids(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Return the UUIDs of the GPUs that CUDA sees in a process with this environment, in order.

    They do not have NVML's prefix (``GPU-``, ``MIG-``). The result is empty if there are no GPUs.
    """
    return _query_cuda(tuple(environment.get(name) for name in _ORDERED_BY))


@cache
def _query_cuda(settings: tuple[str | None, ...]) -> tuple[str, ...]:
    try:
        ctypes.CDLL("libcuda.so.1")  # loading it starts nothing
    except OSError:
        return ()
    environment = {k: v for k, v in os.environ.items() if k not in _ORDERED_BY}
    chosen = zip(_ORDERED_BY, settings, strict=True)
    environment |= {name: value for name, value in chosen if value is not None}
    try:
        return tuple(
            subprocess.run(
                [sys.executable, "-S", "-P", str(_PROGRAM)],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
                timeout=_LIMIT,
            ).stdout.split()
        )
    except (OSError, subprocess.SubprocessError):
        return ()


@dataclass(frozen=True, slots=True)
class GpuUse:
    """Utilisation of a GPU's units in percent, over NVML's last sampling period of 1/6 s to 1 s."""

    gpu: int | None = None
    jpeg: int | None = None
    """Utilisation of the JPEG engines, or None if there are none or the driver hides it."""
    bus: int | None = None
    """Transfer rate to the GPU over 20 ms, in percent of the maximum of its current link."""


class Gpu:
    """One GPU or MIG instance, queried with NVML. Without a GPU, all results are None."""

    def __init__(self, uuid: str | None) -> None:
        """``uuid`` is as returned by ``cuda_uuids``."""
        self._nvml: Any = None
        if uuid is None:
            return
        with suppress(Exception):  # no package, driver or GPU: nothing is known
            import pynvml

            pynvml.nvmlInit()
            self._handle, self._board = _handles(pynvml, uuid)
            self._nvml = pynvml

    @property
    def name(self) -> str | None:
        """Name reported by the driver, for example ``NVIDIA H200``."""
        return self._query(lambda nvml: str(nvml.nvmlDeviceGetName(self._handle)))

    @property
    def memory_total(self) -> int | None:
        """Size of the GPU's memory in bytes, or of the MIG instance's share of it."""
        return self._query(lambda nvml: int(nvml.nvmlDeviceGetMemoryInfo(self._handle).total))

    @property
    def driver(self) -> str | None:
        return self._query(lambda nvml: str(nvml.nvmlSystemGetDriverVersion()))

    def memory_used(self) -> int | None:
        """Return the number of bytes that all processes use on the GPU."""
        return self._query(lambda nvml: int(nvml.nvmlDeviceGetMemoryInfo(self._handle).used))

    def memory_of(self, pid: int) -> int | None:
        """Return the number of bytes that one process uses on the GPU."""

        def ask(nvml: Any) -> int | None:
            for process in nvml.nvmlDeviceGetComputeRunningProcesses(self._handle):
                if process.pid == pid and process.usedGpuMemory is not None:
                    return int(process.usedGpuMemory)
            return None

        return self._query(ask)

    def use(self) -> GpuUse:
        """Return the GPU's current utilisation. A MIG instance reports that of the whole GPU."""
        return GpuUse(
            self._query(lambda nvml: int(nvml.nvmlDeviceGetUtilizationRates(self._board).gpu)),
            self._query(lambda nvml: int(nvml.nvmlDeviceGetJpgUtilization(self._board)[0])),
            self._query(self._bus_use),
        )

    def near_cores(self) -> frozenset[int]:
        """Return the indices of the CPU cores next to the GPU, usually the cores of one socket.

        The result is empty if the driver does not report them.
        """
        words = -(-(os.cpu_count() or 1) // _WORD)
        masks = self._query(lambda nvml: list(nvml.nvmlDeviceGetCpuAffinity(self._board, words)))
        return frozenset(
            place * _WORD + bit
            for place, mask in enumerate(masks or ())
            for bit in range(_WORD)
            if mask >> bit & 1
        )

    def _bus_use(self, nvml: Any) -> int | None:
        kilobytes = nvml.nvmlDeviceGetPcieThroughput(self._board, nvml.NVML_PCIE_UTIL_RX_BYTES)
        lane = nvml.nvmlDeviceGetPcieSpeed(self._board)  # in Mbit/s
        most = lane * nvml.nvmlDeviceGetCurrPcieLinkWidth(self._board) / 8 * 1000
        return round(100 * kilobytes / most) if most else None

    def _query(self, question: Callable[[Any], T | None]) -> T | None:
        if self._nvml is None:
            return None
        try:
            return question(self._nvml)
        except self._nvml.NVMLError:
            return None


def shared_gpu_text(gpu: Gpu) -> str:
    """Return how other processes use a GPU before a measurement, or "" if idle or unknown.

    Used memory is mentioned only above a tenth of the total, because a preview needs some memory.
    """
    use, used, total = gpu.use(), gpu.memory_used(), gpu.memory_total
    busy = max(use.gpu or 0, use.jpeg or 0)
    words = [f"it was {busy} % busy"] * (busy >= _IDLE)
    if used and total and used > total / 10:
        words.append(f"{used / 2**30:.0f} of its {total / 2**30:.0f} GiB were in use")
    if not words:
        return ""
    return (
        f"{GPU_SHARED}: {' and '.join(words)} before the measurement. "
        "Results are lower than on an exclusive GPU, and settings that need its memory "
        "may fail"
    )


def first_visible_gpu(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the UUID of CUDA's device 0 in a process with this environment, or None."""
    return next(iter(cuda_uuids(environment)), None)


def _handles(nvml: Any, uuid: str) -> tuple[Any, Any]:
    """Return NVML's handles for a GPU and for its board. They differ for a MIG instance."""
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid}")
    except nvml.NVMLError:
        handle = nvml.nvmlDeviceGetHandleByUUID(f"MIG-{uuid}")
        return handle, nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(handle)
    return handle, handle
