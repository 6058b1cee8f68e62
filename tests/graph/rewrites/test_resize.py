"""Resizes, warps and rotations: joined, with crops and flips in them, in another order."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import cases, difference, done, ops, require_near, start
from tests.thorough import one_in
from workbench.graph import Graph

ONE, OTHER = (1.0, 0.02, 1.0, -0.02, 1.0, 2.0), (1.02, 0.0, -1.0, 0.0, 0.98, 1.0)
TINY = (1.0, 0.0, 0.25, 0.0, 1.0, 0.25)
SMOOTH = start().gaussian_blur(sigma=3.0)
TURNED = SMOOTH.rotate(angle=5.0, keep_size=True, fill_value=100.0)
SHORTER = start().resize(resize_shorter=80.0)
TWICE = start().resize(resize_shorter=120.0).resize(resize_shorter=80.0)


def angle() -> wb.DataNode:
    return wb.random.uniform(range=(-1.0, 1.0))


SQUARE = start().resize(size=(70.0, 90.0))
MATRIX = wb.fn.transforms.rotation(angle=angle(), center=(45.0, 35.0))
NEAR = {
    "crop-into-resize: a rounding at most": (
        SHORTER.crop(crop=(64, 63)).flip(horizontal=wb.random.coin_flip()),
        ["resize_crop_mirror"],
        1,
    ),
    "join-resizes: the last alone": (
        start().resize(resize_shorter=120.0).resize(size=(64.0, 64.0)),
        ["resize"],
        inf,
    ),
    "join-resizes: in proportion before a crop": (
        TWICE.crop_mirror_normalize(crop=(64, 64), std=(60.0,)),
        ["resize", "crop_mirror_normalize"],
        inf,
    ),
    "join-warps: small ones": (
        SMOOTH.warp_affine(matrix=TINY).warp_affine(matrix=TINY),
        ["gaussian_blur", "warp_affine"],
        inf,
    ),
    "resize-before-rotate: in proportion": (
        TURNED.resize(resize_shorter=64.0),
        ["gaussian_blur", "resize", "rotate"],
        inf,
    ),
    "resize-into-warp: the size is fixed": (
        SQUARE.rotate(angle=wb.random.uniform(range=(10.0, 20.0)), keep_size=True, fill_value=9.0),
        ["resize", "transforms.rotation", "transforms.crop", "warp_affine"],
        inf,
    ),
    "border-before-warp: a rotation": (
        SQUARE.rotate(angle=angle(), keep_size=True, fill_value=200.0),
        ["resize", "paste", "rotate"],
        1,
    ),
    "border-before-warp: a linked matrix": (
        SQUARE.warp_affine(matrix=MATRIX, fill_value=200.0),
        ["resize", "transforms.rotation", "paste", "transforms.translation", "warp_affine"],
        1,
    ),
    "floats-after-warp: contrast keeps its centre": (
        SQUARE.rotate(angle=angle()).color_twist(hue=20.0, contrast=0.6, brightness=1.2),
        ["resize", "rotate", "color_twist", "brightness_contrast"],
        2,
    ),
    "floats-after-warp: no brightness": (
        SQUARE.rotate(angle=angle()).hsv(saturation=0.3),
        ["resize", "rotate", "hsv"],
        2,
    ),
    "floats-after-warp: crop_mirror_normalize": (
        SQUARE.rotate(angle=angle()).crop_mirror_normalize(std=(60.0,)),
        ["resize", "rotate", "crop_mirror_normalize"],
        0.01,
    ),
}
KEPT = {
    "crop-into-resize: no crop": SHORTER.crop_mirror_normalize(std=(60.0,)),
    "crop-into-resize: pad": start()
    .resize(resize_shorter=50.0)
    .crop_mirror_normalize(crop=(64, 63), out_of_bounds_policy="pad"),
    "join-resizes: a size from the first": start()
    .resize(size=(120.0, 90.0))
    .resize(resize_shorter=64.0),
    "join-resizes: a side may be another by one pixel": TWICE,
    "join-resizes: a longer side after a shorter one": start()
    .resize(resize_shorter=120.0)
    .resize(resize_longer=80.0)
    .crop(crop=(40, 40)),
    "join-warps: inverted": SMOOTH.warp_affine(matrix=ONE, inverse_map=False).warp_affine(
        matrix=OTHER
    ),
    "resize-into-warp: the canvas grows": SQUARE.rotate(angle=5.0),
    "resize-into-warp: another filter": start()
    .resize(size=(70.0, 90.0), interp_type="INTERP_CUBIC")
    .rotate(angle=5.0, keep_size=True),
    "border-before-warp: an unknown size": TURNED,
    "border-before-warp: a fraction": SQUARE.rotate(angle=5.0, keep_size=True, fill_value=0.5),
    "border-before-warp: a forward matrix": SQUARE.warp_affine(
        matrix=MATRIX, fill_value=200.0, inverse_map=False
    ),
    "floats-after-warp: bytes from normalize": SQUARE.rotate(angle=5.0).crop_mirror_normalize(
        dtype="UINT8"
    ),
    "resize-before-rotate: stretched": TURNED.resize(size=(64.0, 64.0)),
}


@pytest.mark.parametrize(("names", "graph", "operators", "largest"), cases(NEAR))
def test_pixels_are_near(
    names: list[str], graph: Graph, operators: list[str], largest: float, photos: Path
) -> None:
    after = done(graph, *names)
    assert ops(after)[2:] == operators
    assert require_near(graph, after, photos).largest <= largest


@pytest.mark.parametrize(("names", "graph"), cases(KEPT))
def test_what_would_be_another_image_stays(names: list[str], graph: Graph) -> None:
    assert done(graph, *names) == graph


def test_a_flip_before_the_crop_is_another_window() -> None:
    graph = SHORTER.flip(horizontal=1).crop(crop=(64, 63))
    assert ops(done(graph, "crop-into-resize"))[2:] == ["resize_crop_mirror", "crop"]


def test_the_crop_of_a_normalize_goes_there_too(photos: Path) -> None:
    mirror = wb.random.coin_flip()
    graph = SHORTER.crop_mirror_normalize(crop=(64, 63), crop_pos_x=0.3, mirror=mirror, std=(60.0,))
    after = done(graph, "crop-into-resize")
    assert ops(after)[2:] == ["resize_crop_mirror", "crop_mirror_normalize"]
    assert after["crop_mirror_normalize"].args.keys() == {"std"}
    assert require_near(graph, after, photos).largest <= 1.01 / 60


def test_joined_resizes_take_the_crop_of_a_normalize() -> None:
    graph = TWICE.crop_mirror_normalize(crop=(64, 64), std=(60.0,))
    after = done(graph, "join-resizes", "crop-into-resize")
    assert ops(after)[2:] == ["resize_crop_mirror", "crop_mirror_normalize"]


def test_a_crop_that_follows_does_not_take_the_resize_first() -> None:
    graph = start().rotate(angle=9.0, keep_size=True, fill_value=0.0).resize(resize_shorter=80.0)
    graph = graph.crop_mirror_normalize(crop=(64, 64), std=(60.0,))
    after = done(graph, "resize-before-rotate", "crop-into-resize")
    assert ops(after)[2:] == ["resize", "rotate", "crop_mirror_normalize"]
    alone = done(graph, "crop-into-resize")
    assert ops(alone)[2:] == ["rotate", "resize_crop_mirror", "crop_mirror_normalize"]


@pytest.mark.thorough
def test_matrices_are_multiplied(photos: Path) -> None:
    graph = SMOOTH.warp_affine(matrix=ONE, fill_value=0.0).warp_affine(matrix=OTHER, fill_value=0.0)
    after = done(graph, "join-warps")
    assert ops(after)[3:] == ["warp_affine"]
    swapped = SMOOTH.warp_affine(matrix=OTHER, fill_value=0.0)
    swapped = swapped.warp_affine(matrix=ONE, fill_value=0.0)
    found = difference(graph, after, photos)
    assert found.psnr > difference(graph, done(swapped, "join-warps"), photos).psnr


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
    after = done(graph, "join-warps")
    assert [op for op in ops(after) if op == "rotate"] == ["rotate"]
    found = difference(graph, after, photos)
    assert found.psnr > 25, found.psnr  # of the whole: at the edges the first cut pixels off


def test_fed_matrices_are_combined(photos: Path) -> None:
    turn = wb.fn.transforms.rotation(angle=angle())
    move = wb.fn.transforms.translation(offset=(1.0, 2.0))
    graph = SMOOTH.warp_affine(matrix=turn, fill_value=0.0)
    graph = graph.warp_affine(matrix=move, fill_value=0.0)
    after = done(graph, "join-warps")
    assert ops(after).count("warp_affine") == 1
    assert difference(graph, after, photos).psnr > 25
