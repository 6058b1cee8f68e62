"""Answers about graphs, kept for a while: between two edits the same is asked many times."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_KEPT = 4
"""Graphs: the one at hand, with and without its mixed decoder, and the one before the edit."""


def identity_cached(ask: Callable[P, T]) -> Callable[P, T]:
    """Keep the last few answers of a function of frozen things (a graph, a catalogue).

    They are told by identity, which is cheap and never wrong while they are kept. Nobody may change
    an answer: give it an immutable type.
    """
    answers: deque[tuple[tuple[Any, ...], T]] = deque(maxlen=_KEPT)

    @wraps(ask)
    def asked(*args: P.args, **options: P.kwargs) -> T:
        given = (*args, *options, *options.values())
        for known, answer in tuple(answers):
            if len(known) == len(given) and all(a is b for a, b in zip(known, given, strict=True)):
                return answer
        answer = ask(*args, **options)
        answers.append((given, answer))
        return answer

    return asked
