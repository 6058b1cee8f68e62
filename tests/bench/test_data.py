"""The folder's fingerprint, and whether its files are in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damaged import make_folder
from workbench.bench.data import (
    bad_files,
    fingerprint,
    folder_size,
    make_cache,
    resident_share,
)
from workbench.errors import CancelledError
from workbench.samples import write_samples
from workbench.sources import open_datasets


def go_on() -> None:
    pass


@pytest.fixture(scope="module")
def formats(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("formats")
    write_samples(folder, formats=True)
    return folder


def test_formats_are_told_by_content(formats: Path) -> None:
    found = dict(fingerprint(open_datasets(formats)).formats)
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
    monkeypatch.setattr("workbench.bench.data.LOOK_SECONDS", -1.0)
    assert folder_size(open_datasets(photos)) == (None, None)
    assert fingerprint(open_datasets(photos)).mean_size is None


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
        fingerprint(open_datasets(photos), stop)
    with pytest.raises(CancelledError):
        resident_share(open_datasets(photos), stop)


def test_no_more_than_three_bad_files_are_named(photos: Path, tmp_path: Path) -> None:
    bad, _ = make_folder(photos, tmp_path, ["text.jpg"] * 5)
    assert bad_files(open_datasets(bad), go_on).count("text, not an image") == 3
    assert bad_files(open_datasets(photos), go_on) == ""
