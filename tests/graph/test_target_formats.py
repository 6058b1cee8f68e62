"""How the boxes and points of a graph are written, told by what reads and carries them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.graph.annotations.target_formats import box_format, is_relative
from workbench.graph.edits.edit import set_arg
from workbench.graph.model import Graph, Node, Port


def followed(**options: Value) -> Graph:
    reader = Node("reader", "readers.coco", options, seed=0)
    decode = Node("decode", "decoders.image", {}, {"data": Port("reader", "jpegs")})
    image = Port("decode", "output")
    boxes = Node("boxes", "follow_boxes", {}, {"boxes": Port("reader", "boxes"), "image": image})
    points = {"points": Port("reader", "vertices"), "image": image}
    nodes = (reader, decode, boxes, Node("points", "follow_points", {}, points))
    return Graph("written", nodes=nodes, outputs={"boxes": Port("boxes", "boxes")})


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({}, "absolute xywh"),
        ({"ltrb": True}, "absolute ltrb"),
        ({"ratio": True}, "relative xywh"),
        ({"ratio": True, "ltrb": True}, "relative ltrb"),
    ],
)
def test_a_reader_says_how_its_targets_are_written(options: dict[str, Value], written: str) -> None:
    graph = followed(**options)
    assert box_format(graph, graph.node("boxes")) == written
    assert is_relative(graph, graph.node("points")) == written.startswith("relative")


def test_a_follower_that_says_so_itself_is_believed() -> None:
    graph = set_arg(followed(ratio=True), load_catalog(), "boxes", "format", "absolute ltrb")
    assert box_format(graph, graph.node("boxes")) == "absolute ltrb"
    alone = replace(graph.node("boxes"), args={}, inputs={})
    assert box_format(graph, alone) is None
