"""The kernel's side of the worker process: start it, call it, end it, start it again.

No DALI pipeline runs in the user's process. Whatever happens in the worker (a crash, a hang, out of
memory) ends as an exception here, and the next call starts a fresh worker.
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
    worker_lost,
    worker_silent,
    worker_too_late,
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
"""Seconds for a worker to import DALI: 1 s usually, a minute on a cold network disk."""
CALL_LIMIT = 60.0
"""Seconds for one call before it counts as a hang. A mixed decoder takes 1.6 s to build."""
_TICK = 0.05
"""Seconds between two looks at whether a call was given up."""
_END_LIMIT = 1.0
"""Seconds that ``close`` waits for the thread of a call to tidy up after the worker."""


class Engine:
    """One worker process, started when first needed.

    Calls from several threads take turns. ``handle`` gives what ends a call from another thread.

    ::

        with wb.Engine(call_limit=30) as worker:  # seconds without a sign of life
            wb.preview_batch(worker, wb.PreviewRequest(graph, "photos", tiles=2))

    Once it is closed, calls raise CancelledError.
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
        """``budget`` limits what the worker keeps between calls, in bytes on each device.

        Without, it is an eighth of the memory there, 2 GiB at most. ``environment`` adds variables
        to the worker's. Once ``stop`` is set every call, now and later, raises CancelledError.
        ``memory`` is what this worker shares with others, which may end it while it rests.
        ``on_silence`` hears, from the thread of a call, that the worker has given no sign of life
        for 3 s, and that it answers again; by default it is logged as a warning. ``on_wait`` hears,
        likewise, what memory a worker that is to start waits for, and an empty text after that.
        One that ``measures`` counts in the memory that all share, and is not ended for it. Without
        ``restarts`` a call whose worker ended while it rested raises WorkerCrashedError: what the
        calls before have built in it is gone.
        """
        if call_limit <= 0 or (budget is not None and budget < 0):
            raise ArgumentError(
                f"Engine: call_limit is {call_limit}, budget {budget}. Give seconds above 0, and "
                "bytes from 0."
            )
        self.call_limit = call_limit
        self.budget = budget
        self._environment = dict(environment or {})
        self._stop = stop or threading.Event()
        self._turn = threading.Lock()
        self._thread: int | None = None
        """That of the call whose turn it is."""
        self._process: WorkerProcess | None = None
        self._closed = False
        self._memory = shared_budget() if measures and memory is None else memory
        self._on_silence = on_silence
        self._on_wait = on_wait
        self.measures = measures
        self._restarts = restarts
        self.resting_since: float | None = None
        """When the last call ended (``time.monotonic``); None while one runs."""
        self._finalizer: weakref.finalize[Any, Any] | None = None
        if self._memory is not None:
            self._memory.join(self)

    def handle(self) -> CallHandle:
        """A handle for calls that can be interrupted or cancelled, these and no others.

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
        """Run ``task(worker, *arguments)`` in the worker and return what it gives.

        ``task`` is registered with ``@task``. ``limit`` is in seconds without any sign of life.
        Raises what the task raises if that is a WorkbenchError, EngineError for what cannot be
        sent, WorkerCrashedError, WorkerTimeoutError, CancelledError, or, after ``close``,
        EngineClosedError.
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
        with self._taking_turns(handle):
            process = self._alive(handle) or self._start(handle)
            process.running = process.files = ()
            process.calls += 1
            keep = self._memory.share() if self._memory and not self.measures else None
            call = Call(process.calls, name, len(arguments), keep)

            def begin() -> None:
                try:
                    process.channel.send(call, payload)
                except OSError:
                    raise self._lost(process, handle) from None

            def interrupt() -> None:
                with suppress(OSError):
                    process.channel.send(Interrupt(call.number))

            with handle.running(begin, interrupt):
                raised, value = self._answer(process, handle, task, call.number, limit, on_report)
            if raised is None:
                return value
            # a CUDA fault spoils the process's context for good; one that is refused threads has
            # too little of something that a fresh one may get
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
        """What the task raised, or else what it gave."""
        try:
            message, payload = self._await(process, handle, number, limit, on_report)
            if isinstance(message, Failure):
                return decode_error(message.error, payload), None
            return None, result_codec(task).decode(payload)
        except (EOFError, OSError):
            raise self._lost(process, handle) from None
        except (ChannelError, MsgspecError, ValueError) as error:
            raise self._lost(process, handle, error) from None
        except BaseException:  # an interrupt: the answer would be taken for the next call's
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
            silence.heard()  # so that nobody is told of a silence any more

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
            self._require_wanted(handle)
            received = process.channel.receive(_TICK)
            if received is not None:
                silence.heard()
            elif silence.missed():
                raise worker_silent(process, silence)
            if received is None or isinstance(received[0], Heartbeat):
                if time.monotonic() > deadline:
                    raise worker_too_late(process, limit)
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
    def _taking_turns(self, handle: CallHandle) -> Iterator[None]:
        """Wait until no other call runs, or until this one is not wanted any more."""
        while True:
            self._require_wanted(handle)
            handle.require_wanted()
            if self._turn.acquire(timeout=_TICK):
                break
        self._thread = threading.get_ident()
        self.resting_since = None
        try:
            self._require_wanted(handle)
            yield
        finally:
            self._thread = None
            self.resting_since = time.monotonic()
            self._turn.release()

    def _require_wanted(self, handle: CallHandle) -> None:
        """Raise what ends a call at once. An interrupt does not: the worker is told of it."""
        if self._closed:
            raise EngineClosedError(
                "The engine is closed. Make a new one, or a new workbench, to go on."
            )
        if self._stop.is_set() or handle.cancelled:
            raise CancelledError("Cancelled.")

    def _alive(self, handle: CallHandle) -> WorkerProcess | None:
        """The worker, unless there is none or it has ended."""
        if self._process is not None and not self._process.alive:
            if not self._restarts:
                raise self._lost(self._process, handle)
            self._end()
        return self._process

    def _start(self, handle: CallHandle) -> WorkerProcess:
        if self._memory is None:
            return self._begin(handle)

        def require_wanted() -> None:
            self._require_wanted(handle)
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
                self._require_wanted(handle)
                if received is not None:
                    stopped.heard()
                elif stopped.missed():  # one that runs may take its time to load DALI
                    raise worker_silent(process, stopped)
                if time.monotonic() > deadline:
                    raise WorkerTimeoutError(f"The worker did not start within {START_LIMIT:g} s.")
        except (EOFError, OSError):
            raise self._lost(process, handle) from None
        except VersionError as error:
            self._end()
            raise EngineError(str(error)) from None
        except ChannelError as error:
            raise self._lost(process, handle, error) from None
        except BaseException:
            self._end()
            raise
        finally:
            stopped.heard()
        if not isinstance(received[0], Ready):
            raise self._lost(process, handle, ChannelError(f"{received[0]} at its start"))
        return process

    def _lost(
        self, process: WorkerProcess, handle: CallHandle, garbled: Exception | None = None
    ) -> EngineError:
        """The error of a call whose worker is gone, or sent what is no answer. Ends the worker."""
        try:
            self._require_wanted(handle)
            error = worker_lost(process, garbled)
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
        """Process id of the worker, or None while there is none."""
        process = self._process
        return process.popen.pid if process is not None and process.alive else None

    def __repr__(self) -> str:
        return f"<engine with worker {self.pid}>" if self.pid else "<engine without a worker>"

    def set_environment(self, environment: Mapping[str, str]) -> None:
        """Replace the variables that are added to a worker's; one that runs is ended."""
        self._environment = dict(environment)
        self.end_worker()

    @property
    def closed(self) -> bool:
        """Whether ``close`` was called: calls raise EngineClosedError."""
        return self._closed

    def end_worker(self) -> None:
        """End the worker: host and GPU memory go back to the system.

        The call that runs raises CancelledError. The next call starts a fresh worker.
        """
        process = self._process
        if process is None:
            return
        process.kill()
        if self._thread == threading.get_ident():
            return  # in ``on_report``: the call sees the end of its worker itself
        deadline = time.monotonic() + _END_LIMIT
        while not process.closed and time.monotonic() < deadline:
            if self._turn.acquire(timeout=_TICK):
                if self._process is process:
                    self._end()
                self._turn.release()

    def rest(self) -> bool:
        """End the worker, unless a call runs; the next call starts a fresh one."""
        if not self._turn.acquire(blocking=False):
            return False
        try:
            self._end()
        finally:
            self._turn.release()
        return True

    def give_back(self) -> bool:
        """Have the worker drop what it keeps, unless a call runs."""
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
        """End the worker in the midst of its call, which raises WorkerCrashedError."""
        if (process := self._process) is not None:
            process.ended_because = reason
            process.kill()

    def close(self) -> None:
        """End the worker for good: every call, running, waiting or later, raises at once.

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
