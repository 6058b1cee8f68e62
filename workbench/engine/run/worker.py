"""Run DALI in a worker process that answers one call at a time, and ends with its parent.

The process is started by ``engine.protocol.worker_process`` as ``python -m workbench.engine FD
FOLDER BUDGET PACKAGE...``. A call names a registered function (``engine.protocol.registry``), whose
first argument is a ``Worker``. The messages are defined in ``engine.protocol.messages``.
"""

from __future__ import annotations

import gc
import os
import select
import shutil
import socket
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO

from workbench.catalog import load_catalog
from workbench.engine.build.pipelines import is_out_of_memory, out_of_memory
from workbench.engine.protocol.channel import Channel
from workbench.engine.protocol.codec import arguments_codec, result_codec
from workbench.engine.protocol.exit_status import printable, raise_oom_score
from workbench.engine.protocol.heartbeat import HeartbeatSender
from workbench.engine.protocol.messages import (
    Call,
    Failure,
    Interrupt,
    NodesRunning,
    ProgressReport,
    Ready,
    ReleaseMemory,
    Result,
    ToWorker,
    encode_error,
)
from workbench.engine.protocol.registry import find_registered, register_packages, task
from workbench.engine.resources.batch_store import Memory
from workbench.engine.resources.process_memory import (
    MemoryUse,
    resident_bytes,
    thread_count,
    trim_heaps,
)
from workbench.engine.run.runner import Runner
from workbench.errors import CancelledError, DataError, EngineError, WorkbenchError
from workbench.graph.user_functions.trust import trust_everything
from workbench.sources.python_data import LABEL_FAULT
from workbench.system_limits import describe_refusal

_IDLE = 0.3
"""Seconds without a call after which unused memory is released."""
_TIDY_EACH = 100
"""Number of calls after which unused memory is released even without a pause."""


class Worker:
    """The context in which a task runs: the runner with its caches, and progress reports."""

    def __init__(self, channel: Channel, budget: int | None = None) -> None:
        """``budget`` limits the runner's cache, in bytes on each device."""
        self.channel = channel
        limits: dict[Memory, int] | None = (
            None if budget is None else {"cpu": budget, "gpu": budget}
        )
        self.runner = Runner(
            load_catalog(),
            report_running=self.report_running,
            report_making=self.report,
            budget=limits,
        )
        self.kept: dict[Any, Any] = {}
        """Data that tasks cache between calls. ``release`` drops it."""
        self.running: tuple[str, ...] = ()
        """Nodes that the current call started most recently."""
        self.number = 0

    def limit_caches(self, host: int, gpu: int) -> None:
        """Set the limits of the caches between calls, in bytes."""
        if (self.runner.store.budget["cpu"], self.runner.store.budget["gpu"]) != (host, gpu):
            self.runner.store.set_budget({"cpu": host, "gpu": gpu})

    def report(self, value: float | str) -> None:
        """Send progress, which is passed to the caller's ``on_report``."""
        self.channel.send(ProgressReport(self.number, value))

    def reply_error(self, error: WorkbenchError) -> None:
        """Answer the current call with an error. The process must end after this."""
        name, payload = encode_error(error)
        self.channel.send(Failure(self.number, name), payload)

    def check_interrupt(self) -> None:
        """Raise CancelledError if the caller interrupted this call."""
        while (received := self.channel.receive(0)) is not None:
            if received[0].number == self.number:
                raise CancelledError("Cancelled by a newer request.")

    def report_running(self, nodes: Sequence[str], files: Sequence[str] = ()) -> None:
        """Report the nodes about to run and their files, so that a crash can be attributed.

        Raises CancelledError if the caller interrupted the call.
        """
        self.check_interrupt()
        self.running = tuple(nodes)
        self.channel.send(NodesRunning(self.number, self.running, tuple(map(printable, files))))


