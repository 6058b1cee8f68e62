"""Start, call, end and restart a worker process, from the caller's side.

No DALI pipeline runs in the user's process. Any failure in the worker (a crash, a hang, out of
memory) becomes an exception here, and the next call starts a new worker.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from msgspec import MsgspecError

from workbench.arguments import FUNCTION, MAPPING, NUMBER, WHOLE, checked
from workbench.engine.protocol.call_handle import CallHandle, ReportListener
from workbench.engine.protocol.channel import ChannelError, VersionError
from workbench.engine.protocol.codec import arguments_codec, result_codec
from workbench.engine.protocol.heartbeat import HeartbeatMonitor, SuspensionMonitor, warn_of_silence
from workbench.engine.protocol.messages import (
    Call,
    Failure,
    Heartbeat,
    Interrupt,
    NodesRunning,
    Ready,
    ReleaseMemory,
    Result,
    decode_error,
)
from workbench.engine.protocol.registry import find_registered, name_of
from workbench.engine.protocol.worker_process import (
    WorkerProcess,
    timeout_error,
    worker_lost,
    worker_silent,
)
from workbench.engine.resources.memory_budget import MemoryBudget, shared_budget
from workbench.errors import (
    ArgumentError,
    CancelledError,
    EngineClosedError,
    EngineError,
    WorkbenchError,
    WorkerTimeoutError,
)
from workbench.system_limits import NO_THREADS

START_LIMIT = 120.0
"""Timeout for a worker's start in seconds: usually 1 s, but a minute on a cold network disk."""
CALL_LIMIT = 60.0
"""Default timeout of a call in seconds. Building a mixed decoder takes 1.6 s."""
_TICK = 0.05
"""Seconds between checks for cancellation."""
_END_LIMIT = 1.0
"""Seconds that ``close`` waits for a call's thread to clean up the worker."""


