"""A call of a library's class or function, as a composition holds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value of which only the name is known, such as ``cv2.BORDER_CONSTANT``."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class TransformCall:
    """A transformation with its arguments: numbers, texts, lists, ``NamedValue`` and calls."""

    name: str
    """Of the class, with its module: ``torchvision.transforms.Resize``."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""
    """The user's line, such as ``train.py:12``."""

    @property
    def library(self) -> str:
        """``torchvision``, ``albumentations``, ``kornia`` or ``timm``."""
        return self.name.partition(".")[0]

    @property
    def short_name(self) -> str:
        """The name of the class alone."""
        return self.name.rpartition(".")[2]
