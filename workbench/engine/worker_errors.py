"""What a call raises whose worker ended, fell silent or takes too long."""

from __future__ import annotations

import signal

from workbench.engine.exit_status import describe_exit, exit_remedy
from workbench.engine.heartbeat import SuspensionMonitor
from workbench.engine.worker_process import WorkerProcess
from workbench.errors import (
    CancelledError,
    EngineError,
    WorkerCrashedError,
    WorkerSilentError,
    WorkerTimeoutError,
)


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
    how = f"wrote what is no answer ({garbled})" if garbled else describe_exit(code, words)
    return WorkerCrashedError(
        f"The worker {how}{_where(process)}.{exit_remedy(code, words)} "
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
