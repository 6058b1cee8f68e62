"""What a run by stages found: the cost of each, and what it means. A record keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

READ, DECODE, OPERATOR, COPY = "read", "decode", "operator", "copy"
CEILING = "ceiling: decoded batch cached"


@dataclass(frozen=True, slots=True)
class StageCost:
    """One stage; times are milliseconds for a batch, None where they were not measured.

    ``adds`` is what the prefix up to it takes more than the one before, and ``low`` to ``high`` the
    interval of that, of rounds side by side. ``alone`` is what the operator takes by itself, ``op``
    its name, empty for a stage that is none.
    """

    stage: str
    kind: str
    device: str
    adds: float | None
    alone: float | None
    op: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def title(self) -> str:
        """The stage's name, and its operator's where that is another: ``color (color_twist)``."""
        return f"{self.stage} ({self.op})" if self.op not in ("", self.stage) else self.stage


@dataclass(frozen=True, slots=True)
class StageReport:
    """Milliseconds for a batch: the whole, its stages, and what the operators alone leave over."""

    stages: tuple[StageCost, ...]
    total: float
    remainder: float | None
    ceiling: float | None
    """imgs/s with reading and decoding for nothing; None where it was not measured."""
    bottleneck: str
    advice: str


def stages_of(record: Mapping[str, Any]) -> StageReport | None:
    """The stages in a record's ``extra``, or None."""
    found = record.get("stages")
    if not found:
        return None
    return msgspec.convert(found, StageReport)
