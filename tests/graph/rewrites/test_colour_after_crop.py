"""Colour behind what cuts: every byte stays."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_exact, start
from workbench.catalog import Value
from workbench.graph import Graph

NAME = "colour-after-crop"
COLOURS: dict[str, dict[str, Value]] = {
    "brightness": {"brightness": 1.37, "brightness_shift": 0.1},
    "contrast": {"contrast": 1.3, "contrast_center": 90.0},
    "hsv": {"hue": 31.0, "saturation": 0.3, "value": 1.2},
    "color_space_conversion": {"image_type": "RGB", "output_type": "GRAY"},
    "cast": {"dtype": "FLOAT"},
}


def crop(graph: Graph) -> Graph:
    x = wb.random.uniform(range=(0.0, 1.0))
    return graph.crop(crop=(60, 71), crop_pos_x=x)


@pytest.mark.parametrize("op", COLOURS)
def test_every_byte_stays(op: str, photos: Path) -> None:
    graph = crop(getattr(start(), op)(**COLOURS[op]))
    after = done(graph, NAME)
    assert ops(after)[-2:] == ["crop", op]
    require_exact(graph, after, photos)


def test_drawn_colour_passes_flips_and_slices_on_the_way(photos: Path) -> None:
    hue = wb.random.uniform(range=(-30.0, 30.0))
    turned = start().color_twist(hue=hue).flip(horizontal=wb.random.coin_flip()).images
    graph = wb.outputs(images=(turned * 0.7).slice(start=(5, 9), shape=(60, 50)))
    after = done(graph, NAME)
    assert ops(after)[2:] == ["flip", "slice", "color_twist", "math.mul"]
    require_exact(graph, after, photos)


def test_numbers_for_each_channel_are_colour(photos: Path) -> None:
    gains = wb.fn.constant(fdata=(1.1, 1.0, 0.9), shape=(3,), dtype="FLOAT")
    graph = wb.outputs(images=(start().images * gains).crop(crop=(60, 71)))
    after = done(graph, NAME)
    assert ops(after)[-2:] == ["crop", "math.mul"]
    require_exact(graph, after, photos)


def test_numbers_for_each_row_stay() -> None:
    fade = wb.fn.constant(fdata=(0.5,) * 60, shape=(60, 1, 1), dtype="FLOAT")
    graph = wb.outputs(images=(start().crop(crop=(60, 60)).images * fade).crop(crop=(50, 40)))
    assert done(graph, NAME) == graph


def test_it_is_done_inside_regions(photos: Path) -> None:
    def inside(x: wb.DataNode) -> wb.DataNode:
        return x.brightness(brightness=1.4).crop(crop=(40, 40))

    def other(x: wb.DataNode) -> wb.DataNode:
        return x.crop(crop=(40, 40))

    graph = start().one_of(inside, other)
    after = done(graph, NAME)
    require_exact(graph, after, photos)


def drawn(x: wb.DataNode) -> wb.DataNode:
    return x.brightness(brightness=wb.random.uniform(range=(0.5, 1.5)))


def twisted(x: wb.DataNode) -> wb.DataNode:
    return x.hue(hue=40.0).contrast(contrast=1.3)


@pytest.mark.parametrize(
    "graph",
    [
        start().with_p(0.5, drawn),
        start().one_of(drawn, twisted),
        start().some_of(2, drawn, twisted, lambda x: x.hsv(saturation=0.2)),
        start().repeat(2, drawn),
        start().with_p(0.5, lambda x: x.with_p(0.5, drawn)),
        start().brightness(brightness=1.2).with_p(0.5, lambda x: x.flip(horizontal=1)),
    ],
    ids=["if", "one of", "some of", "repeat", "nested", "flip by chance on the way"],
)
def test_regions_of_colour_move_as_a_whole(graph: Graph, photos: Path) -> None:
    graph = crop(graph)
    after = done(graph, NAME)
    order = ops(after)
    assert order.index("crop") < len(order) - 1
    require_exact(graph, after, photos)


def with_its_mean(x: wb.DataNode) -> wb.DataNode:
    return x.brightness(brightness=wb.fn.reductions.mean(x) / 100.0)


@pytest.mark.parametrize(
    "graph",
    [
        start().with_p(0.5, lambda x: x.gaussian_blur(sigma=1.0)),
        start().with_p(0.5, with_its_mean),
        start().with_p(0.5, lambda x: x.flip(horizontal=1)),
        start().one_of(drawn, lambda x: x.equalize()),
    ],
    ids=["blur", "looks at the image", "flip alone", "equalize in one"],
)
def test_regions_that_look_at_other_pixels_stay(graph: Graph) -> None:
    graph = crop(graph)
    assert done(graph, NAME) == graph


@pytest.mark.parametrize(
    "graph",
    [
        start().brightness(brightness=1.4).crop(crop=(600, 60), out_of_bounds_policy="pad"),
        start().brightness(brightness=1.4).crop(crop=(60, 60), dtype="FLOAT"),
        start().noise.gaussian(stddev=9.0).crop(crop=(60, 60)),
        start().equalize().crop(crop=(60, 60)),
        start().brightness(brightness=1.4).flip(),
        start().crop(crop=(60, 60)).brightness(brightness=1.4),
    ],
    ids=["pad", "dtype", "noise", "equalize", "flip alone", "in order"],
)
def test_it_is_not_done_where_pixels_would_change_or_nothing_is_cut(graph: Graph) -> None:
    assert done(graph, NAME) == graph


def test_what_another_node_needs_stays(photos: Path) -> None:
    bright = start().brightness(brightness=1.4)
    cut = bright.crop(crop=(60, 60))
    graph = wb.outputs(images=cut.images, whole=bright.images)
    assert done(graph, NAME) == graph
