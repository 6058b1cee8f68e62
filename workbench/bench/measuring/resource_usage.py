"""What a measurement takes of the machine, and what something else takes meanwhile.

What psutil has not got, the peak of a process and the time of a core by its number, comes from
``/proc`` (proc(5)). What cannot be told is None, which is written as "not measured".
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import psutil

_TICKS = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """Process ids of the children of a process, and of theirs."""
    with suppress(psutil.NoSuchProcess):
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    return []


def cpu_seconds(children: list[int]) -> float:
    """CPU time of this process, all its threads included, and of some other processes."""
    return time.process_time() + sum(map(_process_seconds, children))


def _process_seconds(pid: int) -> float:
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return float(times.user + times.system)
    return 0.0


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


def forget_peak() -> None:
    """Let ``peak_host_bytes`` of this process begin anew from what it occupies now (proc(5))."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
