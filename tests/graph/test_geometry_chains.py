"""Boxes, points and masks through hundreds of random chains, against where the pixels went."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.graph.annotations.geometry_chains import whole_chain, worst_of
from tests.graph.annotations.ramps import write_ramps


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


def _check(folder: Path, seeds: range, device: str = "cpu") -> None:
    far = {
        seed: (errors, [node.op for node in whole_chain(folder, seed).nodes])
        for seed, errors in worst_of(folder, seeds, device).items()
        if errors.box > 0.5 or errors.iou < 0.98 or errors.point > 0.5 or errors.mask > 1.0
    }
    assert far == {}


def test_all_targets_follow_six_chains(folder: Path) -> None:
    _check(folder, range(6))


@pytest.mark.thorough
def test_all_targets_follow_hundreds_of_chains(folder: Path) -> None:
    _check(folder, range(6, 306))


@pytest.mark.gpu
@pytest.mark.timeout(900)
def test_all_targets_follow_a_thousand_chains_on_the_gpu(folder: Path) -> None:
    _check(folder, range(1000), "mixed")
