"""What ``make test`` takes of the many cases that ``make test-all`` runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

EXAMPLES = 50
"""Examples of a Hypothesis test that names no number, in the profile ``quick``."""
THOROUGH_TIMES = 20
"""As many times more examples has the profile ``thorough``."""


def examples(quick: int, thorough: int | None = None) -> settings:
    """So many examples in the profile ``quick``, and in another as many times more as it has.

    With ``thorough`` the profile of this name has so many, and others in step with it.
    """
    times = settings().max_examples // EXAMPLES
    if thorough is not None and times > 1:
        return settings(max_examples=thorough * times // THOROUGH_TIMES)
    return settings(max_examples=quick * times)


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
