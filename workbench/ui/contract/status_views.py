"""What the status line shows, in the way of ``views.py``, and how it is put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from workbench.ui.contract.views import FaultEntry


class LastSpeed(TypedDict):
    """The last measured speed of the present graph on this machine."""

    device: Literal["cpu", "mixed"]
    rate: float
    """imgs/s of the whole pipeline, the median."""
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""
    when: str
    """ISO 8601, with its zone; empty where it is not recorded."""
    settings: str
    """``batch 64 · 4 threads · prefetch 2``."""
    unstable: bool


class KeptState(TypedDict):
    """Whether the edits outlive the session."""

    state: Literal["kept", "waiting", "not kept"]
    text: str
    reason: str
    """Why they are not kept, or not yet; else empty."""


def status_fields(
    faults: Sequence[FaultEntry], speeds: Sequence[LastSpeed], kept: KeptState
) -> dict[str, Any]:
    """Every field of the component."""
    return {"faults": list(faults), "speeds": list(speeds), "kept": kept}
