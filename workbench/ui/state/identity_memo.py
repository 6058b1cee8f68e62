"""Cache for computed values, keyed by the identity of the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class IdentityMemo:
    """Cache for the last return value of each function.

    Arguments are compared by identity, so their size does not matter: pass frozen objects, or
    objects that are replaced and never modified. Cached values must not be modified. Each function
    needs its own name and one call site, otherwise calls evict each other's values.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[tuple[Any, ...], Any]] = {}

    def __call__(self, compute: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Return ``compute(*args, **options)``, cached if the arguments are the same objects."""
        name = f"{compute.__module__}.{compute.__qualname__}"
        given = (*args, *options.values())
        known = self._known.get(name)
        if known is None or not _same(known[0], given):
            self._known[name] = known = given, compute(*args, **options)
        value: T = known[1]
        return value


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
