"""Represent recorded calls of another library's classes and functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value that is known only by name, such as ``cv2.BORDER_CONSTANT``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class RandomValue:
    """A uniform random number that a script samples. Integer ranges include both ends."""

    low: float
    high: float
    whole: bool = False


_CALL, _NAME, _DRAWN = "call", "name", "drawn"


@dataclass(frozen=True, slots=True)
class TransformCall:
    """A transform with its arguments.

    Arguments are numbers, strings, lists, ``NamedValue``, ``RandomValue`` and calls.
    """

    name: str
    """Class name with module, such as ``torchvision.transforms.Resize``."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    """Location in the user's code, such as ``train.py:12``."""

    @property
    def library(self) -> str:
        """Name of the library: ``torchvision``, ``albumentations``, ``kornia`` or ``timm``."""
        return self.name.partition(".")[0]

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]


def to_plain(value: Any) -> Any:
    """Convert a call and its arguments to lists, dictionaries and scalars."""
    if isinstance(value, NamedValue):
        return {_NAME: value.name}
    if isinstance(value, RandomValue):
        return {_DRAWN: [value.low, value.high, value.whole]}
    if isinstance(value, TransformCall):
        args, kwargs = to_plain(list(value.args)), to_plain(dict(value.kwargs))
        return {_CALL: [value.name, args, kwargs, value.place]}
    if isinstance(value, Mapping):
        return {"values": [[name, to_plain(each)] for name, each in value.items()]}
    return [to_plain(each) for each in value] if isinstance(value, list | tuple) else value


def from_plain(value: Any) -> Any:
    """Convert the result of ``to_plain`` back to calls. Tuples become lists."""
    if isinstance(value, list):
        return [from_plain(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    if _NAME in value:
        return NamedValue(value[_NAME])
    if _DRAWN in value:
        return RandomValue(*value[_DRAWN])
    if _CALL in value:
        name, args, kwargs, place = value[_CALL]
        return TransformCall(name, tuple(from_plain(args)), from_plain(kwargs), place)
    return {name: from_plain(each) for name, each in value["values"]}
