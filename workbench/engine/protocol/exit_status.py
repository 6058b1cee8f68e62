"""Explain how child processes ended, and set their priority for the OOM killer."""

from __future__ import annotations

import re
import signal
from contextlib import suppress
from pathlib import Path

from workbench.system_limits import memory_limit_text, memory_remedy, reports_out_of_memory

_ADDED = 500
"""Increase of ``oom_score``, in thousandths of the machine's memory."""
_MOST = 1000
_KILLED = ": out of memory, or killed from outside"
_REMEDIES = {
    signal.SIGBUS: (
        " Probably a file of the folder was changed or truncated while it was read. Write a "
        "file elsewhere and move it into the folder, then try again."
    ),
}
_FOR_WANT_OF_MEMORY = (-signal.SIGABRT, -signal.SIGSEGV, -signal.SIGBUS)
"""Exit codes of a C++ program that runs out of memory."""
_FILE_FAULT = re.compile(
    r"nvImageCodec failure|Failed to decode|File mapping failed|Could not access"
    r"|SIG(?:SEGV|FPE|ABRT|ILL|BUS)\b"
)


def raise_oom_score(pid: int | str = "self") -> None:
    """Make the kernel kill this process, instead of the notebook, when memory runs out.

    Linux kills the process with the highest ``oom_score``. A process can raise its own score
    without privileges (see proc(5), ``oom_score_adj``). Child processes inherit the score.
    """
    path = Path(f"/proc/{pid}/oom_score_adj")
    with suppress(OSError):  # not Linux, or not permitted: optional
        path.write_text(str(min(_MOST, int(path.read_text()) + _ADDED)))


def describe_exit(code: int | None, output: str = "") -> str:
    """Describe an exit code, such as ``was terminated by SIGSEGV (segmentation fault)``.

    A ``code`` of None means that the process still runs. ``output`` is its last output.
    """
    return (
        f"{_describe_code(code)}{' because memory was exhausted' * reports_out_of_memory(output)}"
    )


def _describe_code(code: int | None) -> str:
    if code is None:
        return "closed its connection"
    if code >= 0:
        return f"ended with exit code {code}"
    if -code == signal.SIGKILL:
        return f"was terminated by SIGKILL{_KILLED}"
    try:
        name = signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return f"was terminated by signal {-code}"
    meaning = signal.strsignal(-code)
    return (
        f"was terminated by {name} ({meaning.lower()})" if meaning else f"was terminated by {name}"
    )


def exit_remedy(code: int | None, output: str = "") -> str:
    """Return the probable cause and a fix as further sentences, or an empty string if unknown.

    ``output`` is the last output of the process.
    """
    if reports_out_of_memory(output):
        return f" {memory_remedy()}"
    if code in _FOR_WANT_OF_MEMORY and (limit := memory_limit_text()):
        return f" Memory may be exhausted. {limit}"
    return next((output for number, output in _REMEDIES.items() if code == -number), "")


def is_file_fault(message: str) -> bool:
    """Return True if a failed run may be caused by a file, according to the error message."""
    return bool(_FILE_FAULT.search(message))


def printable(line: str) -> str:
    r"""Escape control characters in the output of another program, such as ``\x1b``."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in line)
