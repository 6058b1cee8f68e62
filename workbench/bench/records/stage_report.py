"""What a run by stages found: the cost of each, and what it means. A record keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from workbench.bench.measuring.measurement import rate_figure, rate_words
from workbench.bench.records.slow_files import FileTimes

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
    exclusive: float | None = None
    """``adds`` with the noise taken out: none is below zero, and all together are the whole."""

    @property
    def is_nonnegative(self) -> bool:
        """Whether it was told from nothing: a difference below zero says only that it was not."""
        return self.adds is not None and self.adds >= 0

    @property
    def title(self) -> str:
        """The stage's name, and its operator's where that is another: ``color (color_twist)``."""
        return f"{self.stage} ({self.op})" if self.op not in ("", self.stage) else self.stage


@dataclass(frozen=True, slots=True)
class FunctionCost:
    """A function of the user: imgs/s of the graph with it and without it, None without a figure.

    ``adds`` is what a batch takes longer with it, in milliseconds, ``low`` to ``high`` the interval
    of that.
    """

    stage: str
    function: str
    adds: float | None = None
    low: float | None = None
    high: float | None = None
    rate: float | None = None
    without: float | None = None
    reason: str = ""
    """Why it was not measured."""
    frames: int = 0
    """As of ``Config``."""

    def words(self, total: float) -> str:
        """What it costs of a batch that takes ``total`` milliseconds."""
        name = f"{self.stage} (your function {self.function})"
        if self.adds is None or self.rate is None or self.without is None:
            return f"{name}: not measured without it, {self.reason}"
        spread = f"{self.low:.2f} to {self.high:.2f} ms"
        rates = f"{rate_words(self.rate, self.frames)} with it, "
        rates += f"{rate_figure(self.without, self.frames)} without"
        if (self.low or 0.0) <= 0:
            return f"{name}: no cost that could be told from nothing ({spread}); {rates}"
        return f"{name} takes {self.adds / total:.0%} of a batch's time ({spread}): {rates}"


@dataclass(frozen=True, slots=True)
class CriticalPath:
    """The stages that a batch waits for, and what runs beside them.

    DALI works at one operator of each kind at a time (``OperatorConcurrency.BACKEND``): a thread
    reads ahead, and operators of the CPU, mixed decoders and operators of the GPU work at
    different batches at once. The kind that is busy longest sets the pace.
    """

    stages: tuple[str, ...]
    milliseconds: float
    beside: Mapping[str, float]
    """Milliseconds of a batch of each other kind, by its name."""

    def words(self, total: float) -> str:
        """For a batch that takes ``total`` milliseconds."""
        text = f"critical path: {' → '.join(self.stages)}, {self.milliseconds:.1f} ms of work for "
        text += f"a batch of {total:.1f} ms"
        beside = ", ".join(f"{name} ({ms:.1f} ms)" for name, ms in self.beside.items())
        return f"{text}; beside it {beside}" if beside else text


@dataclass(frozen=True, slots=True)
class StageReport:
    """Milliseconds for a batch: the whole, its stages, and what the operators alone leave over."""

    stages: tuple[StageCost, ...]
    total: float
    remainder: float | None
    ceiling: float | None
    """imgs/s with reading and decoding for nothing; None where it was not measured."""
    bottleneck: str
    """Empty where the run was too unstable to name one: ``advice`` says why."""
    advice: str
    functions: tuple[FunctionCost, ...] = ()
    critical: CriticalPath | None = None
    """None where it is not known, or the run was too unstable for a verdict."""
    files: FileTimes | None = None
    files_reason: str = ""
    """Why files were not timed one by one."""
    gain: float | None = None
    """How many times as fast it would be with reading and decoding for nothing, at most."""

    @property
    def path_words(self) -> tuple[str, ...]:
        """The critical path, what a cached source would bring, and the slowest files."""
        found = [self.critical.words(self.total)] if self.critical else []
        if self.gain is not None:
            found.append(f"with the decoded batch cached at most {self.gain:.2f} times as fast")
        if self.files is None:
            return (*found, *([f"slowest files: {self.files_reason}"] * bool(self.files_reason)))
        slowest = (
            f"{one.file}: {one.milliseconds:.1f} ms, a batch that holds it takes "
            f"{one.adds:.1f} ms longer"
            for one in self.files.slowest
        )
        return (*found, self.files.words(), *slowest)

    @property
    def function_words(self) -> tuple[str, ...]:
        """What each function of the user costs against the rest."""
        return tuple(cost.words(self.total) for cost in self.functions)


def stages_of(record: Mapping[str, Any]) -> StageReport | None:
    """The stages in a record's ``extra``, or None."""
    found = record.get("stages")
    if not found:
        return None
    return msgspec.convert(found, StageReport)
