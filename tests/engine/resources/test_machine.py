"""What the machine has, and what a process may use and write."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.engine import describe_machine
from workbench.engine.resources import landlock
from workbench.engine.resources.machine import (
    _no_gpu,
    cpu_limit,
    memory_limit,
    usable_cores,
    usable_memory,
)
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


# Limits of a container, read from made-up trees of both versions.

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


# What a thread may still write once Landlock has it. Each test restricts a process of its own.

_TRIED = """
import ctypes, os, subprocess, sys
from workbench.engine.resources.landlock import restrict_writing
if not restrict_writing([sys.argv[1], "/dev", "/no/such/folder"]):
    sys.exit(77)
libc = ctypes.CDLL(None)
for folder in sys.argv[1:]:
    made = libc.fopen(os.fsencode(f"{folder}/of_c"), b"w")  # no audit hook sees it
    ended = subprocess.run(["touch", f"{folder}/of_another_program"], stderr=subprocess.DEVNULL)
    print(bool(made), ended.returncode == 0, libc.unlink(os.fsencode(f"{folder}/there")) == 0)
print(open(f"{folder}/there").read(), open(os.devnull, "w").write("read, and thrown away"))
"""


def test_it_writes_below_the_folders_alone(tmp_path: Path) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "there").write_text("kept")
    ran = subprocess.run(
        [sys.executable, "-c", _TRIED, own, other], capture_output=True, text=True, check=False
    )
    if ran.returncode == 77:
        pytest.skip("this kernel has no Landlock")
    assert ran.stdout.splitlines() == ["True True True", "False False False", "kept 21"], ran.stderr
    assert [each.name for each in other.iterdir()] == ["there"]


def test_a_kernel_without_it_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landlock, "_CREATE_RULESET", 9_999)  # no such system call
    assert not landlock.restrict_writing([])
