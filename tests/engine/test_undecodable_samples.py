from __future__ import annotations

import io

import numpy as np
import pytest
import tifffile

from workbench.engine.reading.encoded_images import crash_reason, placeholder_jpeg
from workbench.engine.reading.undecodable_samples import (
    Sample,
    check_samples,
    replace_samples,
)

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


@pytest.mark.parametrize("turned", range(1, 9))
def test_turned_tiffs_on_which_dali_crashes_without_turning_are_named(turned: int) -> None:
    grey = np.zeros((4, 6), np.uint8)
    kinds = {"minisblack": (grey,), "miniswhite": (grey, grey.astype(np.uint16))}
    for photometric, images in kinds.items():
        for pixels in images:
            buffer = io.BytesIO()
            tags = [(0x0112, "H", 1, turned, True)]
            tifffile.imwrite(buffer, pixels, photometric=photometric, extratags=tags)
            crashes = photometric == "miniswhite" and turned >= 5
            assert bool(crash_reason(buffer.getvalue())) == crashes
            encoded = [np.frombuffer(buffer.getvalue(), np.uint8)]
            for args, named in (({"adjust_orientation": False}, crashes), ({}, False)):
                (sample,) = check_samples(["a.tif"], encoded, {}, "decoders.image", args)
                assert ("adjust_orientation" in sample.error) == named
