"""A full disk and a lack of memory are told as what they are."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest

from workbench.engine.protocol.worker_process import WorkerProcess
from workbench.errors import EngineError
from workbench.system_limits import describe_refusal, is_full, is_memory_refusal, memory_remedy


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "there is no space left in /x"),
        (errno.EFBIG, "ulimit -f"),
        (errno.ENOMEM, "the memory does not suffice"),
        (errno.EAGAIN, "ulimit -u"),
        (errno.EMFILE, "ulimit -n"),
    ],
)
def test_each_says_what_to_do(number: int, words: str) -> None:
    assert words in describe_refusal(OSError(number, os.strerror(number), "/x"))


def test_a_full_disk_as_tempfile_tells_it() -> None:
    error = FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']")
    assert "no space for temporary files" in describe_refusal(error)


def test_other_errors_are_not_the_systems() -> None:
    error = FileNotFoundError(errno.ENOENT, "No such file")
    assert describe_refusal(error) == ""
    assert not is_full(error)
    assert not is_memory_refusal(error)


def test_a_limit_of_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (2**30, 2**30))
    assert "allows 1.0 GiB of address space" in memory_remedy()
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert "ulimit" not in memory_remedy()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        ImportError("libx.so: failed to map segment from shared object"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        RuntimeError("can't start new thread"),
    ],
)
def test_what_is_a_lack_of_memory(error: BaseException) -> None:
    assert is_memory_refusal(error)


def test_a_worker_without_a_socket_says_so_and_leaves_no_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused() -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("workbench.engine.protocol.worker_process.socket.socketpair", refused)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(EngineError, match=r"too many files are open .*ulimit -n"):
        WorkerProcess(None, {})
    assert list(tmp_path.iterdir()) == []
