from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workbench.engine.encoded_images import placeholder_jpeg
from workbench.engine.undecodable_samples import (
    Sample,
    check_samples,
    outside_roots,
    replace_samples,
)
from workbench.roots import Roots

GOOD = placeholder_jpeg()
BAD = np.frombuffer(b"no image", np.uint8)


def test_each_sample_gets_its_own_reason() -> None:
    half = GOOD[: len(GOOD) // 2]
    samples = check_samples(
        ["a.jpg", "b.jpg", "c.jpg", "d/d.jpg"],
        [GOOD, BAD, half, GOOD],
        {"d/d.jpg": "no permission to read it"},
    )
    assert samples[0] == Sample("a.jpg")
    assert samples[1] == Sample("b.jpg", "text, not an image")
    assert samples[2].error == ""
    assert "ends early" in samples[2].warning
    assert samples[3] == Sample("d/d.jpg", "no permission to read it")


def test_a_bad_sample_is_replaced_by_a_good_neighbour() -> None:
    other = np.concatenate([GOOD, np.zeros(3, np.uint8)])
    samples = [Sample("a", "bad"), Sample("b"), Sample("c", "bad"), Sample("d")]
    assert [len(a) for a in replace_samples([BAD, other, BAD, GOOD], samples)] == [
        len(other),
        len(other),
        len(other),
        len(GOOD),
    ]


def test_where_none_is_good_a_plain_picture_stands_in() -> None:
    (only,) = replace_samples([BAD], [Sample("a", "bad")])
    assert np.array_equal(only, GOOD)


def test_files_outside_the_roots_of_the_worker_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link.jpg").symlink_to("/etc/hostname")
    files = ["a.jpg", "link.jpg", "../b.jpg", "/etc/hostname"]
    assert outside_roots(files, str(tmp_path)) == {}
    for name, value in Roots.of([tmp_path]).environment.items():
        monkeypatch.setenv(name, value)
    told = outside_roots(files, str(tmp_path))
    assert list(told) == files[1:]
    assert "symbolic link" in told["link.jpg"]
