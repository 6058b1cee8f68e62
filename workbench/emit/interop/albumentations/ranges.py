"""How Albumentations gives ranges and values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.emit.interop.common.images import number


def is_pair(value: Any) -> bool:
    """Whether it is a list of numbers."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def shifted(value: Any, by: float) -> tuple[float, float]:
    """A range, moved."""
    return number(value[0]) + by, number(value[1]) + by


def filling(fill: Any, value: Any) -> Any:
    """What is filled with: ``fill`` in version 2, ``value`` in version 1."""
    return (value if fill is None else fill) or 0


def range_of(value: Any) -> tuple[float, float]:
    """The range that Affine means: a number is that number itself."""
    if is_pair(value):
        return number(value[0]), number(value[1])
    return number(value), number(value)
