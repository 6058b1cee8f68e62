"""A bar of progress in shells and notebooks, for calls that nobody else listens to."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from workbench.engine.protocol.worker_progress import Progress
from workbench.errors import CancelledError

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