class Engine:
    """A worker process that runs DALI. It is started by the first call.

    Calls from several threads run one after another. ``handle`` returns an object with which
    another thread can cancel a call.

    ::

        with wb.Engine(call_limit=30) as worker:  # seconds without a sign of life
            wb.preview_batch(worker, wb.PreviewRequest(graph, "photos", tiles=2))

    After ``close``, calls raise EngineClosedError.
    """

    @checked(call_limit=NUMBER, budget=WHOLE, environment=MAPPING)
    def __init__(
        self,
        call_limit: float = CALL_LIMIT,
        budget: int | None = None,
        environment: Mapping[str, str] | None = None,
        stop: threading.Event | None = None,
        memory: MemoryBudget | None = None,
        on_silence: Callable[[bool], None] = warn_of_silence,
        on_wait: Callable[[str], None] = lambda words: None,
        measures: bool = False,
        restarts: bool = True,
    ) -> None:
        """``budget`` limits the worker's caches between calls, in bytes on each device.

        The default is an eighth of the memory, at most 2 GiB. ``environment`` adds variables to the
        worker's environment. Once ``stop`` is set, every current and later call raises
        CancelledError. ``memory`` is the budget shared with other workers, which may end this
        worker while it is idle.

        ``on_silence`` is called, from the thread of a call, with True when the worker has sent no
        heartbeat for 3 s, and with False when it responds again; by default a warning is logged.
        While a starting worker waits for memory, ``on_wait`` is called with the reason, and then
        with an empty text.

        If ``measures``, the worker counts towards ``memory`` but is not ended to free memory. If
        not ``restarts``, a call raises WorkerCrashedError if the worker ended while idle, because
        its previous state is lost.
        """
        if call_limit <= 0 or (budget is not None and budget < 0):
            raise ArgumentError(
                f"Engine: call_limit is {call_limit} and budget is {budget}. Use a call_limit "
                "above 0 seconds, and a budget of 0 bytes or more."
            )
        self.call_limit = call_limit
        self.budget = budget
        self._environment = dict(environment or {})
        self._stop = stop or threading.Event()
        self._turn = threading.Lock()
        self._thread: int | None = None
        self._process: WorkerProcess | None = None
        self._closed = False
        self._memory = shared_budget() if measures and memory is None else memory
        self._on_silence = on_silence
        self._on_wait = on_wait
        self.measures = measures
        self._restarts = restarts
        self.resting_since: float | None = None
        """Time when the last call ended (``time.monotonic``), or None during a call."""
        self._finalizer: weakref.finalize[Any, Any] | None = None
        if self._memory is not None:
            self._memory.join(self)

    def handle(self) -> CallHandle:
        """Create a handle for calls that can be interrupted or cancelled without affecting others.

        ::

            handle = engine.handle()
            wb.preview_batch(handle, wb.PreviewRequest(graph, "photos", tiles=2))
        """
        return CallHandle(self._run)

    @checked(task=FUNCTION, limit=NUMBER)
    def call(
        self,
        task: Callable[..., Any],
        *arguments: Any,
        limit: float | None = None,
        on_report: ReportListener | None = None,
    ) -> Any:
        """Run ``task(worker, *arguments)`` in the worker and return its result.

        ``task`` is registered with ``@task``. ``limit`` is the timeout in seconds without a report
        from the task. Raises the task's error if it is a WorkbenchError, EngineError for values
        that cannot be sent, WorkerCrashedError, WorkerTimeoutError, CancelledError, or, after
        ``close``, EngineClosedError.
        """
        return self._run(self.handle(), task, arguments, limit, on_report)

    def _run(
        self,
        handle: CallHandle,
        task: Callable[..., Any],
        arguments: tuple[Any, ...],
        limit: float | None,
        on_report: ReportListener | None,
    ) -> Any:
        name = name_of(task)
        find_registered(name)
        try:
            payload = arguments_codec(task, len(arguments)).encode(arguments)
        except (TypeError, ValueError, OverflowError) as error:
            raise EngineError(f"{name} cannot be called with these arguments: {error}") from None
        with self._exclusive_call(handle):
            process = self._alive(handle) or self._start(handle)
            process.running = process.files = ()
            process.calls += 1
            keep = self._memory.share() if self._memory and not self.measures else None
            call = Call(process.calls, name, len(arguments), keep)

            def begin() -> None:
                try:
                    process.channel.send(call, payload)
                except OSError:
                    raise self._end_lost_worker(process, handle) from None

            def interrupt() -> None:
                with suppress(OSError):
                    process.channel.send(Interrupt(call.number))

            with handle.running(begin, interrupt):
                raised, value = self._answer(process, handle, task, call.number, limit, on_report)
            if raised is None:
                return value
            # a CUDA error invalidates the process's context; a process that cannot create threads
            # may lack something that a new one has
            if "CUDA" in str(raised) or NO_THREADS in str(raised):
                self._end()
            raise raised

    def _answer(
        self,
        process: WorkerProcess,
        handle: CallHandle,
        task: Callable[..., Any],
        number: int,
        limit: float | None,
        on_report: ReportListener | None,
    ) -> tuple[WorkbenchError | None, Any]:
        """Wait for the answer, and return (error, None) or (None, result)."""
        try:
            message, payload = self._await(process, handle, number, limit, on_report)
            if isinstance(message, Failure):
                return decode_error(message.error, payload), None
            return None, result_codec(task).decode(payload)
        except (EOFError, OSError):
            raise self._end_lost_worker(process, handle) from None
        except (ChannelError, MsgspecError, ValueError) as error:
            raise self._end_lost_worker(process, handle, error) from None
        except BaseException:  # after an interrupt, the answer would be taken for the next call's
            self._end()
            raise

    def _await(
        self,
        process: WorkerProcess,
        handle: CallHandle,
        number: int,
        limit: float | None,
        on_report: ReportListener | None,
    ) -> tuple[Result | Failure, memoryview]:
        limit = limit or self.call_limit
        silence = HeartbeatMonitor(process.popen.pid, self._on_silence)
        try:
            return self._listen(process, handle, number, limit, on_report, silence)
        finally:
            silence.on_data()  # so that no more silence is reported

    def _listen(
        self,
        process: WorkerProcess,
        handle: CallHandle,
        number: int,
        limit: float,
        on_report: ReportListener | None,
        silence: HeartbeatMonitor,
    ) -> tuple[Result | Failure, memoryview]:
        deadline = time.monotonic() + limit
        while True:
            self._require_active(handle)
            received = process.channel.receive(_TICK)
            if received is not None:
                silence.on_data()
            elif silence.missed():
                raise worker_silent(process, silence)
            if received is None or isinstance(received[0], Heartbeat):
                if time.monotonic() > deadline:
                    raise timeout_error(process, limit)
                continue
            message, payload = received
            if isinstance(message, Ready) or message.number != number:
                raise ChannelError(f"{message} while call {number} ran")
            if isinstance(message, Result | Failure):
                return message, payload
            if isinstance(message, NodesRunning):
                process.running, process.files = message.nodes, message.files
            elif on_report is not None:
                on_report(message.value)
            deadline = time.monotonic() + limit

    @contextmanager
    def _exclusive_call(self, handle: CallHandle) -> Iterator[None]:
        """Context manager that waits until no other call runs, or this call is cancelled."""
        while True:
            self._require_active(handle)
            handle.require_wanted()
            if self._turn.acquire(timeout=_TICK):
                break
        self._thread = threading.get_ident()
        self.resting_since = None
        try:
            self._require_active(handle)
            yield
        finally:
            self._thread = None
            self.resting_since = time.monotonic()
            self._turn.release()

    def _require_active(self, handle: CallHandle) -> None:
        """Raise EngineClosedError or CancelledError if the call must end at once.

        An interrupt raises no error here, because it is sent to the worker.
        """
        if self._closed:
            raise EngineClosedError(
                "The engine is closed. Create another Engine, or another Workbench."
            )
        if self._stop.is_set() or handle.cancelled:
            raise CancelledError("Cancelled.")

    def _alive(self, handle: CallHandle) -> WorkerProcess | None:
        if self._process is not None and not self._process.alive:
            if not self._restarts:
                raise self._end_lost_worker(self._process, handle)
            self._end()
        return self._process

    def _start(self, handle: CallHandle) -> WorkerProcess:
        if self._memory is None:
            return self._begin(handle)

        def require_wanted() -> None:
            self._require_active(handle)
            handle.require_wanted()

        with self._memory.starting(self, require_wanted, self._on_wait):
            return self._begin(handle)

    def _begin(self, handle: CallHandle) -> WorkerProcess:
        process = self._process = WorkerProcess(self.budget, self._environment)
        self._finalizer = weakref.finalize(self, process.close)
        deadline = time.monotonic() + START_LIMIT
        stopped = SuspensionMonitor(process.popen.pid, self._on_silence)
        try:
            while True:
                received = process.channel.receive(_TICK)
                if received is not None and not isinstance(received[0], Heartbeat):
                    break
                self._require_active(handle)
                if received is not None:
                    stopped.on_data()
                elif stopped.missed():  # a running one may take its time to load DALI
                    raise worker_silent(process, stopped)
                if time.monotonic() > deadline:
                    raise WorkerTimeoutError(f"The worker did not start within {START_LIMIT:g} s.")
        except (EOFError, OSError):
            raise self._end_lost_worker(process, handle) from None
        except VersionError as error:
            self._end()
            raise EngineError(str(error)) from None
        except ChannelError as error:
            raise self._end_lost_worker(process, handle, error) from None
        except BaseException:
            self._end()
            raise
        finally:
            stopped.on_data()
        if not isinstance(received[0], Ready):
            raise self._end_lost_worker(
                process, handle, ChannelError(f"{received[0]} at its start")
            )
        return process

    def _end_lost_worker(
        self, process: WorkerProcess, handle: CallHandle, bad_data: Exception | None = None
    ) -> EngineError:
        """End a worker that crashed or sent ``bad_data``, and return the error for its call."""
        try:
            self._require_active(handle)
            error = worker_lost(process, bad_data)
        except CancelledError as cancelled:
            error = cancelled
        self._end()
        return error

    def _end(self) -> None:
        if self._finalizer is not None:
            self._finalizer()
        self._finalizer = None
        self._process = None

    @property
    def pid(self) -> int | None:
        """Process id of the worker, or None if there is none."""
        process = self._process
        return process.popen.pid if process is not None and process.alive else None

    def __repr__(self) -> str:
        return f"<engine with worker {self.pid}>" if self.pid else "<engine without a worker>"

    def set_environment(self, environment: Mapping[str, str]) -> None:
        """Replace the additional environment variables, and end a running worker."""
        self._environment = dict(environment)
        self.end_worker()

    @property
    def closed(self) -> bool:
        """True after ``close``; calls then raise EngineClosedError."""
        return self._closed

    def end_worker(self) -> None:
        """End the worker and release its host and GPU memory.

        The current call raises CancelledError. The next call starts a new worker.
        """
        process = self._process
        if process is None:
            return
        process.kill()
        if self._thread == threading.get_ident():
            return  # in ``on_report``: the call itself notices the end of its worker
        deadline = time.monotonic() + _END_LIMIT
        while not process.closed and time.monotonic() < deadline:
            if self._turn.acquire(timeout=_TICK):
                if self._process is process:
                    self._end()
                self._turn.release()

    def end_if_idle(self) -> bool:
        """End the worker unless a call runs. Return True if the worker was ended."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            self._end()
        finally:
            self._turn.release()
        return True

    def drop_caches(self) -> bool:
        """Make the worker drop its caches unless a call runs. Return True if no call runs."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            if self._process is not None:
                with suppress(OSError):
                    self._process.channel.send(ReleaseMemory())
        finally:
            self._turn.release()
        return True

    def end_for_memory(self, reason: str) -> None:
        """End the worker during its call, which raises WorkerCrashedError with this reason."""
        if (process := self._process) is not None:
            process.ended_because = reason
            process.kill()

    def close(self) -> None:
        """End the worker permanently. Every current, waiting or later call raises an error at once.

        ::

            other = wb.Engine()
            other.close()
        """
        self._closed = True
        self.end_worker()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
