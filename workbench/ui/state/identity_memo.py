"""Computed values that are kept for as long as what they are computed from is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class IdentityMemo:
    """The last value of each function, computed anew only for other arguments.

    Arguments are compared by identity, which costs nothing however large they are: give it frozen
    things, or such as are replaced and never changed. Nobody may change a value. A function has a
    name of its own and is asked for one thing only, else its values drive each other out.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def __call__(self, compute: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """``compute(*args, **options)``, or what it gave for these very arguments last time."""
        name = f"{compute.__module__}.{compute.__qualname__}"
        given = (*args, *options.values())
        known = self._known.get(name)
        if known is None or not _same(known[0], given):
            self._known[name] = known = given, compute(*args, **options)
        value: T = known[1]
        return value


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
