"""What slow files cost their batch: by formula, and one folder for real."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from workbench.bench.records.stage_report import batch_time, file_times, time_files
from workbench.engine import Engine
from workbench.graph import load_recipe
from workbench.sources import open_datasets


def test_a_batch_is_ready_when_its_last_image_is() -> None:
    assert batch_time([1.0] * 8, 4) == 2.0
    assert batch_time([1.0] * 8 + [10.0], 4) == 10.0, "the longest first, the others beside it"
    assert batch_time([3.0, 3.0, 2.0, 2.0, 2.0], 2) == 7.0


def test_a_slow_file_is_named_with_what_it_costs() -> None:
    names = [f"{number}.jpg" for number in range(100)]
    found = file_times(names, [*[1.0] * 99, 50.0], batch=16, threads=4)
    assert (found.files, found.median, found.slow) == (100, 1.0, 1)
    (one,) = found.slowest
    assert (one.file, one.milliseconds) == ("99.jpg", 50.0)
    assert one.adds == pytest.approx(46.0), "50 ms instead of 4: the other threads wait"
    assert found.blocked > 0.1
    assert found.without_slow > 1.2
    assert "1 (1.0%) take 2 times that or more" in found.words()


def test_where_none_is_slow_it_says_so() -> None:
    found = file_times(["a", "b", "c"], [1.0, 1.2, 1.1], batch=8, threads=2)
    assert found.slowest == ()
    assert found.without_slow == 1.0
    assert found.words() == "3 files decoded one by one: median 1.10 ms, none takes 2 times that"


def test_a_large_photo_among_small_ones_for_real(tmp_path: Path) -> None:
    folder = tmp_path / "class"
    folder.mkdir()
    for number in range(12):
        Image.effect_noise((96, 96), 50).convert("RGB").save(folder / f"{number:02}.jpg")
    Image.effect_noise((1600, 1200), 50).convert("RGB").save(folder / "large.jpg")
    with Engine() as engine:
        found = engine.call(
            time_files, load_recipe("imagenet-train"), open_datasets(tmp_path), limit=60
        )
    assert found.files == 13
    assert found.slowest[0].file == "class/large.jpg"
    assert found.slowest[0].milliseconds > 5 * found.median
