"""Random graphs with bodies that run one after another, in and around other blocks."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import strategies as st

from tests.block_graphs import BATCH, CATALOG, GraphMaker
from workbench.catalog import Value
from workbench.graph import Graph, Node, Port, Settings
from workbench.graph.control_flow.kinds import SOME_OF
from workbench.graph.edits.edit import start_graph


class _TurnMaker(GraphMaker):
    """Makes blocks of every kind."""

    def block(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        kind = self.pick(5)
        if kind == 0:
            return super().block(images, depth)
        return self.repeat(images, depth) if kind < 3 else self.some_of(images, depth)

    def some_of(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        options = 2 + self.pick(2)
        args: dict[str, Value] = {
            "count": 1 + self.pick(options),
            "shuffled": bool(self.pick(2)),
        }
        block = Node(f"some_of_{next(self.numbers)}", "some_of", args)
        names = CATALOG["some_of"].body_names(options)
        bodies = {name: self.body(block.scope(name), list(images), depth) for name in names}
        block = replace(block, bodies=bodies)
        draw = self.node("random.choice", {"population": SOME_OF.order_count(block)})
        return [draw, replace(block, inputs={"choice": Port(draw.id, "output"), **images})]

    def repeat(self, images: Mapping[str, Port], depth: int) -> list[Node]:
        block = Node(f"repeat_{next(self.numbers)}", "repeat", inputs=images)
        body = self.body(block.scope("body"), list(images), depth)
        block = replace(block, bodies={"body": body})
        if self.pick(2):
            return [replace(block, args={"times": 1 + self.pick(3)})]
        draw = self.node("random.uniform", {"range": (0.0, 3.0), "dtype": "INT32"})
        fed = {**block.inputs, "times": Port(draw.id, "output")}
        return [draw, replace(block, args={"most": 2}, inputs=fed)]


def turn_graph(picks: list[int]) -> Graph:
    """The graph that these picks lead to."""
    maker = _TurnMaker(itertools.cycle(picks), itertools.count(1))
    graph = start_graph(CATALOG, "turns")
    resized = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port("decode", "output")})
    small = maker.node("resize", {"size": (24.0, 24.0)}, {"data": Port("decode", "output")})
    images = {"images": Port(resized.id, "output"), "twins": Port(small.id, "output")}
    nodes = [*graph.nodes, resized, small]
    for _ in range(1 + maker.pick(2)):
        made = maker.block(images, 2)
        nodes += made
        images = {name: Port(made[-1].id, name) for name in images}
    outputs = {**images, "before": Port(resized.id, "output")}
    return replace(graph, nodes=tuple(nodes), outputs=outputs, settings=Settings(batch_size=BATCH))


TURN_GRAPHS = st.lists(st.integers(0, 1000), min_size=8, max_size=40).map(turn_graph)
"""Graphs of one source, and of blocks up to two deep, some of whose bodies run again."""
