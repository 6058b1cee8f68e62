"""``diff`` finds planted differences, and none between equal pipelines."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import workbench as wb
from tests.pipeline_difference.planted import CAUSES, PAIRS, function_of, graph_of, write_photos

needs_opencv = pytest.mark.skipif(find_spec("cv2") is None, reason="OpenCV is not installed")
_PLAIN = ("no antialiasing",)
"""Planted alone in the plain run; the others run with the thorough tests."""


@pytest.fixture(scope="module")
def varied(photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_photos(photos, tmp_path_factory.mktemp("varied") / "photos", 24)


def kinds_of(planted: tuple[str, ...], data: Path) -> list[str]:
    found = wb.diff(graph_of(data, planted), function_of(planted), data)
    assert found.rest < 0.5, found
    return [each.kind for each in found.causes]


@needs_opencv
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in _PLAIN else pytest.mark.thorough) for n in CAUSES]
)
def test_a_planted_difference_is_the_only_cause(name: str, varied: Path) -> None:
    assert kinds_of((name,), varied) == [CAUSES[name]]


@pytest.mark.thorough
@needs_opencv
@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_both_planted_differences_are_causes(pair: tuple[str, str], varied: Path) -> None:
    assert {CAUSES[name] for name in pair} <= {*kinds_of(pair, varied)}


def test_a_smaller_range_of_the_values_does_not_explain_a_rotation(photos: Path) -> None:
    def rotated(data: bytes) -> NDArray[np.float32]:
        return np.rot90(function_of(())(data), axes=(1, 2))

    found = wb.diff(function_of(()), rotated, photos, 8)
    assert found.mean > 1
    assert not found.causes, found


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 21))]
)
def test_equal_pipelines_have_no_cause(seed: int, photos: Path, tmp_path: Path) -> None:
    data = write_photos(photos, tmp_path / "photos", 12, seed)
    found = wb.diff(graph_of(data, ()), function_of(()), data)
    assert not found.causes
    assert found.mean < 0.2
