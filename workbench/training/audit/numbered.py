"""Generate images for an audit: equal images, and images whose colour encodes their number."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path

import numpy as np

SAMPLES = 203
"""Default number of images: odd, so that common batch sizes and numbers of ranks do not divide it.
"""
_HEIGHT, _WIDTH = 288, 352
_CLEAR = 3.0
"""Minimum distance between two colour levels, as a multiple of the variation within one level."""


def write_equal(folder: Path, count: int) -> Path:
    """Write ``count`` identical JPEG files, each in a class folder named after its number.

    Labels are then sample numbers, and outputs of different samples differ only by random values.
    """
    from PIL import Image

    chance = np.random.default_rng(38)
    picture = np.zeros((_HEIGHT, _WIDTH, 3))
    for cells in (3, 9, 29, 73):  # details of several sizes, without a period
        noise = chance.integers(0, 256, (cells, cells, 3), np.uint8)
        grown = Image.fromarray(noise).resize((_WIDTH, _HEIGHT), Image.Resampling.BICUBIC)
        picture += np.asarray(grown, np.float64) / 4
    first = _path(folder, 0, count, "jpg")
    Image.fromarray(picture.astype(np.uint8)).save(first, quality=95)
    for number in range(1, count):
        _path(folder, number, count, "jpg").write_bytes(first.read_bytes())
    return folder


def write_coloured(folder: Path, count: int) -> Path:
    """Write ``count`` PNG files of one colour each.

    The three channels are the digits of the file's number in base ``levels(count)``.
    """
    from PIL import Image

    base = levels(count)
    steps = np.linspace(40, 215, base).round().astype(int)
    for number in range(count):
        digits = (number // base**2, number // base % base, number % base)
        colour = tuple(int(steps[digit]) for digit in digits)
        image = Image.new("RGB", (_WIDTH, _HEIGHT), colour)
        image.save(_path(folder, number, count, "png"), compress_level=1)
    return folder


def levels(count: int) -> int:
    """Return the number of levels per colour channel that are needed for ``count`` colours."""
    return max(2, ceil(round(float(np.cbrt(count)), 9)))


def numbers_of(colours: Sequence[Sequence[float]], count: int) -> list[int] | None:
    """Decode the numbers of coloured images from the median colour of each output.

    The numbers survive crops, flips, scaling and normalisation; swapped channels permute them.
    Returns None if random changes of colour make the levels overlap.
    """
    base = levels(count)
    number = np.zeros(len(colours), int)
    for channel in np.asarray(colours, np.float64).T:
        order = np.sort(channel)
        gaps = np.diff(order)
        cuts = np.flatnonzero(gaps > np.ptp(order) / (2 * base))
        spread = max(float(np.ptp(part)) for part in np.split(order, cuts + 1))
        if len(cuts) >= base or (len(cuts) and gaps[cuts].min() <= _CLEAR * spread):
            return None
        if not len(cuts) and spread:
            return None
        edges = (order[cuts] + order[cuts + 1]) / 2
        number = number * base + np.searchsorted(edges, channel)
    return [int(each) for each in number]


def _path(folder: Path, number: int, count: int, suffix: str) -> Path:
    name = str(number).zfill(len(str(count - 1)))
    (folder / name).mkdir(parents=True, exist_ok=True)
    return folder / name / f"{name}.{suffix}"
