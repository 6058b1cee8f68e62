"""What this machine is: the facts that stand beside every figure."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version


@dataclass(frozen=True, slots=True)
class Machine:
    """CPU, GPU and versions. ``no_gpu`` says why there is none, and is empty where there is.

    ``gpu`` is the first of ``gpus``, which is 0 in records that did not count them.
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
        """The GPU, and how many of them: ``2 × NVIDIA H200``."""
        return f"{self.gpus} × {self.gpu}" if self.gpus > 1 else self.gpu


def usable_cores() -> int:
    """How many cores this process may run on: all, or those that a container or taskset gives."""
    return len(os.sched_getaffinity(0))


@cache
def describe_machine() -> Machine:
    """Facts about this machine. Starts nothing on the GPU (asks its driver's NVML)."""
    gpu, gpu_memory, driver, no_gpu, gpus = _gpu()
    return Machine(
        cpu=_cpu_name(),
        cores=usable_cores(),
        memory_gib=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        gpu=gpu,
        gpu_memory_gib=gpu_memory,
        driver=driver,
        no_gpu=no_gpu,
        dali=_version("nvidia-dali-cuda120"),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.release()}",
        gpus=gpus,
    )


def _gpu() -> tuple[str, float, str, str, int]:
    try:
        import pynvml
    except ImportError:
        return "", 0.0, "", "the package nvidia-ml-py, which finds GPUs, is not installed", 0
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return "", 0.0, "", "this machine has no NVIDIA GPU, or no driver for it", 0
    try:
        if (count := pynvml.nvmlDeviceGetCount()) == 0:
            return "", 0.0, "", "the NVIDIA driver finds no GPU", 0
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle).total / 2**30
        name = str(pynvml.nvmlDeviceGetName(handle))
        return name, round(memory, 1), str(pynvml.nvmlSystemGetDriverVersion()), "", count
    except pynvml.NVMLError as error:
        return "", 0.0, "", f"the NVIDIA driver answers: {error}", 0
    finally:
        pynvml.nvmlShutdown()


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
