"""Rewrites into and out of ``crop_mirror_normalize``."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import cases, done, ops, require_exact, require_near, start
from workbench.graph import Graph

SMALL = start().resize(size=(64.0, 60.0))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
COIN = wb.random.coin_flip()
DIVIDED = SMALL.images / 255.0
SCALED = start().images / 255.0


def constant(values: tuple[float, ...], *shape: int) -> wb.DataNode:
    return wb.fn.constant(fdata=values, shape=shape, dtype="FLOAT")


def by_hand(graph: Graph) -> wb.DataNode:
    image = graph.cast(dtype="FLOAT").images / 255.0
    return (image - constant(MEAN, 3)) / constant(STD, 1, 1, 3)


def by_normalize(graph: Graph) -> wb.DataNode:
    mean, deviation = constant(MEAN, 1, 1, 3), constant(STD, 1, 1, 3)
    return (graph.images / 255.0).normalize(mean=mean, stddev=deviation, scale=2.0, shift=0.5)


def by_numbers(graph: Graph) -> wb.DataNode:
    return graph.images / 127.5 - 1.0


ALONE = ["crop_mirror_normalize"]
EXACT = {
    "axes-into-normalize: HWC": (
        start().crop_mirror_normalize(output_layout="HWC").transpose(perm=(2, 0, 1)),
        ALONE,
    ),
    "axes-into-normalize: CHW": (
        start().crop_mirror_normalize(output_layout="CHW").transpose(perm=(1, 2, 0)),
        ALONE,
    ),
    "cast-into-normalize: before and behind it": (
        start()
        .cast(dtype="FLOAT")
        .crop_mirror_normalize(mean=(120.0,), std=(60.0,))
        .cast(dtype="FLOAT16"),
        ALONE,
    ),
    "cast-into-normalize: a flip between": (
        start()
        .cast(dtype="FLOAT")
        .flip(horizontal=1, vertical=1)
        .crop_mirror_normalize(crop=(60, 61), std=(60.0,)),
        ["flip", *ALONE],
    ),
    "crop-into-normalize: drawn": (
        start()
        .crop(crop=(61, 73), crop_pos_x=wb.random.uniform(range=(0.0, 1.0)))
        .crop_mirror_normalize(mirror=COIN, mean=(120.0,), std=(60.0,)),
        ALONE,
    ),
    "crop-out-of-normalize + colour-after-crop: before colour": (
        start()
        .hue(hue=wb.random.uniform(range=(-30.0, 30.0)))
        .brightness(brightness=1.2)
        .crop_mirror_normalize(crop=(61, 73), mirror=COIN, std=(9.0,)),
        ["crop", "hue", "brightness", *ALONE],
    ),
} | {
    f"flip-into-normalize: {name}": (
        start().flip(horizontal=horizontal).crop_mirror_normalize(mean=(120.0,), std=(60.0,)),
        ALONE,
    )
    for name, horizontal in {"drawn": COIN, "fixed": 1}.items()
}
NEAR = {
    "scale-into-normalize: a factor": (
        wb.outputs(images=SCALED.crop_mirror_normalize(mean=(0.48, 0.45, 0.4), std=(0.22,))),
        ALONE,
    ),
    "scale-into-normalize: a flip between": (
        wb.outputs(
            images=SCALED.flip(horizontal=1).crop_mirror_normalize(crop=(60, 61), mean=(0.48,))
        ),
        ["flip", *ALONE],
    ),
    "normalize-by-hand: constants": (wb.outputs(images=by_hand(SMALL)), ["resize", *ALONE]),
    "normalize-by-hand: normalize": (wb.outputs(images=by_normalize(SMALL)), ["resize", *ALONE]),
    "normalize-by-hand: numbers": (wb.outputs(images=by_numbers(SMALL)), ["resize", *ALONE]),
    "normalize-by-hand + axes-into-normalize: axes turned behind it": (
        wb.outputs(images=by_hand(SMALL).transpose(perm=(2, 0, 1))),
        ["resize", *ALONE],
    ),
}
KEPT = {
    "axes-into-normalize: another order": start()
    .crop_mirror_normalize(output_layout="HWC")
    .transpose(perm=(1, 0, 2)),
    "cast-into-normalize: rounds": start()
    .cast(dtype="FLOAT")
    .cast(dtype="UINT8")
    .crop_mirror_normalize(),
    "crop-into-normalize: crops already": start()
    .crop(crop=(61, 73))
    .crop_mirror_normalize(crop=(32, 32)),
    "crop-out-of-normalize: no colour before it": start().crop_mirror_normalize(crop=(61, 73)),
    "flip-into-normalize: crops": start().flip().crop_mirror_normalize(crop=(61, 73)),
    "flip-into-normalize: vertical": start().flip(vertical=1).crop_mirror_normalize(),
    "flip-into-normalize: mirrors": start().flip().crop_mirror_normalize(mirror=COIN),
    "scale-into-normalize: a product that is cut off": wb.outputs(
        images=(start().images * 0.5).cast(dtype="UINT8").crop_mirror_normalize(mean=(9.0,))
    ),
    "normalize-by-hand: one": wb.outputs(images=SMALL.images / 255.0),
    "normalize-by-hand: before a resize": wb.outputs(
        images=by_numbers(start()).resize(size=(64.0, 64.0))
    ),
    "normalize-by-hand: drawn": wb.outputs(
        images=(SMALL.images * wb.random.uniform(range=(0.5, 1.5))) / 255.0
    ),
    "normalize-by-hand: an image": wb.outputs(images=(SMALL.images / 255.0) / SMALL.images),
    "normalize-by-hand: turned": wb.outputs(images=1.0 - SMALL.images / 255.0),
    "normalize-by-hand: own statistics": wb.outputs(images=SMALL.normalize().images / 2.0),
    "normalize-by-hand: integers": wb.outputs(images=SMALL.cast(dtype="INT32").images - 3),
    "normalize-by-hand: given out on the way": wb.outputs(images=DIVIDED - 0.5, scaled=DIVIDED),
}


@pytest.mark.parametrize(("names", "graph", "operators"), cases(EXACT))
def test_every_byte_stays(
    names: list[str], graph: Graph, operators: list[str], photos: Path
) -> None:
    after = done(graph, *names)
    assert ops(after)[2:] == operators
    require_exact(graph, after, photos)


@pytest.mark.parametrize(("names", "graph", "operators"), cases(NEAR))
def test_only_the_last_bits_differ(
    names: list[str], graph: Graph, operators: list[str], photos: Path
) -> None:
    after = done(graph, *names)
    assert ops(after)[2:] == operators
    assert "constant" not in {node.op for node in after.walk()}
    assert require_near(graph, after, photos).largest < 1e-5


@pytest.mark.parametrize(("names", "graph"), cases(KEPT))
def test_what_would_change_values_stays(names: list[str], graph: Graph) -> None:
    assert done(graph, *names) == graph
