"""What decides alone gives the places that the whole graph gives, and reads only what it needs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from tests.block_graphs import BATCH, BLOCK_GRAPHS, CATALOG, branching_graph, two_datasets
from tests.engine.test_blocks import branching
from tests.thorough import examples
from workbench.engine.run.runner import Runner
from workbench.graph import Graph, Node, Port
from workbench.graph.edits.edit import set_setting
from workbench.graph.model import Body
from workbench.graph.model.ports import output_ports
from workbench.sources import Datasets, open_datasets


def agree(graph: Graph, data: Datasets, batches: int) -> None:
    """Assert that blocks of a graph decide alone as they do in it."""
    runner = Runner(CATALOG)
    blocks = [node for node in graph.nodes if node.bodies]
    places = runner.branch_places(graph, data, blocks)
    taps = [port for block in blocks for port in output_ports(block, CATALOG[block.op])]
    size = graph.settings.batch_size
    for batch in range(batches):
        came = {scope: tuple(map(int, map(np.asarray, p))) for scope, p in places.run().items()}
        assert came == runner.run(graph, data, batch, size, taps).places, batch


@pytest.mark.thorough
@examples(8, thorough=150)
@given(graph=BLOCK_GRAPHS)
def test_places_are_those_of_the_graph(graph: Graph, photos: Path) -> None:
    agree(set_setting(graph, batch_size=BATCH), two_datasets(photos), 3)


def test_where_draws_decide_nothing_is_read(photos: Path) -> None:
    graph, data = set_setting(branching_graph(), batch_size=5), open_datasets(photos)
    agree(graph, data, 2)
    assert not Runner(CATALOG).branch_places(graph, data, [graph.node("outer")]).reads


def test_a_block_on_which_another_depends_runs_whole(photos: Path) -> None:
    """The second decides by the mean of what the first gives."""
    bright = Node(
        "bright",
        "brightness_contrast",
        {"brightness": 1.5},
        {"data": Port("branch.then", "images")},
    )
    graph = branching(Body((bright,), {"images": Port("bright", "output")}, ("images",)))
    mean = Node("mean", "reductions.mean", {"axes": (0, 1, 2)}, {"data": Port("branch", "images")})
    light = Node(
        "light",
        "math.lt",
        {"right": 110.0, "constant_type": "FLOAT"},
        {"data": Port("mean", "output")},
    )
    turned = Node("turned", "flip", {}, {"data": Port("second.then", "images")})
    second = Node(
        "second",
        "if",
        inputs={"condition": Port("light", "output"), "images": Port("branch", "images")},
        bodies={
            "then": Body((turned,), {"images": Port("turned", "output")}, ("images",)),
            "else": Body((), {"images": Port("second.else", "images")}, ("images",)),
        },
    )
    graph = replace(
        graph,
        nodes=(*graph.nodes, mean, light, second),
        outputs={**graph.outputs, "images": Port("second", "images")},
    )
    data = open_datasets(photos)
    agree(graph, data, 2)
    assert Runner(CATALOG).branch_places(graph, data, [graph.node("second")]).reads
