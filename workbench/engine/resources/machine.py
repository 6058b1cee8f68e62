"""Determine the properties of this machine, and the cores and memory that may be used."""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from workbench.engine.resources.gpu import Gpu, cuda_uuids


@dataclass(frozen=True, slots=True)
class Machine:
    """CPU, GPU and software versions of a machine. ``no_gpu`` is the reason if there is no GPU.

    ``gpu`` is CUDA's device 0, and ``gpus`` is the number of GPUs that CUDA sees. ``gpus`` is 0 in
    records that are older than this field.
    """

    cpu: str
    cores: int
    memory_gib: float
    gpu: str
    gpu_memory_gib: float
    driver: str
    no_gpu: str
    dali: str
    python: str
    system: str
    gpus: int = 0

    @property
    def gpu_name(self) -> str:
        """Number and name of the GPUs, such as ``2 × NVIDIA H200``."""
        return f"{self.gpus} × {self.gpu}" if self.gpus > 1 else self.gpu


def usable_cores() -> int:
    """Return the number of cores that this process may use, which a container or taskset may limit.

    A quota of 1.5 cores is rounded up to 2.
    """
    cores, limit = len(os.sched_getaffinity(0)), cpu_limit()
    return cores if limit is None else min(cores, max(1, math.ceil(limit)))


def usable_memory() -> int:
    """Return the host memory in bytes that this process may use, which a container may limit."""
    total, limit = int(psutil.virtual_memory().total), memory_limit()
    return total if limit is None else min(total, limit)


@cache
def describe_machine() -> Machine:
    """Return the properties of this machine. Nothing is started on the GPU."""
    uuids = cuda_uuids()
    gpu = Gpu(uuids[0] if uuids else None)
    seen = gpu.name is not None
    return Machine(
        cpu=_cpu_name(),
        cores=usable_cores(),
        memory_gib=round(usable_memory() / 2**30, 1),
        gpu=gpu.name or "",
        gpu_memory_gib=round((gpu.memory_total or 0) / 2**30, 1),
        driver=gpu.driver or "",
        no_gpu="" if seen else _no_gpu(),
        dali=_version("nvidia-dali-cuda120"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()}",
        gpus=len(uuids) if seen else 0,
    )


def _no_gpu() -> str:
    try:
        import pynvml
    except ImportError:
        return "the package nvidia-ml-py, which finds GPUs, is not installed"
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return "this machine has no NVIDIA GPU, or no driver for it"
    try:
        if pynvml.nvmlDeviceGetCount() == 0:
            return "the NVIDIA driver finds no GPU"
    except pynvml.NVMLError as error:
        return f"the NVIDIA driver reports: {error}"
    finally:
        pynvml.nvmlShutdown()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return "CUDA sees none of the GPUs that the NVIDIA driver finds"
    return f"CUDA_VISIBLE_DEVICES is {visible!r}, which contains none of the GPUs of this machine"


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed as a package"


# Resource limits of a container or service: cgroups of versions 1 and 2.
#
# Linux kernel documentation, admin-guide: cgroup-v2.rst (``cpu.max``, ``memory.max``) and cgroup-v1
# (``cpu.cfs_quota_us``, ``memory.limit_in_bytes``). Limits of an outer group apply to inner ones.

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def cpu_limit(root: Path = ROOT, own: Path = OWN) -> float | None:
    """Return the CPU quota of this process's cgroup in cores, or None without a limit."""
    found = []
    for folder in _groups("cpu", root, own):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        if not quota:
            quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period):  # "max" and -1 are no limit
            found.append(int(quota) / int(period))
    return min(found, default=None)


def memory_limit(root: Path = ROOT, own: Path = OWN) -> int | None:
    """Return the memory limit of this process's cgroup in bytes, or None without a limit.

    The result may exceed the machine's memory: cgroup version 1 represents no limit as a large
    number.
    """
    values = [
        _text(folder / name)
        for folder in _groups("memory", root, own)
        for name in ("memory.max", "memory.limit_in_bytes")
    ]
    return min((int(value) for value in values if value.isdigit()), default=None)


def _groups(controller: str, root: Path, own: Path) -> Iterator[Path]:
    """Yield the folders of this process's cgroup and of its ancestors, in each hierarchy.

    In a container the kernel reports the path on the host, so some of the folders may not exist.
    """
    for line in _text(own).splitlines():
        number, controllers, path = line.split(":", 2)
        inner = Path(path.lstrip("/"))
        if number == "0" and not controllers:
            tops = [root, root / "unified"]
        elif controller in controllers.split(","):
            tops = [root / controllers, root / controller]
        else:
            continue
        for top in tops:
            yield from (top / part for part in (inner, *inner.parents))


def _text(path: Path) -> str:
    with suppress(OSError, UnicodeDecodeError):
        return path.read_text(encoding="utf-8").strip()
    return ""
