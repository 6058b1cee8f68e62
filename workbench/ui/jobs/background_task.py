"""Work in a thread of its own: measurements, comparisons, checks, reports, shared pictures."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from workbench.errors import CancelledError, WorkbenchError

# Measurements of all sessions of a server take turns: two at once would measure each other.

_TICK = 0.05


class MeasurementQueue:
    """Gives turns in the order in which they were asked for. May be used from any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._tickets: list[object] = []
        """Of those that have their turn (the first) and that wait."""

    @contextmanager
    def turn(
        self, on_wait: Callable[[str], None], is_cancelled: Callable[[], bool]
    ) -> Iterator[None]:
        """Wait for the turn, and have it for as long as the block runs.

        ``on_wait`` hears what is waited for, again whenever that changes. Raises CancelledError
        once ``is_cancelled``.
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
        told = 0
        while True:
            with self._condition:
                before = self._tickets.index(ticket)
                if before and before == told:
                    self._condition.wait(_TICK)
                    before = self._tickets.index(ticket)
            if is_cancelled():
                raise CancelledError("Cancelled.")
            if not before:
                return
            if before != told:
                told = before
                on_wait(describe_wait(before))


def describe_wait(before: int) -> str:
    """What is said while so many others have their turn first."""
    if before == 1:
        return "waits for another measurement"
    return f"waits for {before} other measurements"


SHARED_QUEUE = MeasurementQueue()
"""That of this process: a server's, or a kernel's."""


# Tasks.

MOST_ENDED = 100
"""Number of finished tasks that are retained for later pages of their sessions."""

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
OnProgress = Callable[[float, str], None]
"""``on_progress(share, text)``: the fraction done, 0 to 1, and the current step."""


class Work(Protocol[T_co]):
    """What a task runs: an experiment of the speed panel, a comparison with the export."""

    def run(self, on_progress: OnProgress, /) -> T_co:
        """Raises CancelledError once it was cancelled."""

    def cancel(self) -> None:
        """From any thread."""


@dataclass(frozen=True, slots=True)
class FunctionWork(Generic[T]):
    """A function as the work of a task; ``cancel`` makes it raise CancelledError."""

    run: Callable[[OnProgress], T]
    cancel: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class TaskListener(Generic[T]):
    """Callbacks of a task, for what shows it on a page."""

    lock: threading.RLock
    """Held while either of the others is called."""
    changed: Callable[[], None]
    """Called after every change."""
    ended: Callable[[T | None, str], None]
    """Called once with the result or None, and what went wrong (empty where it was cancelled or
    went well)."""


class BackgroundTask(Generic[T]):
    """Some work and how far it is. It can outlive the page that began it.

    With a ``queue`` it waits for its turn: measurements would slow each other.
    """

    def __init__(
        self,
        name: str,
        work: Work[T],
        listener: TaskListener[T],
        queue: MeasurementQueue | None = None,
    ) -> None:
        """``name`` is used in error messages."""
        self.name = name
        self.share = 0.0
        self.text = "starting"
        self.cancelling = False
        self.work = work
        self.listener: TaskListener[T] | None = listener
        self.outcome: tuple[T | None, str] | None = None
        """How it ended."""
        self.began = time.monotonic()
        """When its turn came."""
        self._queue = queue
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"workbench-{name}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop; the processes are gone within 0.5 s."""
        self.cancelling = True
        self.text = "stopping"
        self.work.cancel()

    def keep(self, result: T) -> None:
        """Called with the result where nobody listens at the end."""

    def so_far(self) -> T | None:
        """What it gives where it is ended early."""
        return None

    def describe(self, share: float, text: str) -> str:
        """What is said while it runs."""
        return text

    def listen(self, listener: TaskListener[T] | None) -> None:
        """Tell this one from now on, with its lock held, instead of any other; None: nobody.

        One that comes after the end is told at once.
        """
        with self._lock:
            outcome = self.outcome
            self.listener = listener if outcome is None else None  # a page is not kept by its task
        if listener is not None and outcome is not None:
            listener.ended(*outcome)

    def _run(self) -> None:
        result, wrong = None, ""
        try:
            queue = self._queue
            with queue.turn(self._wait, lambda: self.cancelling) if queue else nullcontext():
                self.began = time.monotonic()
                self.text = "starting"
                result = self.work.run(self._note)
        except CancelledError:
            result = self.so_far()
        except WorkbenchError as error:
            wrong = str(error)
        except Exception as error:
            logging.getLogger(__name__).exception("The %s failed", self.name)
            wrong = f"The {self.name} failed: {type(error).__name__}: {error}"
        while not self._end(result, wrong):
            pass

    def _end(self, result: T | None, wrong: str) -> bool:
        """Tell whoever listens; False where another came meanwhile."""
        listener = self.listener
        if listener is None:
            with self._lock:
                if self.listener is not None:
                    return False
                self.outcome = result, wrong
            if result is not None:
                try:
                    self.keep(result)
                except WorkbenchError:
                    logging.getLogger(__name__).exception("The result is not kept")
            return True
        with listener.lock:
            with self._lock:
                if self.listener is not listener:
                    return False
                self.outcome, self.listener = (result, wrong), None
            listener.ended(result, wrong)
            listener.changed()
        return True

    def _wait(self, text: str) -> None:
        self._tell(0.0, text)

    def _note(self, share: float, text: str) -> None:
        self._tell(share, self.describe(share, text))

    def _tell(self, share: float, text: str) -> None:
        listener = self.listener
        if listener is None:
            self.share, self.text = share, text
            return
        with listener.lock:
            if not self.cancelling:
                self.share, self.text = share, text
                listener.changed()


