"""What ``make test`` takes of the many cases that ``make test-all`` runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

EXAMPLES = 20
"""Examples of a Hypothesis test that names no number, in the profile ``quick``."""
THOROUGH_EXAMPLES = 1000
"""The same in the profile ``thorough``. CI runs a share of these tests with each commit."""
SOAK_EXAMPLES = 10_000
"""The same in the profile ``soak``."""


def examples(quick: int, thorough: int | None = None) -> settings:
    """Settings with ``quick`` examples in that profile and ``thorough`` in the other.

    By default ``thorough`` is 20 times ``quick``. The profile ``soak`` has 10 times ``thorough``.
    """
    profile = settings().max_examples
    if profile == EXAMPLES:
        return settings(max_examples=quick)
    return settings(max_examples=(thorough or 20 * quick) * profile // THOROUGH_EXAMPLES)


def one_in(count: int, values: Iterable[Any], first: int = 0) -> list[Any]:
    """Cases for ``parametrize``: from ``first`` on every ``count``-th, the others thorough."""
    return [
        value
        if index % count == first
        else pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.thorough
        )
        for index, value in enumerate(values)
    ]
