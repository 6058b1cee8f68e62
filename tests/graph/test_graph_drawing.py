from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree

import pytest

import workbench as wb
from workbench.graph.builder.graph_drawing import graph_svg, graph_text
from workbench.graph.model import Graph, Node

MOST = 100_000
"""Bytes of what a graph shows of itself."""


@pytest.mark.parametrize("name", wb.load_recipes())
def test_every_recipe_shows_itself(name: str) -> None:
    graph = wb.load_recipe(name)
    shown = graph._repr_mimebundle_()
    assert {*shown} == {"image/svg+xml", "text/plain"}
    drawn = ElementTree.fromstring(shown["image/svg+xml"])
    texts = {element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")}
    ids = {node.id for node in graph.walk()}
    assert {name for name in ids if len(name) <= 26} <= texts
    assert all(name in shown["text/plain"] for name in ids)
    assert sum(map(len, shown.values())) < MOST


def test_boxes_do_not_lie_on_each_other() -> None:
    graph = wb.load_recipe("simclr")
    rects = []
    for element in ElementTree.fromstring(graph_svg(graph)).iter(
        "{http://www.w3.org/2000/svg}rect"
    ):
        x, y, width, height = (float(element.attrib[key]) for key in ("x", "y", "width", "height"))
        rects.append((x, y, x + width, y + height))

    def holds(a: tuple[float, ...], b: tuple[float, ...]) -> bool:
        return a[0] <= b[0] and a[1] <= b[1] and b[2] <= a[2] and b[3] <= a[3]

    for a, b in combinations(rects, 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart or holds(a, b) or holds(b, a), (a, b)


def test_names_cannot_break_out_of_the_picture() -> None:
    graph = Graph(name="<script>alert(1)</script>", nodes=(Node("a", "<b>", {"c": "<d>&"}),))
    drawn = graph_svg(graph)
    assert "<script>" not in drawn
    ElementTree.fromstring(drawn)


def test_a_huge_graph_is_a_line() -> None:
    nodes = tuple(Node(f"node_{index}", "rotate") for index in range(5000))
    assert len(graph_svg(Graph(nodes=nodes))) < MOST


def test_the_text_tells_what_stands_inside_what() -> None:
    graph = wb.read(".").decode().with_p(0.5, lambda x: x.rotate(angle=3))
    text = graph_text(graph)
    assert repr(graph) == text
    lines = text.splitlines()
    assert lines[0] == "untitled: 5 nodes"
    indent = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines}
    assert indent["branch"] < indent["then:"] < indent["rotate"]
