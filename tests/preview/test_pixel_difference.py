"""Figures of how far arrays lie apart."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.preview.facts.pixel_difference import DifferenceSums, difference, psnr_of


def test_the_figures_are_over_all_values() -> None:
    black, grey = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 10, np.uint8)
    found = difference([(black, black), (black, grey)])
    assert (found.mean, found.largest, found.equal) == (5.0, 10.0, 0.5)
    assert found.psnr == pytest.approx(10 * math.log10(255**2 / 50))
    assert found.psnr_words == "31.1 dB"


def test_equal_images_have_no_finite_psnr() -> None:
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert difference([(image, image)]).psnr_words == "equal"


def test_other_sizes_are_told() -> None:
    found = difference([(np.zeros((2, 2, 3), np.uint8), np.zeros((2, 3, 3), np.uint8))])
    assert not found.measured
    assert found.sizes == "(2, 2, 3), (2, 3, 3)"


def test_floats_that_are_near_count_as_equal_where_that_is_wanted() -> None:
    one, other = np.zeros(4), np.array([0.0, 0.1, 0.4, 2.0])
    strict, loose = DifferenceSums(), DifferenceSums()
    assert strict.add(one, other) == loose.add(one, other, 0.5) == pytest.approx(1.0425)
    assert (strict.same, loose.same) == (1, 3)


def test_what_is_not_finite_has_no_measure() -> None:
    sums = DifferenceSums()
    sums.add(np.zeros(2), np.array([0.0, math.nan]))
    assert sums.largest == math.inf
    assert psnr_of(sums.squared, 255.0) == 0.0
