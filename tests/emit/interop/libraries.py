"""The libraries that exports are written for, imported where they are installed.

torchvision's wheels bring operators compiled for another PyTorch than one for the CPU alone; its
transforms need none of them, only their names.
"""

from __future__ import annotations

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

_OPERATORS = (
    "nms(Tensor dets, Tensor scores, float threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float threshold) -> Tensor",
    "roi_align(Tensor x, Tensor rois, float scale, int h, int w, int r, bool aligned) -> Tensor",
    "roi_pool(Tensor x, Tensor rois, float scale, int h, int w) -> (Tensor, Tensor)",
    "ps_roi_align(Tensor x, Tensor rois, float s, int h, int w, int r) -> (Tensor, Tensor)",
    "ps_roi_pool(Tensor x, Tensor rois, float s, int h, int w) -> (Tensor, Tensor)",
)


def stand_in_for_compiled_operators() -> None:
    """Give torchvision the names of the operators that it looks for and does not load."""
    import torch

    if find_spec("torchvision") is None:
        return
    try:
        import_module("torchvision")
    except (ImportError, RuntimeError):
        names = torch.library.Library("torchvision", "DEF")
        for schema in _OPERATORS:
            names.define(schema)
        _KEPT.append(names)


_KEPT: list[Any] = []


def missing(library: str) -> str:
    """Why a library cannot be used here; empty where it can."""
    os.environ.setdefault("NO_ALBUMENTATIONS_UPDATE", "1")  # it would ask for a newer one
    for name in ("torch", library):
        if find_spec(name) is None:
            return f"{name} is not installed"
    if library == "torchvision":
        stand_in_for_compiled_operators()
    try:
        import_module(library)
    except (ImportError, RuntimeError, AttributeError) as error:
        return f"{library} does not load: {error}"
    return ""


def require(library: str) -> None:
    """Skip the test, with a message, if a library is missing."""
    if reason := missing(library):
        pytest.skip(f"not executed: {reason}")
