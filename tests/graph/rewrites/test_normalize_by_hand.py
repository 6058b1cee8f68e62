"""Normalising by hand as crop_mirror_normalize: near, by the last bits of floats."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from tests.graph.rewrites.laws import done, ops, require_near, start
from workbench.graph import Graph

NAME = "normalize-by-hand"
SMALL = start().resize(size=(64.0, 60.0))
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


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


@pytest.mark.parametrize("make", [by_hand, by_normalize, by_numbers])
def test_one_operator_gives_the_same_but_for_the_last_bits(make: wb.DataNode, photos: Path) -> None:
    graph = wb.outputs(images=make(SMALL))
    after = done(graph, NAME)
    assert ops(after)[3:] == ["crop_mirror_normalize"]
    assert "constant" not in {node.op for node in after.walk()}
    assert require_near(graph, after, photos).largest < 1e-5


def test_axes_that_are_turned_behind_it_go_in_too(photos: Path) -> None:
    graph = wb.outputs(images=by_hand(SMALL).transpose(perm=(2, 0, 1)))
    after = done(graph, NAME, "axes-into-normalize")
    assert ops(after)[3:] == ["crop_mirror_normalize"]
    assert require_near(graph, after, photos).largest < 1e-5


@pytest.mark.parametrize(
    "graph",
    [
        wb.outputs(images=SMALL.images / 255.0),
        wb.outputs(images=by_numbers(start()).resize(size=(64.0, 64.0))),
        wb.outputs(images=(SMALL.images * wb.random.uniform(range=(0.5, 1.5))) / 255.0),
        wb.outputs(images=(SMALL.images / 255.0) / SMALL.images),
        wb.outputs(images=1.0 - SMALL.images / 255.0),
        wb.outputs(images=SMALL.normalize().images / 2.0),
        wb.outputs(images=SMALL.cast(dtype="INT32").images - 3),
    ],
    ids=["one", "before a resize", "drawn", "an image", "turned", "own statistics", "integers"],
)
def test_what_is_no_factor_and_addend_at_the_end_stays(graph: Graph) -> None:
    assert done(graph, NAME) == graph


def test_what_is_given_out_on_the_way_stays() -> None:
    scaled = SMALL.images / 255.0
    graph = wb.outputs(images=scaled - 0.5, scaled=scaled)
    assert done(graph, NAME) == graph
