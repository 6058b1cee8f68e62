from __future__ import annotations

import pytest

from workbench.engine.reading.batch_distance import require_near
from workbench.errors import DataError


def test_what_is_near_or_just_begun_is_not_refused() -> None:
    require_near(10**9, 10**9, 0, 0, 5.0, "why")
    require_near(10**9, 10**9, 3, 0, 0.1, "why")
    require_near(10**9, 700, 500, 0, 10.0, "why")


@pytest.mark.parametrize(
    ("last", "words"),
    [(5_000, "90 seconds"), (50_000, "16 minutes"), (10**9, "5,556 hours")],
)
def test_what_is_far_is_told_with_what_can_be_reached(last: int, words: str) -> None:
    with pytest.raises(DataError) as told:
        require_near(last, last, 500, 0, 10.0, "why")
    expected = f"Batch {last:,} is about {words} away: why. Give one up to about 2,000."
    assert str(told.value) == expected
