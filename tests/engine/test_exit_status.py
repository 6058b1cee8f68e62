"""What an exit code says, and which process goes when memory runs out."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.engine.protocol.exit_status import (
    describe_exit,
    exit_remedy,
    printable,
    raise_oom_score,
)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (None, "closed its connection"),
        (0, "ended with exit code 0"),
        (3, "ended with exit code 3"),
        (-signal.SIGSEGV, "was ended by SIGSEGV (segmentation fault)"),
        (-signal.SIGBUS, "was ended by SIGBUS (bus error)"),
        (-signal.SIGKILL, "was ended by SIGKILL: out of memory, or killed from outside"),
        (-signal.SIGRTMIN - 2, f"was ended by signal {signal.SIGRTMIN + 2}"),
    ],
)
def test_in_words(code: int | None, words: str) -> None:
    assert describe_exit(code) == words


@pytest.mark.parametrize("word", ["MemoryError", "std::bad_alloc", "can't start new thread"])
def test_want_of_memory_is_told_by_its_name(word: str) -> None:
    assert describe_exit(1, word) == "ended with exit code 1 for want of memory"
    assert exit_remedy(1, word).endswith("try again.")


def test_the_remedy_of_a_file_that_changed() -> None:
    assert "a file of the folder was changed" in exit_remedy(-signal.SIGBUS)
    assert "try again." in exit_remedy(-signal.SIGBUS)
    assert not any(map(exit_remedy, (None, 0, 1, signal.SIGBUS, -signal.SIGSEGV)))


def test_going_first() -> None:
    """Twice gives the most that Linux takes; a process that is not there is no error."""

    def score(pid: int) -> int:
        return int(Path(f"/proc/{pid}/oom_score_adj").read_text())

    program = "import sys; sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as process:
        before = score(process.pid)
        raise_oom_score(process.pid)
        assert score(process.pid) == min(1000, before + 500)
        for _ in range(4):
            raise_oom_score(process.pid)
        assert score(process.pid) == 1000
        process.kill()
    raise_oom_score(process.pid)


def test_what_a_terminal_would_obey_is_written_out() -> None:
    assert printable("über 5 % 🙂") == "über 5 % 🙂"
    assert printable("\x1b[31m\x07\x9b\u202e\udc80") == r"\x1b[31m\x07\x9b\u202e\udc80"
