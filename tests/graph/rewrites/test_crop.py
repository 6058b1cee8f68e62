"""Crops in decoders, crops joined, and blur behind crops."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import CATALOG, cases, done, ops, require_exact, require_near, start
from workbench.graph import Graph
from workbench.graph.rewrites import load_rewrites
from workbench.graph.types.typed_graph import TypedGraph

PLACE = {"crop_pos_x": wb.random.uniform(range=(0.0, 1.0)), "crop_pos_y": 0.31}
PLACED = start().crop(crop=(61, 73), **PLACE)
CORNER = {"crop_pos_x": 0.0, "crop_pos_y": 1.0}
WHOLE = start().images
EXACT = {
    "crop-in-decoder: crop": (PLACED, ["decoders.image_crop"]),
    "crop-in-decoder: slice": (
        start().slice(start=(5, 9), shape=(60, 51), axes=(0, 1)),
        ["decoders.image_slice"],
    ),
    "crop-in-decoder: shares": (
        start().slice(rel_start=(0.13, 0.21), rel_shape=(0.5, 0.6), axis_names="HW"),
        ["decoders.image_slice"],
    ),
    "join-crops: centre": (
        start().crop(crop=(91, 80)).crop(crop=(61, 60)),
        ["decoders.image", "crop"],
    ),
    "join-crops: corner": (
        start().crop(crop=(90, 80), **CORNER).crop(crop=(61, 61), **CORNER),
        ["decoders.image", "crop"],
    ),
    "join-crops: slice": (
        start().slice(start=(5, 9), shape=(80, 81)).slice(start=(3, 2), shape=(60, 50)),
        ["decoders.image", "slice"],
    ),
}
KEPT = {
    "crop-in-decoder: pad": start().crop(crop=(600, 60), out_of_bounds_policy="pad"),
    "crop-in-decoder: dtype": start().crop(crop=(60, 60), dtype="FLOAT"),
    "crop-in-decoder: the whole is given out": wb.outputs(
        whole=WHOLE, images=WHOLE.crop(crop=(60, 60))
    ),
    "crop-before-rotate: the needed window is larger than the image": start()
    .resize(resize_shorter=80.0)
    .rotate(angle=30.0, keep_size=True)
    .crop(crop=(70, 70)),
    "crop-before-rotate: images of unknown size": start()
    .rotate(angle=5.0, keep_size=True)
    .crop(crop=(70, 70)),
    "fast-idct: set by the user": start().replace_node(
        start().node("decode").with_args({"use_fast_idct": False})
    ),
    "join-crops: half a pixel": start().crop(crop=(91, 80)).crop(crop=(60, 60)),
}


@pytest.mark.parametrize(("names", "graph", "operators"), cases(EXACT))
def test_every_byte_stays(
    names: list[str], graph: Graph, operators: list[str], photos: Path
) -> None:
    after = done(graph, *names)
    assert ops(after) == ["readers.file", *operators]
    require_exact(graph, after, photos)


@pytest.mark.parametrize(("names", "graph"), cases(KEPT))
def test_what_would_be_another_window_stays(names: list[str], graph: Graph) -> None:
    assert done(graph, *names) == graph


def test_on_a_gpu_a_crop_in_the_decoder_is_near() -> None:
    rewrite = load_rewrites()["crop-in-decoder"]
    assert rewrite.class_in(TypedGraph(PLACED, CATALOG)) == "exact"
    assert rewrite.class_in(TypedGraph(PLACED.with_settings(device="mixed"), CATALOG)) == "near"


def test_a_random_crop_in_the_decoder_has_the_same_windows(photos: Path) -> None:
    graph = start().random_resized_crop(size=(64, 64), random_area=(0.2, 0.9))
    after = done(graph, "random-crop-in-decoder")
    assert ops(after)[1:] == ["decoders.image_random_crop", "resize"]
    assert after.node("decode").args["random_area"] == (0.2, 0.9)
    assert require_near(graph, after, photos).psnr > 45


def test_blur_behind_a_crop_differs_at_the_edges_alone(photos: Path) -> None:
    sigma = wb.random.uniform(range=(0.5, 1.2))
    graph = start().gaussian_blur(sigma=sigma).flip(horizontal=1).crop(crop=(80, 80))
    after = done(graph, "blur-after-crop")
    assert ops(after)[2:] == ["flip", "crop", "gaussian_blur"]
    assert require_near(graph, after, photos).equal > 0.75


TURNED = (
    start()
    .resize(resize_shorter=90.0)
    .rotate(angle=wb.random.uniform(range=(-5.0, 5.0)), keep_size=True, fill_value=0.0)
)


@pytest.mark.parametrize("columns", [64, 63])
def test_only_the_pixels_of_a_crop_are_rotated(photos: Path, columns: int) -> None:
    plain, fused = TURNED.crop(crop=(64, columns)), TURNED.crop_mirror_normalize(crop=(64, columns))
    for graph, last in ((plain, "rotate"), (fused, "crop_mirror_normalize")):
        after = done(graph, "crop-before-rotate")
        assert ops(after)[2:5] == ["resize", "crop", "rotate"]
        assert ops(after)[-1] == last
        assert next(n for n in after.nodes if n.op == "crop").args["crop"] == (
            72,
            72 if columns == 64 else 71,
        )
        assert require_near(graph, after, photos).psnr > 40


def test_the_fast_inverse_dct_is_near(photos: Path) -> None:
    after = done(start().crop(crop=(64, 64)), "fast-idct")
    assert require_near(start().crop(crop=(64, 64)), after, photos).psnr > 40
    assert done(start().with_settings(device="mixed"), "fast-idct").node("decode").args == {}
