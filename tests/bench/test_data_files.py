"""The fingerprint of a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.bench.measuring.data_files import (
    fingerprint,
    folder_size,
    make_cache,
    resident_share,
)
from workbench.errors import CancelledError
from workbench.sources import open_datasets


def go_on() -> None:
    pass


def test_formats_are_told_by_content(photos_with_formats: Path) -> None:
    found = dict(fingerprint(open_datasets(photos_with_formats)).formats)
    assert found.pop("JPEG") >= 120
    assert {"PNG", "BMP", "TIFF", "WebP", "JPEG 2000", "PNM"} <= set(found)
    assert "other" not in found


def test_a_progressive_jpeg_is_its_own_format(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (64, 64)).save(tmp_path / "a.jpg", progressive=True)
    Image.new("RGB", (64, 64)).save(tmp_path / "b.jpg")
    assert dict(fingerprint(open_datasets(tmp_path)).formats) == {"JPEG": 1, "progressive JPEG": 1}


def test_count_and_bytes(photos: Path) -> None:
    found = fingerprint(open_datasets(photos))
    sizes = [path.stat().st_size for path in photos.rglob("*.jpg")]
    assert (found.files, found.size) == (len(sizes), sum(sizes))


def test_a_folder_that_takes_too_long_has_no_size(
    photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.bench.measuring.data_files.SCAN_SECONDS", -1.0)
    assert folder_size(open_datasets(photos)) == (None, None)
    assert fingerprint(open_datasets(photos)).mean_size is None


def test_reading_can_be_cancelled(photos: Path) -> None:
    def stop() -> None:
        raise CancelledError("Cancelled.")

    with pytest.raises(CancelledError):
        fingerprint(open_datasets(photos), stop)


# Whether the files of a folder are in memory.


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


def test_warming_can_be_cancelled(photos: Path) -> None:
    def stop() -> None:
        raise CancelledError("Cancelled.")

    with pytest.raises(CancelledError):
        make_cache(open_datasets(photos), "warm", stop)
    with pytest.raises(CancelledError):
        resident_share(open_datasets(photos), stop)
