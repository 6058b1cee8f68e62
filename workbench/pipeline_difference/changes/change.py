"""Define a change of one side that may explain a difference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.pipeline_difference.steps import DECODE, FUNCTION, Side, Step

ARGUMENT, OTHER, IMITATED, OUTSIDE, FITTED = range(5)
"""Ranks of changes. If changes explain a difference equally well, the lowest rank is chosen."""
MEANS = {
    "ImageNet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "0.5": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "CLIP": ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)),
    "CIFAR-10": ((0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)),
    "none, 0 to 1": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
}
"""Mean and standard deviation per channel of common normalisations by name, for pixels of 0..1."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one side that is tried as an explanation of the difference.

    ``cause`` is a name such as ``antialias``, and ``text`` is the changed code. ``apply`` returns
    the changed side, or None if the side no longer has the step.
    """

    cause: str
    label: str
    text: str
    rank: int
    apply: Callable[[Side], Side | None]


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts about the images and the environment that determine which changes are tried."""

    alpha: bool = False
    has_opencv: bool = False


def decoding(function: Callable[[bytes], Any], text: str) -> Step:
    """Return a decoding step that calls ``function`` with the encoded bytes."""
    return Step((DECODE,), text, FUNCTION, function, text)
