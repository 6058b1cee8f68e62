"""What the status line shows, in the way of ``views.py``, and how it is put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

from workbench.ui.views import FaultEntry


class FaultCount(TypedDict):
    """How many faults and warnings the graph has."""

    faults: int
    warnings: int
    first: str
    """The node of the first, or empty where it is of no node."""
    message: str
    """What the first says; empty where there is none."""


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


def fault_count(faults: Sequence[FaultEntry]) -> FaultCount:
    """Those that stop the graph come first."""
    stopping = [fault for fault in faults if not fault["warning"]]
    first = next(iter([*stopping, *faults]), None)
    return {
        "faults": len(stopping),
        "warnings": len(faults) - len(stopping),
        "first": first["node"] if first else "",
        "message": first["message"] if first else "",
    }


def status_fields(
    faults: Sequence[FaultEntry], speeds: Sequence[LastSpeed], kept: KeptState
) -> dict[str, Any]:
    """Every field of the component."""
    return {"faults": fault_count(faults), "speeds": list(speeds), "kept": kept}
