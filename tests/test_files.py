"""A file is written whole or not at all, also on a full disk."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.errors import SaveError
from workbench.files import write_bytes, write_text


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root may mount a small file system here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_text_and_bytes_arrive(tmp_path: Path) -> None:
    target = write_text(tmp_path / "ü.json", "é\n")
    assert target == tmp_path / "ü.json"
    assert target.read_bytes() == "é\n".encode()
    assert write_bytes(target, b"\x00\xff").read_bytes() == b"\x00\xff"
    assert list(tmp_path.iterdir()) == [target]
    assert target.stat().st_mode & 0o777 == 0o644


def test_relative_and_home_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert write_text("a.txt", "a") == tmp_path / "a.txt"
    assert write_text("~/b.txt", "b") == tmp_path / "b.txt"


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tiny_disk: Path) -> None:
    target = tiny_disk / "graph.json"
    write_text(target, "old")
    with pytest.raises(SaveError, match=rf"{target} was not written: No space left on device"):
        write_text(target, "x" * 200_000)
    assert target.read_text() == "old"
    assert list(tiny_disk.iterdir()) == [target]


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
def test_whatever_fails_the_old_file_stays(
    call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "graph.json"
    target.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(SaveError, match="No space left on device"):
        write_text(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_missing_folder_and_a_folder_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(SaveError, match="No such file or directory"):
        write_text(tmp_path / "missing" / "graph.json", "text")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SaveError, match="folder was not written"):
        write_text(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_text_that_utf8_cannot_hold_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "graph.json"
    target.write_text("old")
    with pytest.raises(SaveError, match="was not written"):
        write_text(target, "half a character: \ud800")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