def run_in_background(name: str, run: Callable[[], T], listener: TaskListener[T]) -> None:
    """Call ``run`` in a thread; the listener gets what it returned or what went wrong."""
    BackgroundTask(name, FunctionWork(lambda _: run()), listener).start()


# Tasks by the session that they belong to.

K = TypeVar("K", bound=BackgroundTask[Any])


class OwnedTasks(Generic[K]):
    """Tasks by session, so that the next page of a session finds them. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks: dict[str, K] = {}

    def put(self, owner: str, task: K) -> None:
        """It is this owner's."""
        with self._lock:
            self._tasks.pop(owner, None)
            self._tasks[owner] = task
            ended = [owner for owner, each in self._tasks.items() if each.outcome is not None]
            for owner in ended[:-MOST_ENDED]:
                del self._tasks[owner]

    def find(self, owner: str) -> K | None:
        """The one that this owner has."""
        with self._lock:
            return self._tasks.get(owner)

    def drop(self, task: K) -> None:
        """Drop the task: the next page of the session does not find it."""
        with self._lock:
            for owner in [owner for owner, known in self._tasks.items() if known is task]:
                del self._tasks[owner]


class SessionTask(Generic[K]):
    """The last task of one kind that a page began, or that an earlier page of its session did.

    Every method is called with the listener's lock held.
    """

    def __init__(self, listener: TaskListener[Any], tasks: OwnedTasks[K]) -> None:
        """``tasks`` are those of the kind, of all sessions of this process."""
        self.listener = listener
        self.last: K | None = None
        self._tasks = tasks
        self._owner = ""

    @property
    def running(self) -> K | None:
        """The task if it has not ended."""
        return self.last if self.last is not None and self.last.outcome is None else None

    def start(self, task: K) -> None:
        """Begin a task, whose listener is this one's."""
        self.last = task
        if self._owner:
            self._tasks.put(self._owner, task)
        task.start()

    def cancel(self) -> bool:
        """Stop the running task; False without one, or for another page of the session."""
        task = self.running
        if task is None or task.cancelling or task.listener is not self.listener:
            return False
        task.cancel()
        return True

    def own(self, owner: str) -> K | None:
        """Attach to a session. Returns the task that an earlier page started."""
        self._owner = owner
        found = self._tasks.find(owner)
        if self.last is not None:
            self._tasks.put(owner, self.last)
            return None
        self.last = found
        return found

    def leave(self) -> None:
        """The page is gone: what runs goes on, and the session's next page finds it."""
        task = self.running
        if task is None or task.listener is not self.listener:
            return
        if self._owner:
            task.listen(None)
        else:
            task.cancel()

    def forget(self) -> None:
        """Drop a task that has ended, for the next page of the session too."""
        if self.last is not None and self.running is None:
            self._tasks.drop(self.last)
            self.last = None
