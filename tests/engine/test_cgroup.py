"""Limits of a container, read from made-up trees of both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.engine.resources.machine import cpu_limit, memory_limit

GIB = 2**30


def tree(top: Path, own: str, files: dict[str, str]) -> dict[str, Path]:
    (top / "own").write_text(own)
    for name, text in files.items():
        path = top / "fs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return {"root": top / "fs", "own": top / "own"}


@pytest.mark.parametrize(
    ("own", "files", "cpus", "memory"),
    [
        ("0::/\n", {"cpu.max": "max 100000", "memory.max": "max"}, None, None),
        ("0::/\n", {"cpu.max": "150000 100000", "memory.max": str(2 * GIB)}, 1.5, 2 * GIB),
        (  # an outer limit holds too
            "0::/a/b\n",
            {"a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000", "a/memory.max": str(GIB)},
            2.0,
            GIB,
        ),
        ("0::/docker/of/the/host\n", {"cpu.max": "50000 100000"}, 0.5, None),
        (
            "9:memory:/a\n4:cpu,cpuacct:/a\n",
            {
                "cpu,cpuacct/a/cpu.cfs_quota_us": "300000",
                "cpu,cpuacct/a/cpu.cfs_period_us": "100000",
                "memory/a/memory.limit_in_bytes": str(GIB),
            },
            3.0,
            GIB,
        ),
        (
            "4:cpu,cpuacct:/\n",
            {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"},
            None,
            None,
        ),
        ("0::/\n", {"cpu.max": "surprise", "memory.max": "surprise"}, None, None),
    ],
    ids=["none", "v2", "v2 outer", "v2 container", "v1", "v1 none", "damaged"],
)
def test_limits(
    own: str, files: dict[str, str], cpus: float | None, memory: int | None, tmp_path: Path
) -> None:
    made = tree(tmp_path, own, files)
    assert (cpu_limit(**made), memory_limit(**made)) == (cpus, memory)


def test_a_system_without_groups(tmp_path: Path) -> None:
    nowhere = {"root": tmp_path, "own": tmp_path / "own"}
    assert (cpu_limit(**nowhere), memory_limit(**nowhere)) == (None, None)
