"""How far work in a worker is, and what is said while the worker waits or does not answer."""

from __future__ import annotations

import threading
from collections.abc import Callable

from workbench.engine.protocol.heartbeat import warn_of_silence
from workbench.engine.protocol.process import Engine

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
