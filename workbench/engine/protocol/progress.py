"""Progress of a run, and its messages while the worker waits or does not answer."""

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
"""Hears the share that is done, 0 to 1, and what is being done."""
NO_ANSWER = "the worker does not answer"


class WorkerProgress:
    """A ``Progress`` whose ``on_silence`` and ``on_wait`` are those that an ``Engine`` takes.

    What they say is heard instead of what is being done, until that goes on. From any thread.
    """

    def __init__(self, listener: Progress = lambda share, text: None) -> None:
        self.listener = listener
        self._share = 0.0
        self._text = ""

    @classmethod
    def of(cls, listener: Progress) -> WorkerProgress:
        """The listener itself where it is one."""
        return listener if isinstance(listener, WorkerProgress) else cls(listener)

    def __call__(self, share: float, text: str) -> None:
        self._share, self._text = share, text
        self.listener(share, text)

    def part(self, begin: float, end: float, text: str = "") -> WorkerProgress:
        """That of a part of the work, from one share of the whole to another.

        ``text`` is heard instead of what the part says of itself, not of what its worker does.
        """
        return _Part(self, begin, end, text)

    def engine(self, stop: threading.Event) -> Engine:
        """One that measures and that this hears of. Once ``stop`` is set calls are cancelled."""
        return Engine(stop=stop, on_silence=self.on_silence, on_wait=self.on_wait, measures=True)

    def on_silence(self, silent: bool) -> None:
        """The worker has given no sign of life for a while, or answers again."""
        warn_of_silence(silent)
        self.tell(self._share, NO_ANSWER if silent else self._text)

    def on_wait(self, words: str) -> None:
        """The worker waits for memory; an empty text: no more."""
        self.tell(self._share, words or self._text)

    def tell(self, share: float, words: str) -> None:
        """Have this heard, and what is being done kept."""
        self.listener(share, words)


class _Part(WorkerProgress):
    def __init__(self, whole: WorkerProgress, begin: float, end: float, text: str) -> None:
        super().__init__(self._told)
        self._whole, self._begin, self._end, self._fixed = whole, begin, end, text

    def __call__(self, share: float, text: str) -> None:
        self._share, self._text = share, self._fixed or text
        self._whole(self._of_whole(share), self._text)

    def _told(self, share: float, words: str) -> None:
        self._whole.tell(self._of_whole(share), words)

    def _of_whole(self, share: float) -> float:
        return self._begin + share * (self._end - self._begin)


# A bar of progress in shells and notebooks, for calls that nobody else listens to.

P = ParamSpec("P")
T = TypeVar("T")
_MOST_TEXT = 60
"""Characters beside the bar."""


class InterruptedRunError(CancelledError):
    """A run was interrupted; a notebook shows one line of it."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@contextmanager
def share_bar() -> Iterator[Progress]:
    """A bar that hears the share that is done, 0 to 1, and what is being done."""
    with _bar(total=100, unit="%", bar_format="{l_bar}{bar}| {elapsed}") as bar:

        def on_progress(share: float, text: str) -> None:
            bar.set_description(text[:_MOST_TEXT], refresh=False)
            bar.update(max(0, round(100 * share) - bar.n))
            bar.refresh()

        yield on_progress


@contextmanager
def count_bar() -> Iterator[Callable[[int, int], None]]:
    """A bar that hears how many files are done, of how many."""
    with _bar(unit=" files") as bar:

        def on_progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield on_progress


def with_progress_bar(
    bar: Callable[[], AbstractContextManager[Any]] = share_bar,
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Let a function that is given no ``on_progress`` show a bar."""

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
def one_line_interrupt(words: str = "Interrupted.") -> Iterator[None]:
    """Make an interrupt one line in a notebook. Elsewhere it is what it always is."""
    try:
        yield
    except KeyboardInterrupt:
        if not _in_notebook():
            raise
        raise InterruptedRunError(words) from None


@contextmanager
def _bar(**options: Any) -> Iterator[Any]:
    from tqdm.auto import tqdm

    # None: not where the output is no terminal, which a notebook's is not either.
    hidden = False if _in_notebook() else None
    with one_line_interrupt(), tqdm(disable=hidden, **options) as bar:
        yield bar


def _in_notebook() -> bool:
    """Whether IPython runs this, which is not imported to find that out."""
    ipython = sys.modules.get("IPython")
    return ipython is not None and ipython.get_ipython() is not None
