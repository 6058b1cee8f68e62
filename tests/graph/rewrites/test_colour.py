"""Colour operators behind crops and resizes, and joined."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import cases, done, ops, require_exact, require_near, start
from workbench.graph import Graph


def crop(graph: Graph) -> Graph:
    x = wb.random.uniform(range=(0.0, 1.0))
    return graph.crop(crop=(60, 71), crop_pos_x=x)


def uniform(spread: float) -> wb.DataNode:
    return wb.random.uniform(range=(-spread, spread))


def drawn(x: wb.DataNode) -> wb.DataNode:
    return x.brightness(brightness=wb.random.uniform(range=(0.5, 1.5)))


def twisted(x: wb.DataNode) -> wb.DataNode:
    return x.hue(hue=40.0).contrast(contrast=1.3)


def with_its_mean(x: wb.DataNode) -> wb.DataNode:
    return x.brightness(brightness=wb.fn.reductions.mean(x) / 100.0)


BRIGHT = start().brightness(brightness=1.4)
GAINS = wb.fn.constant(fdata=(1.1, 1.0, 0.9), shape=(3,), dtype="FLOAT")
FADE = wb.fn.constant(fdata=(0.5,) * 60, shape=(60, 1, 1), dtype="FLOAT")
COLOURS = {
    "brightness": start().brightness(brightness=1.37, brightness_shift=0.1),
    "contrast": start().contrast(contrast=1.3, contrast_center=90.0),
    "hsv": start().hsv(hue=31.0, saturation=0.3, value=1.2),
    "color_space_conversion": start().color_space_conversion(image_type="RGB", output_type="GRAY"),
    "cast": start().cast(dtype="FLOAT"),
}
"""Operator -> a graph that ends with it."""
TURNED = start().color_twist(hue=uniform(30.0)).flip(horizontal=wb.random.coin_flip()).images
EXACT = {f"colour-after-crop: {op}": (crop(graph), ["crop", op]) for op, graph in COLOURS.items()}
EXACT["colour-after-crop: numbers for each channel"] = (
    crop(wb.outputs(images=start().images * GAINS)),
    ["constant", "crop", "math.mul"],
)
EXACT["colour-after-crop: drawn, past a flip and a slice"] = (
    wb.outputs(images=(TURNED * 0.7).slice(start=(5, 9), shape=(60, 50))),
    ["flip", "slice", "color_twist", "math.mul"],
)
NEAR = {
    "colour-after-resize: colour and flips": (
        start().color_twist(hue=uniform(20.0)).flip(horizontal=1).resize(size=(64.0, 64.0)),
        ["resize", "color_twist", "flip"],
    ),
    "colour-after-resize: a random crop draws the same": (
        start().brightness(brightness=0.8).random_resized_crop(size=(64, 64)),
        ["random_resized_crop", "brightness"],
    ),
    "colour-after-resize: a block of colour and flips": (
        start()
        .with_p(0.8, lambda x: x.color_twist(hue=uniform(20.0)).flip(horizontal=1))
        .resize(size=(64.0, 64.0)),
        ["resize", "if"],
    ),
    "colour-into-twist: four are one map": (
        start()
        .contrast(contrast=wb.random.uniform(range=(0.8, 1.2)))
        .saturation(saturation=1.2)
        .hue(hue=uniform(9.0))
        .brightness(brightness=0.9),
        ["color_twist"],
    ),
    "colour-into-twist: no hue": (
        start().contrast(contrast=1.2).brightness(brightness=0.9),
        ["brightness_contrast"],
    ),
    "twist-into-brightness-contrast: drawn": (
        start().color_twist(brightness=wb.random.uniform(range=(0.8, 1.2)), contrast=1.3),
        ["brightness_contrast"],
    ),
}
MOVED_BLOCKS = {
    "if": start().with_p(0.5, drawn),
    "one of": start().one_of(drawn, twisted),
    "some of": start().some_of(2, drawn, twisted, lambda x: x.hsv(saturation=0.2)),
    "repeat": start().repeat(2, drawn),
    "nested": start().with_p(0.5, lambda x: x.with_p(0.5, drawn)),
    "flip by chance on the way": start()
    .brightness(brightness=1.2)
    .with_p(0.5, lambda x: x.flip(horizontal=1)),
}
KEPT = {
    "colour-after-crop: numbers for each row": wb.outputs(
        images=(start().crop(crop=(60, 60)).images * FADE).crop(crop=(50, 40))
    ),
    "colour-after-crop: block with blur": crop(
        start().with_p(0.5, lambda x: x.gaussian_blur(sigma=1.0))
    ),
    "colour-after-crop: block that looks at the image": crop(start().with_p(0.5, with_its_mean)),
    "colour-after-crop: block with a flip alone": crop(
        start().with_p(0.5, lambda x: x.flip(horizontal=1))
    ),
    "colour-after-crop: equalize in one": crop(start().one_of(drawn, lambda x: x.equalize())),
    "colour-after-crop: pad": BRIGHT.crop(crop=(600, 60), out_of_bounds_policy="pad"),
    "colour-after-crop: dtype": BRIGHT.crop(crop=(60, 60), dtype="FLOAT"),
    "colour-after-crop: noise": start().noise.gaussian(stddev=9.0).crop(crop=(60, 60)),
    "colour-after-crop: equalize": start().equalize().crop(crop=(60, 60)),
    "colour-after-crop: flip alone": BRIGHT.flip(),
    "colour-after-crop: in order": start().crop(crop=(60, 60)).brightness(brightness=1.4),
    "colour-after-crop: another node needs it": wb.outputs(
        images=BRIGHT.crop(crop=(60, 60)).images, whole=BRIGHT.images
    ),
    "colour-after-resize: a flip before a random crop": start()
    .flip(horizontal=1)
    .random_resized_crop(size=(64, 64)),
    "colour-after-resize: a block with a flip before a random crop": start()
    .with_p(0.5, lambda x: x.flip(horizontal=1))
    .random_resized_crop(size=(64, 64)),
    "colour-after-resize: tables have no mean": start()
    .with_p(0.5, lambda x: x.lookup_table(keys=(0,), values=(9.0,), dtype="UINT8"))
    .resize(size=(64.0, 64.0)),
    "colour-into-twist: contrast behind brightness": start()
    .brightness(brightness=0.6)
    .contrast(contrast=1.4),
    "twist-into-brightness-contrast: hue": start().color_twist(hue=9.0, contrast=1.3),
    "colour-into-twist: a shift": start()
    .hue(hue=9.0)
    .brightness(brightness=0.6, brightness_shift=0.1),
}


@pytest.mark.parametrize(("names", "graph", "operators"), cases(EXACT))
def test_every_byte_stays(
    names: list[str], graph: Graph, operators: list[str], photos: Path
) -> None:
    after = done(graph, *names)
    assert ops(after)[2:] == operators
    require_exact(graph, after, photos)


@pytest.mark.parametrize(("names", "graph", "operators"), cases(NEAR))
def test_pixels_are_near(
    names: list[str], graph: Graph, operators: list[str], photos: Path
) -> None:
    after = done(graph, *names)
    assert ops(after)[2:] == operators
    require_near(graph, after, photos)


@pytest.mark.parametrize("graph", MOVED_BLOCKS.values(), ids=MOVED_BLOCKS)
def test_blocks_of_colour_move_behind_a_crop_as_a_whole(graph: Graph, photos: Path) -> None:
    graph = crop(graph)
    after = done(graph, "colour-after-crop")
    order = ops(after)
    assert order.index("crop") < len(order) - 1
    require_exact(graph, after, photos)


def test_it_is_done_inside_blocks(photos: Path) -> None:
    def inside(x: wb.DataNode) -> wb.DataNode:
        return x.brightness(brightness=1.4).crop(crop=(40, 40))

    graph = start().one_of(inside, lambda x: x.crop(crop=(40, 40)))
    require_exact(graph, done(graph, "colour-after-crop"), photos)


@pytest.mark.parametrize(("names", "graph"), cases(KEPT))
def test_what_would_change_pixels_or_cuts_nothing_stays(names: list[str], graph: Graph) -> None:
    assert done(graph, *names) == graph
