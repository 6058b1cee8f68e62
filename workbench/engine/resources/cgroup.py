"""What a container, or a service, may take of the machine: cgroup limits of versions 1 and 2.

Linux kernel documentation, admin-guide: cgroup-v2.rst (``cpu.max``, ``memory.max``) and cgroup-v1
(``cpu.cfs_quota_us``, ``memory.limit_in_bytes``). A limit of an outer group holds for inner ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def cpu_limit(root: Path = ROOT, own: Path = OWN) -> float | None:
    """Cores' worth of CPU time that this process may take, or None."""
    found = []
    for folder in _groups("cpu", root, own):
        quota, _, period = _text(folder / "cpu.max").partition(" ")
        if not quota:
            quota, period = _text(folder / "cpu.cfs_quota_us"), _text(folder / "cpu.cfs_period_us")
        if quota.isdigit() and period.isdigit() and int(period):  # "max" and -1 are no limit
            found.append(int(quota) / int(period))
    return min(found, default=None)


def memory_limit(root: Path = ROOT, own: Path = OWN) -> int | None:
    """Bytes of host memory that this process and its neighbours may take, or None.

    May lie above what the machine has: version 1 writes no limit as a very large one.
    """
    values = [
        _text(folder / name)
        for folder in _groups("memory", root, own)
        for name in ("memory.max", "memory.limit_in_bytes")
    ]
    return min((int(value) for value in values if value.isdigit()), default=None)


def _groups(controller: str, root: Path, own: Path) -> Iterator[Path]:
    """Folders of this process's group and of those around it, in each hierarchy.

    In a container the path is that of the host, of which the mount shows the end alone: folders
    that are not there are given too.
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