def serve(channel: Channel, budget: int | None = None) -> None:
    """Answer calls until the connection is closed."""
    heartbeat = HeartbeatSender(channel)
    worker = Worker(channel, budget)
    channel.send(Ready())
    untidy = 0
    while True:
        heartbeat.pause()
        received = None if untidy >= _TIDY_EACH else channel.receive(_IDLE if untidy else None)
        if received is None:
            trim_heaps()
            untidy = 0
            continue
        message, payload = received
        if isinstance(message, Interrupt):
            continue  # for a call that ended in the meantime
        if isinstance(message, ReleaseMemory):
            release(worker)
            trim_heaps()
            continue
        heartbeat.resume()
        if message.keep is not None:
            worker.limit_caches(*message.keep)
        worker.number, worker.running = message.number, ()
        untidy += 1
        exhausted = False
        try:
            channel.send(Result(message.number), _run(worker, message, payload))
        except BrokenPipeError:
            return
        except Exception as error:
            worker.reply_error(_as_workbench_error(worker, error))
            exhausted = is_out_of_memory(error)
        if exhausted:  # here, where no frame of the error references arrays any more
            release(worker)


def _run(worker: Worker, call: Call, payload: memoryview) -> bytes:
    task = find_registered(call.task)
    arguments = arguments_codec(task, call.arguments).decode(payload)
    return result_codec(task).encode(task(worker, *arguments))


def _as_workbench_error(worker: Worker, error: Exception) -> WorkbenchError:
    if isinstance(error, WorkbenchError):
        return error
    if is_out_of_memory(error):
        return EngineError(out_of_memory(worker.running))
    if isinstance(error, OSError) and (refusal := describe_refusal(error)):
        return EngineError(f"The worker could not continue: {refusal}")
    if isinstance(error, OSError) and LABEL_FAULT in str(error):
        return DataError(str(error))
    detail = "".join(traceback.format_exception(error, limit=-3))
    return EngineError(f"The worker failed: {type(error).__name__}: {error}\n{detail}")


@task
def release(worker: Worker) -> None:
    """Drop all caches."""
    worker.runner.forget()
    worker.kept.clear()
    gc.collect()


@task
def memory_use(worker: Worker) -> MemoryUse:
    """Return the sizes of the caches, and their limits."""
    store = worker.runner.store
    return MemoryUse(
        host=store.used["cpu"] + worker.runner.readers.nbytes,
        host_budget=store.budget["cpu"],
        gpu=store.used["gpu"],
        gpu_budget=store.budget["gpu"],
        resident=resident_bytes(),
        threads=thread_count(),
    )


def end_with_parent(channel: Channel, folder: str) -> threading.Thread:
    """Start a thread that deletes ``folder`` and ends this process when the connection closes."""

    def watch() -> None:
        poll = select.poll()
        poll.register(channel.fileno(), 0)  # hang-ups are always reported
        poll.poll()
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def main(descriptor: str, folder: str, budget: str, *packages: str) -> None:
    """Serve calls over the socket ``descriptor``. Tasks may be imported from ``packages``."""
    bound_output()
    raise_oom_score()
    trust_everything()
    register_packages(packages)
    channel = Channel(socket.socket(fileno=int(descriptor)), ToWorker)
    watcher = end_with_parent(channel, folder)
    with suppress(EOFError):
        serve(channel, None if budget == "default" else int(budget))
    watcher.join()


MOST_OUTPUT = 4_000_000
"""Maximum number of characters that Python code writes to the log before the log is truncated."""


class BoundedOutput:
    """Output stream that truncates its file when more than ``limit`` characters were written.

    The file must be open for appending, so that output continues at the file's start.
    """

    def __init__(self, stream: TextIO, limit: int = MOST_OUTPUT) -> None:
        self._stream = stream
        self._limit = limit
        self._written = 0

    def write(self, text: str) -> int:
        """Write the text or, if it is longer than the limit, its end."""
        tail = text[-self._limit :]
        self._written += len(tail)
        full = self._written > self._limit
        if full:
            self._stream.flush()
            os.ftruncate(self._stream.fileno(), 0)
            self._written = len(tail)
        self._stream.write(tail)
        if full:
            self._stream.flush()  # the log is never empty for long
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def bound_output() -> None:
    """Limit the size of this process's log, to which standard output and standard error write."""
    sys.stdout = BoundedOutput(sys.stdout)
    sys.stderr = BoundedOutput(sys.stderr)
