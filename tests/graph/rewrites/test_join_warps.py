"""Warps and rotations as one: near on what is smooth, and by the right matrix."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import difference, done, ops, require_near, start
from tests.thorough import one_in
from workbench.graph import Graph

NAME = "join-warps"
ONE, OTHER = (1.0, 0.02, 1.0, -0.02, 1.0, 2.0), (1.02, 0.0, -1.0, 0.0, 0.98, 1.0)
SMOOTH = start().gaussian_blur(sigma=3.0)


def angle() -> wb.DataNode:
    return wb.random.uniform(range=(-1.0, 1.0))


@pytest.mark.thorough
def test_matrices_are_multiplied(photos: Path) -> None:
    graph = SMOOTH.warp_affine(matrix=ONE, fill_value=0.0).warp_affine(matrix=OTHER, fill_value=0.0)
    after = done(graph, NAME)
    assert ops(after)[3:] == ["warp_affine"]
    swapped = SMOOTH.warp_affine(matrix=OTHER, fill_value=0.0)
    swapped = swapped.warp_affine(matrix=ONE, fill_value=0.0)
    found = difference(graph, after, photos)
    assert found.psnr > difference(graph, done(swapped, NAME), photos).psnr


@pytest.mark.parametrize(
    "graph",
    one_in(
        3,
        [
            SMOOTH.rotate(angle=1.0, keep_size=True).rotate(angle=0.5, keep_size=True),
            SMOOTH.rotate(angle=angle(), keep_size=True).rotate(angle=0.5, keep_size=True),
            SMOOTH.rotate(angle=angle(), keep_size=True).rotate(angle=angle(), keep_size=True),
        ],
        first=1,
    ),
    ids=["fixed", "one drawn", "both drawn"],
)
def test_angles_are_added(graph: Graph, photos: Path) -> None:
    after = done(graph, NAME)
    assert [op for op in ops(after) if op == "rotate"] == ["rotate"]
    found = difference(graph, after, photos)
    assert found.psnr > 25, found.psnr  # of the whole: at the edges the first cut pixels off


def test_fed_matrices_are_combined(photos: Path) -> None:
    turn = wb.fn.transforms.rotation(angle=angle())
    move = wb.fn.transforms.translation(offset=(1.0, 2.0))
    graph = SMOOTH.warp_affine(matrix=turn, fill_value=0.0)
    graph = graph.warp_affine(matrix=move, fill_value=0.0)
    after = done(graph, NAME)
    assert ops(after).count("warp_affine") == 1
    assert difference(graph, after, photos).psnr > 25


def test_matrices_that_are_inverted_stay() -> None:
    graph = SMOOTH.warp_affine(matrix=ONE, inverse_map=False).warp_affine(matrix=OTHER)
    assert done(graph, NAME) == graph


def test_small_warps_are_near(photos: Path) -> None:
    tiny = (1.0, 0.0, 0.25, 0.0, 1.0, 0.25)
    graph = SMOOTH.warp_affine(matrix=tiny).warp_affine(matrix=tiny)
    require_near(graph, done(graph, NAME), photos)
