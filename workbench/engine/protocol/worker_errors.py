"""What a call raises whose worker ended, fell silent or takes too long."""

from __future__ import annotations

import signal

from workbench.engine.protocol.exit_status import describe_exit, exit_remedy, printable
from workbench.engine.protocol.heartbeat import SuspensionMonitor
from workbench.engine.protocol.worker_process import WorkerProcess
from workbench.errors import (
    CancelledError,
    EngineError,
    WorkerCrashedError,
    WorkerSilentError,
    WorkerTimeoutError,
)
from workbench.system_limits import says_memory_refusal

_CRASHES = (-signal.SIGSEGV, -signal.SIGFPE, -signal.SIGABRT, -signal.SIGILL, -signal.SIGBUS)
"""Exit codes of a process that its own code ended."""


def lost(process: WorkerProcess, garbled: Exception | None = None) -> EngineError:
    """Of a worker that is gone, or sent what is no answer. Waits for its end."""
    if process.ended and not process.ended_because:
        return CancelledError("Cancelled: the worker was ended.")
    if process.ended_because:
        return WorkerCrashedError(
            f"The worker{_where(process)} {process.ended_because} The graph is untouched; the next "
            "change starts a fresh worker.",
            process.running,
            killed=True,
        )
    code = None if garbled else process.wait(5.0)
    words = process.last_words()
    crashed = "" if code not in _CRASHES or says_memory_refusal(words) else _files(process)
    how = f"wrote what is no answer ({garbled})" if garbled else describe_exit(code, words)
    return WorkerCrashedError(
        f"The worker {how}{_where(process)}.{exit_remedy(code, words)}{crashed} "
        f"The graph is untouched; the next change starts a fresh worker.{words}",
        process.running,
        killed=code == -signal.SIGKILL,
    )


def silent(process: WorkerProcess, silence: SuspensionMonitor) -> WorkerSilentError:
    """Of one that gives no sign of life."""
    return WorkerSilentError(
        f"{silence.describe()}{_where(process)}: the worker was ended. The graph is "
        "untouched; the next change starts a fresh one.",
        process.running,
    )


def too_late(process: WorkerProcess, limit: float) -> WorkerTimeoutError:
    """Of one that lives, and has not answered within so many seconds."""
    return WorkerTimeoutError(
        f"No answer within {limit:g} s{_where(process)}: the worker was "
        "ended. The next change starts a fresh one; fewer tiles take less time.",
        process.running,
    )


def _where(process: WorkerProcess) -> str:
    return f" while it ran {', '.join(process.running)}" if process.running else ""


def _files(process: WorkerProcess) -> str:
    """The files that were decoded when the worker crashed, and how to find the one at fault."""
    files = process.files
    if not files:
        return ""
    more = f" and {len(files) - _MOST_FILES:,} more" if len(files) > _MOST_FILES else ""
    listed = f"{', '.join(map(printable, files[:_MOST_FILES]))}{more}"
    if len(files) == 1:
        return f" It decoded {listed}: remove that file."
    return (
        f" It decoded {listed}. `workbench check DATA --full` decodes each file by itself and "
        "names the one at fault."
    )


_MOST_FILES = 8
