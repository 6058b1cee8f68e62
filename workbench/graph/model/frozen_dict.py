"""Provide an immutable dict for frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from workbench.arguments import MAPPING, require_kind
from workbench.errors import UnknownNameError, UnsupportedUseError
from workbench.names import did_you_mean

K = TypeVar("K")
V = TypeVar("V")
EDIT = "graph[NODE].set(ARGUMENT=...)"
"""Text for messages on how to change an argument."""


class FrozenDict(dict[K, V]):
    """An immutable dict that can be copied, pickled and serialised to JSON like a dict.

    ``types.MappingProxyType`` supports none of these.
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise UnsupportedUseError(
            "A graph cannot be changed in place. Edits return a new one: "
            f"{EDIT}, or wb.outputs for its outputs."
        )

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __missing__(self, key: K) -> NoReturn:
        known = f"Use one of: {', '.join(map(str, self))}." if self else "There are no entries."
        hint = did_you_mean(str(key), map(str, self), known)
        raise UnknownNameError(f"No entry is named {key!r}. {hint}")

    def __getattr__(self, name: str) -> NoReturn:
        fix = (
            f"Use an item: [{name!r}]." if name in self else f"It has {', '.join(map(str, self))}."
        )
        raise UnknownNameError(f"A mapping has no attribute {name!r}. {fix}")

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return FrozenDict, (dict(self),)


def frozen(mapping: Mapping[K, V]) -> FrozenDict[K, V]:
    """Return an immutable copy of a mapping. Lists among its values become tuples, recursively."""
    if type(mapping) is FrozenDict:
        return mapping
    require_kind("A mapping of a graph", mapping, MAPPING)
    return FrozenDict({key: _frozen_value(value) for key, value in mapping.items()})


def _frozen_value(value: Any) -> Any:
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return tuple(_frozen_value(item) for item in value)
    return value
