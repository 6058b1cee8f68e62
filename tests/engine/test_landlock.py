"""What a thread may still write once Landlock has it. Each test restricts a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from workbench.engine.resources import landlock

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
