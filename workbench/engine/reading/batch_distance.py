"""Batches that lie too far away: what leads to them is looked at, and refused where it is long."""

from __future__ import annotations

from workbench.errors import DataError

_JUDGED_AFTER = 2.0
"""Seconds that tell how long the rest takes."""
_LONGEST = 40.0
"""Seconds; the worker must answer within a minute."""


def require_near(asked: int, last: int, at: int, first: int, seconds: float, way: str) -> None:
    """Raise DataError where batch ``last``, which gives what was ``asked``, is too far away.

    ``seconds`` is how long it took from ``first`` to ``at``, and ``way`` why none can be left out.
    """
    if at == first or seconds < _JUDGED_AFTER:
        return
    rate = (at - first) / seconds
    left = (last - at) / rate
    if left > _LONGEST:
        reach = first + int(rate * _LONGEST)
        raise DataError(
            f"Batch {asked:,} is about {_duration(left)} away: {way}. "
            f"Give one up to about {reach:,}."
        )


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:,.0f} minutes" if seconds < 7200 else f"{seconds / 3600:,.0f} hours"
