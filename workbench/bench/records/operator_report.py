"""Store and format the cost of each operator alone, in DALI and in other libraries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from workbench.bench.measuring.measurement import Measurement
from workbench.bench.measuring.stats import Interval, median_interval

RATES = "imgs/s"
COSTS = "µs per image that the operator adds"
HOW = (
    "Compared with decoding alone for operators that set the image size, else with decoding and "
    "a resize to 256 x 256, in interleaved rounds; ± is the wider half of the interval, ~ a "
    "single round."
)
OTHER_PIXELS = "* not the same augmentation as DALI's: its pixels differ too much"
_OTHER = " *"
_GAP = 3
"""Number of spaces between table columns."""


@dataclass(frozen=True, slots=True)
class OperatorCost:
    """Cost of an operator in one program. An entry without ``op`` is a baseline.

    ``rate`` is in imgs/s. ``adds`` is the time per image in microseconds that the operator adds to
    the baseline ``base``, with the confidence interval ``low`` to ``high``. They are None if not
    measured, for the given ``reason``. ``is_same`` is True if the pixels equal DALI's.
    """

    node: str
    op: str
    program: str
    device: str
    base: str = ""
    rate: float | None = None
    adds: float | None = None
    low: float | None = None
    high: float | None = None
    rounds: int = 0
    """Number of pairs of rounds. With a single pair, there is no interval."""
    reason: str = ""
    is_same: bool = True
    figure: str = ""
    """``rate`` as text, a range if it is not known within 3 %. Earlier records lack it."""

    @property
    def column(self) -> str:
        """Name of the table column: ``DALI, mixed`` or ``Albumentations``."""
        return f"{self.program}, {self.device}" if self.program == "DALI" else self.program

    @property
    def title(self) -> str:
        """Id of the node, with its operator if the names differ: ``color (color_twist)``."""
        return f"{self.node} ({self.op})" if self.op not in ("", self.node) else self.node


def cost_of(cost: OperatorCost, row: Measurement, base: Measurement | None) -> OperatorCost:
    """Return ``cost`` with the rate of ``row``, and the time that it adds to the baseline."""
    cost = replace(cost, rate=row.median, figure=row.figure, reason=row.reason)
    if base is None or not row.rounds or not base.rounds:
        return cost
    found = added(row.imgs_per_s, base.imgs_per_s)
    pairs = min(len(row.rounds), len(base.rounds))
    return replace(cost, adds=found.median, low=found.low, high=found.high, rounds=pairs)


def added(rates: Sequence[float], base: Sequence[float]) -> Interval:
    """Return the additional microseconds per image of ``rates`` (imgs/s) compared with ``base``.

    Values with the same index were measured next to each other, so slowdowns that affect both
    cancel, as in ``paired_ratio``.
    """
    pairs = zip(rates, base, strict=False)
    return median_interval([1e6 / own - 1e6 / other for own, other in pairs])


def operators_of(extra: Mapping[str, Any]) -> tuple[OperatorCost, ...]:
    """Return the operator costs in a record's ``extra``, or an empty tuple if there are none."""
    return tuple(msgspec.convert(extra.get("operators", []), list[OperatorCost]))


def operator_lines(costs: Sequence[OperatorCost]) -> list[str]:
    """Return two tables as lines, with operators as rows and programs as columns.

    The tables are followed by the reasons for empty cells.
    """
    if not costs:
        return []
    measured = {cost.column for cost in costs if cost.rate is not None}
    columns = list(dict.fromkeys(cost.column for cost in costs if cost.column in measured))
    lines = _table(RATES, costs, columns, _rate)
    lines += ["", *_table(COSTS, [cost for cost in costs if cost.op], columns, cost_text)]
    lines += ["", HOW]
    if any(not cost.is_same for cost in costs):
        lines.append(OTHER_PIXELS)
    return lines + _reasons(costs, measured)


def _table(
    title: str,
    costs: Sequence[OperatorCost],
    columns: Sequence[str],
    cell: Callable[[OperatorCost], str],
) -> list[str]:
    known = {(cost.title, cost.column): cell(cost) for cost in costs}
    rows = [
        [name, *(known.get((name, column), "") for column in columns)]
        for name in dict.fromkeys(cost.title for cost in costs)
    ]
    every = [[title, *columns], *rows]
    wide = [max(len(row[at]) for row in every) for at in range(len(columns) + 1)]
    return [
        (" " * _GAP)
        .join(
            text.rjust(width) if at else text.ljust(width)
            for at, (text, width) in enumerate(zip(row, wide, strict=True))
        )
        .rstrip()
        for row in every
    ]


def _rate(cost: OperatorCost) -> str:
    return "-" if cost.rate is None else cost.figure or f"{cost.rate:,.0f}"


def cost_text(cost: OperatorCost) -> str:
    """Format microseconds with their interval, ``1,203 ±55``. A mark shows that pixels differ."""
    if cost.adds is None or cost.low is None or cost.high is None:
        return "-"
    spread = f" ±{max(cost.high - cost.adds, cost.adds - cost.low):,.0f}"
    figure = f"{cost.adds:,.0f}{spread}" if cost.rounds > 1 else f"~{cost.adds:,.0f}"
    return figure + _OTHER * (not cost.is_same)


def _reasons(costs: Sequence[OperatorCost], measured: set[str]) -> list[str]:
    where: dict[tuple[str, str], list[str]] = {}
    for cost in costs:
        if cost.rate is None:
            where.setdefault((cost.column, cost.reason), []).append(cost.title)
    return [
        f"{column}{', ' * (column in measured)}{', '.join(names) * (column in measured)}: {reason}"
        for (column, reason), names in where.items()
    ]
