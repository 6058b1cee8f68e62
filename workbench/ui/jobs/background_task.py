"""Run tasks in their own threads: measurements, comparisons, checks, reports, shared pictures."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from workbench.errors import CancelledError, WorkbenchError

# Measurements of all sessions of a server are queued: two at once would slow each other.

_TICK = 0.05


class MeasurementQueue:
    """Runs measurements one at a time, in the order in which they were requested. Thread-safe."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._tickets: list[object] = []
        """Tickets of the running measurement (first) and of the waiting ones."""

    @contextmanager
    def turn(
        self, on_wait: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> Iterator[None]:
        """Wait until all earlier measurements have ended; later ones wait until this context ends.

        ``on_wait`` is called with the reason for waiting whenever the reason changes. Raises
        CancelledError once ``is_cancelled`` returns True.
        """
        ticket = object()
        with self._condition:
            self._tickets.append(ticket)
        try:
            self._wait(ticket, on_wait, is_cancelled)
            yield
        finally:
            with self._condition:
                self._tickets.remove(ticket)
                self._condition.notify_all()

    def _wait(
        self, ticket: object, on_wait: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> None:
        reported = 0
        while True:
            with self._condition:
                before = self._tickets.index(ticket)
                if before and before == reported:
                    self._condition.wait(_TICK)
                    before = self._tickets.index(ticket)
            if is_cancelled():
                raise CancelledError("Cancelled.")
            if not before:
                return
            if before != reported:
                reported = before
                on_wait(describe_wait(before))


def describe_wait(before: int) -> str:
    """Return the text that is shown while ``before`` other measurements run first."""
    if before == 1:
        return "waiting for another measurement"
    return f"waiting for {before} other measurements"


SHARED_QUEUE = MeasurementQueue()
"""Queue of all measurements in this process (a web server or a notebook kernel)."""


# Tasks

MOST_ENDED = 100
"""Maximum number of finished tasks that are retained for later pages of their sessions."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
OnProgress = Callable[[float, str], None]
"""Callback ``on_progress(share, text)`` with the completed fraction (0 to 1) and the current
step.
"""


class Work(Protocol[T_co]):
    """Work that a task runs, such as an experiment of the Speed panel."""

    def run(self, on_progress: OnProgress, /) -> T_co:
        """Run the work and return its result. Raises CancelledError after ``cancel``."""

    def cancel(self) -> None:
        """Cancel the work. Thread-safe."""


@dataclass(frozen=True, slots=True)
class FunctionWork(Generic[T]):
    """Work that calls a function, which must raise CancelledError after ``cancel``."""

    run: Callable[[OnProgress], T]
    cancel: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class TaskListener(Generic[T]):
    """Callbacks of the page that displays a task."""

    lock: threading.RLock
    """Lock that is held while the callbacks are called."""
    changed: Callable[[], None]
    """Called after every change of the task."""
    ended: Callable[[T | None, str], None]
    """Called once with the result (None if it failed) and the error message ("" if there is
    none).
    """


class BackgroundTask(Generic[T]):
    """Runs work in a thread and reports its progress. A task can outlive the page that started it.

    With a ``queue``, the task waits for other measurements, because they would slow each other
    down.
    """

    def __init__(
        self,
        name: str,
        work: Work[T],
        listener: TaskListener[T],
        queue: MeasurementQueue | None = None,
    ) -> None:
        """``name`` is the name of the task in error messages."""
        self.name = name
        self.share = 0.0
        self.text = "starting"
        self.cancelling = False
        self.work = work
        self.listener: TaskListener[T] | None = listener
        self.outcome: tuple[T | None, str] | None = None
        """Result and error message of the finished task; None while it runs."""
        self.began = time.monotonic()
        """``time.monotonic`` at the start of the work."""
        self._queue = queue
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"workbench-{name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def cancel(self) -> None:
        """Stop the task; its processes end within 0.5 s."""
        self.cancelling = True
        self.text = "stopping"
        self.work.cancel()

    def store_result(self, result: T) -> None:
        """Store the result of a task that ended without a listener."""

    def so_far(self) -> T | None:
        """Return the results so far, which a cancelled task reports; None if there are none."""
        return None

    def describe(self, share: float, text: str) -> str:
        """Return the text to display while the task runs."""
        return text

    def listen(self, listener: TaskListener[T] | None) -> None:
        """Replace the listener. If the task has ended, the new listener is called immediately.

        Call this method with the lock of ``listener`` held.
        """
        with self._lock:
            outcome = self.outcome
            self.listener = listener if outcome is None else None  # release the page
        if listener is not None and outcome is not None:
            listener.ended(*outcome)

    def _run(self) -> None:
        result, error_text = None, ""
        try:
            queue = self._queue
            with queue.turn(self._wait, lambda: self.cancelling) if queue else nullcontext():
                self.began = time.monotonic()
                self.text = "starting"
                result = self.work.run(self._note)
        except CancelledError:
            result = self.so_far()
        except WorkbenchError as error:
            error_text = str(error)
        except Exception as error:
            logging.getLogger(__name__).exception("The %s failed", self.name)
            error_text = f"The {self.name} failed: {type(error).__name__}: {error}"
        while not self._end(result, error_text):
            pass

    def _end(self, result: T | None, error_text: str) -> bool:
        """Call the listener with the result. Return False if the listener has been replaced."""
        listener = self.listener
        if listener is None:
            with self._lock:
                if self.listener is not None:
                    return False
                self.outcome = result, error_text
            if result is not None:
                try:
                    self.store_result(result)
                except WorkbenchError:
                    logging.getLogger(__name__).exception("The result cannot be stored")
            return True
        with listener.lock:
            with self._lock:
                if self.listener is not listener:
                    return False
                self.outcome, self.listener = (result, error_text), None
            listener.ended(result, error_text)
            listener.changed()
        return True

    def _wait(self, text: str) -> None:
        self._notify(0.0, text)

    def _note(self, share: float, text: str) -> None:
        self._notify(share, self.describe(share, text))

    def _notify(self, share: float, text: str) -> None:
        listener = self.listener
        if listener is None:
            self.share, self.text = share, text
            return
        with listener.lock:
            if not self.cancelling:
                self.share, self.text = share, text
                listener.changed()


def run_in_background(name: str, run: Callable[[], T], listener: TaskListener[T]) -> None:
    """Call ``run`` in a thread. The listener is called with the result or the error message."""
    BackgroundTask(name, FunctionWork(lambda _: run()), listener).start()


# Tasks by session

K = TypeVar("K", bound=BackgroundTask[Any])


class OwnedTasks(Generic[K]):
    """Tasks by session owner, so that later pages of a session find its task. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, K] = {}

    def put(self, owner: str, task: K) -> None:
        with self._lock:
            self._tasks.pop(owner, None)
            self._tasks[owner] = task
            ended = [owner for owner, each in self._tasks.items() if each.outcome is not None]
            for owner in ended[:-MOST_ENDED]:
                del self._tasks[owner]

    def find(self, owner: str) -> K | None:
        with self._lock:
            return self._tasks.get(owner)

    def drop(self, task: K) -> None:
        """Remove a task, so that later pages of its session do not find it."""
        with self._lock:
            for owner in [owner for owner, known in self._tasks.items() if known is task]:
                del self._tasks[owner]


class SessionTask(Generic[K]):
    """Last task of one kind that this page or an earlier page of its session started.

    Call methods with the listener's lock held.
    """

    def __init__(self, listener: TaskListener[Any], tasks: OwnedTasks[K]) -> None:
        """``tasks`` contains the tasks of the same kind of all sessions in this process."""
        self.listener = listener
        self.last: K | None = None
        self._tasks = tasks
        self._owner = ""

    @property
    def running(self) -> K | None:
        return self.last if self.last is not None and self.last.outcome is None else None

    def start(self, task: K) -> None:
        self.last = task
        if self._owner:
            self._tasks.put(self._owner, task)
        task.start()

    def cancel(self) -> bool:
        """Stop the running task. Return False if no task runs, or if another page started it."""
        task = self.running
        if task is None or task.cancelling or task.listener is not self.listener:
            return False
        task.cancel()
        return True

    def adopt_session(self, owner: str) -> K | None:
        """Attach to a session, and return the task that an earlier page of it started, or None."""
        self._owner = owner
        found = self._tasks.find(owner)
        if self.last is not None:
            self._tasks.put(owner, self.last)
            return None
        self.last = found
        return found

    def detach(self) -> None:
        """Detach the page from the task, which continues for later pages of the session."""
        task = self.running
        if task is None or task.listener is not self.listener:
            return
        if self._owner:
            task.listen(None)
        else:
            task.cancel()

    def forget(self) -> None:
        """Forget a finished task, so that later pages of the session do not find it."""
        if self.last is not None and self.running is None:
            self._tasks.drop(self.last)
            self.last = None
