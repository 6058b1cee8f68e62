"""A mapping that cannot be changed, so that graphs are frozen to the bottom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from workbench.arguments import MAPPING, require_kind

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict that refuses every change in place; copies, pickles and becomes JSON as a dict does.

    ``types.MappingProxyType`` can neither be copied nor pickled nor written as JSON.
    """

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError(
            "A graph cannot be changed in place. Edits give a new one: "
            'graph["rotate"].set(angle=5), or wb.outputs for what it gives out.'
        )

    __setitem__ = _refuse
    __delitem__ = _refuse
    __ior__ = _refuse
    clear = _refuse
    pop = _refuse
    popitem = _refuse
    setdefault = _refuse
    update = _refuse

    def __reduce__(self) -> tuple[type[FrozenDict[K, V]], tuple[dict[K, V]]]:
        return FrozenDict, (dict(self),)


def frozen(mapping: Mapping[K, V]) -> FrozenDict[K, V]:
    """The mapping frozen; lists among its values become tuples, at every depth."""
    if type(mapping) is FrozenDict:
        return mapping
    require_kind("A mapping of a graph", mapping, MAPPING)
    return FrozenDict({key: _frozen_value(value) for key, value in mapping.items()})


def _frozen_value(value: Any) -> Any:
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return tuple(_frozen_value(item) for item in value)
    return value
