"""Report the progress of a run, and messages while the worker waits or does not respond."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.protocol.process import Engine
from workbench.errors import CancelledError

Progress = Callable[[float, str], None]
"""Callback for progress: the completed fraction, 0 to 1, and a description of the current step."""
NO_ANSWER = "the worker does not respond"


class WorkerProgress:
    """A ``Progress`` that also shows messages about its worker, such as waiting for memory.

    These messages replace the description of the current step until the step continues. Thread-
    safe.
    """

    def __init__(self, listener: Progress = lambda share, text: None) -> None:
        self.listener = listener
        self._share = 0.0
        self._text = ""

    @classmethod
    def of(cls, listener: Progress) -> WorkerProgress:
        """Wrap ``listener`` in a WorkerProgress, unless it already is one."""
        return listener if isinstance(listener, WorkerProgress) else cls(listener)

    def __call__(self, share: float, text: str) -> None:
        self._share, self._text = share, text
        self.listener(share, text)

    def part(self, begin: float, end: float, text: str = "") -> WorkerProgress:
        """Return a ``Progress`` for a part of the work, between two fractions of the whole.

        ``text`` replaces the part's own descriptions, but not messages about its worker.
        """
        return _Part(self, begin, end, text)

    def engine(self, stop: threading.Event) -> Engine:
        """Create an engine for measurements that reports here. Setting ``stop`` cancels calls."""
        return Engine(stop=stop, on_silence=self.on_silence, on_wait=self.on_wait, measures=True)

    def on_silence(self, silent: bool) -> None:
        """Report that the worker does not respond (``silent``), or responds again."""
        warn_of_silence(silent)
        self.report(self._share, NO_ANSWER if silent else self._text)

    def on_wait(self, reason: str) -> None:
        """Report why the worker waits for memory. An empty text ends the message."""
        self.report(self._share, reason or self._text)

    def report(self, share: float, text: str) -> None:
        """Pass progress to the listener, without recording ``text`` as the current step."""
        self.listener(share, text)


class _Part(WorkerProgress):
    def __init__(self, whole: WorkerProgress, begin: float, end: float, text: str) -> None:
        super().__init__(self._report_part)
        self._whole, self._begin, self._end, self._fixed = whole, begin, end, text

    def __call__(self, share: float, text: str) -> None:
        self._share, self._text = share, self._fixed or text
        self._whole(self._of_whole(share), self._text)

    def _report_part(self, share: float, text: str) -> None:
        self._whole.report(self._of_whole(share), text)

    def _of_whole(self, share: float) -> float:
        return self._begin + share * (self._end - self._begin)


# A progress bar in shells and notebooks, for calls without a progress callback.

P = ParamSpec("P")
T = TypeVar("T")
_MOST_TEXT = 60
"""Maximum number of characters of the text next to the progress bar."""


class InterruptedRunError(CancelledError):
    """Raised if the user interrupts a run. A notebook shows one line instead of a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@contextmanager
def share_bar() -> Iterator[Progress]:
    """Context manager that shows a progress bar with the completed fraction and current step."""
    with _bar(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}") as bar:

        def on_progress(share: float, text: str) -> None:
            bar.set_description(text[:_MOST_TEXT], refresh=False)
            bar.update(max(0, round(100 * share) - bar.n))
            bar.refresh()

        yield on_progress


@contextmanager
def count_bar() -> Iterator[Callable[[int, int], None]]:
    """Context manager that shows a progress bar with the numbers of completed and all files."""
    with _bar(unit=" files") as bar:

        def on_progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield on_progress


def with_progress_bar(
    bar: Callable[[], AbstractContextManager[Any]] = share_bar,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that shows a progress bar if the caller passes no ``on_progress``."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        place = [*inspect.signature(function).parameters].index("on_progress")

        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> T:
            if "on_progress" in options or len(args) > place:
                return function(*args, **options)
            with bar() as options["on_progress"]:
                return function(*args, **options)

        return call

    return decorate


@contextmanager
def one_line_interrupt(message: str = "Interrupted.") -> Iterator[None]:
    """Context manager that, in a notebook, shortens the traceback of an interrupt to one line."""
    try:
        yield
    except KeyboardInterrupt:
        if not _in_notebook():
            raise
        raise InterruptedRunError(message) from None


@contextmanager
def _bar(**options: Any) -> Iterator[Any]:
    from tqdm.auto import tqdm

    # None: disabled if the output is not a terminal; neither is a notebook's.
    hidden = False if _in_notebook() else None
    with one_line_interrupt(), tqdm(disable=hidden, **options) as bar:
        yield bar


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
