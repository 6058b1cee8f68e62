"""Warnings about boxes: over the edge, without an area, in another layout or unit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.emit.test_box_clipping import cropping
from tests.graph.annotations.test_unmoved import start_of
from workbench.catalog import load_catalog
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.fixes import fixes
from workbench.graph.model import Node, Port, Source
from workbench.sources import DataFacts

CATALOG = load_catalog()
FACTS = {"data": DataFacts(outside=2, first_outside="3.jpg: the box reaches 0.3 over the edge")}


def test_clipped_boxes_are_counted_and_named_also_behind_other_operators() -> None:
    clamp = Node("clamp", "math.mul", {"right": 1.0}, {"data": Port("reader", "boxes")})
    for graph in (cropping(), cropping(between=(clamp,))):
        (found,) = check_warnings(graph, facts=FACTS)
        assert (found.node, found.code) == ("crop", "overhang")
        assert found.message.startswith("2 images have boxes over the edge, which are clipped")
        assert "3.jpg" in found.message
        assert not check_warnings(graph, facts={"data": DataFacts()})


def test_boxes_of_other_data_are_not_counted() -> None:
    graph = cropping()
    other = Source("other", "readers.coco", {"ratio": True}, seed=5, kind="coco", dataset="data_2")
    graph = replace(
        graph,
        nodes=(*graph.nodes, other),
        outputs={**graph.outputs, "other": Port("other", "boxes")},
    )
    facts = {"data": DataFacts(), "data_2": FACTS["data"]}
    assert not check_warnings(graph, facts=facts)
    assert check_warnings(graph, facts=FACTS)


def test_a_layout_that_is_not_clipped_says_so() -> None:
    (found,) = check_warnings(cropping(bbox_layout="XYxy"), facts=FACTS)
    assert "ends the run" in found.message


def test_boxes_without_an_area_are_named_with_what_drops_them() -> None:
    facts = {"data": DataFacts(without_area=1, first_without_area="7.jpg: the box has no width")}
    (found,) = check_warnings(cropping(), facts=facts)
    assert (found.node, found.code) == ("reader", "without_area")
    assert "the reader drops" in found.message
    assert "7.jpg" in found.message
    assert not check_warnings(start_of("coco"), facts=facts)


@pytest.mark.parametrize("ltrb", [True, False])
def test_another_layout_or_unit_is_a_warning_with_a_fix(ltrb: bool) -> None:
    sound = cropping(ltrb)
    assert not check_warnings(sound)
    graph = cropping(ltrb, bbox_layout="xyWH" if ltrb else "xyXY")
    (found,) = check_warnings(graph)
    (fix,) = fixes(graph, CATALOG, found)
    assert fix.graph.node("crop") == sound.node("crop")
    reader = replace(sound.node("reader"), args={"ltrb": ltrb})
    in_pixels = sound.replace_node(reader)
    (found,) = check_warnings(in_pixels)
    assert "in pixels" in found.message
    (fix,) = fixes(in_pixels, CATALOG, found)
    assert not check_warnings(fix.graph)
