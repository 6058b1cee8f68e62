"""Whether the files of a folder are in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.bench.measuring.data_files import make_cache, resident_share
from workbench.errors import CancelledError
from workbench.sources import open_datasets


def go_on() -> None:
    pass


def test_warm_and_cold(photos: Path) -> None:
    warm = make_cache(open_datasets(photos), "warm", go_on)
    assert warm.state == "warm"
    assert "120 files" in warm.how
    if warm.resident is None:
        pytest.skip("this file system does not tell what is in memory")
    assert warm.resident > 0.99
    cold = make_cache(open_datasets(photos), "cold", go_on)
    assert cold.resident is not None
    assert "POSIX_FADV_DONTNEED" in cold.how
    assert resident_share(open_datasets(photos)) == pytest.approx(cold.resident), (
        "looking does not read"
    )
    assert make_cache(open_datasets(photos), "as found", go_on).state == "as found"


def test_reading_can_be_cancelled(photos: Path) -> None:
    def stop() -> None:
        raise CancelledError("Cancelled.")

    with pytest.raises(CancelledError):
        make_cache(open_datasets(photos), "warm", stop)
    with pytest.raises(CancelledError):
        resident_share(open_datasets(photos), stop)
