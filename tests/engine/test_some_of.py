"""Some of several bodies, and a body again and again: as in the script, at any batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from tests.block_graphs import CATALOG, TURN_GRAPHS, set_count
from tests.helpers import chain_graph, require_parity
from tests.thorough import examples, one_in
from workbench.graph import Graph, Node, Port, check_graph, dump_graph, load_graph
from workbench.graph.control_flow.wrapping import wrap_as_options, wrap_in_block
from workbench.graph.edits.edit import new_node, set_setting

BATCH = 6
DRAWING = ("rotate", "noise_gaussian", "random_resized_crop")


def chain() -> Graph:
    """A turn by a drawn angle, noise, a crop that draws by itself, and other light."""
    graph = chain_graph("resize", resize={"size": (32.0, 32.0)})
    before = Port("resize", "output")
    angle = replace(new_node(graph, CATALOG, "random.uniform", "angle"), args={"range": (-40, 40)})
    graph = replace(graph, nodes=(*graph.nodes, angle))
    for op, args in (
        ("rotate", {"keep_size": True}),
        ("noise.gaussian", {"stddev": 20.0}),
        ("random_resized_crop", {"size": (32, 32)}),
        ("brightness_contrast", {"brightness": 1.2}),
    ):
        name = op.replace(".", "_")
        inputs = {"data": before} | ({"angle": Port("angle", "output")} if op == "rotate" else {})
        seed = new_node(graph, CATALOG, op).seed
        graph = replace(graph, nodes=(*graph.nodes, Node(name, op, args, inputs, seed=seed)))
        before = Port(name, "output")
    graph = replace(graph, outputs={**graph.outputs, "images": before})
    return set_setting(graph, batch_size=BATCH)


def in_order(count: int = 2) -> Graph:
    graph, block = wrap_as_options(chain(), CATALOG, DRAWING, "some_of")
    return set_count(graph, CATALOG, block, count)


def shuffled(count: int = 2) -> Graph:
    graph, block = wrap_as_options(chain(), CATALOG, DRAWING, "some_of")
    return set_count(graph, CATALOG, block, count, shuffled=True)


def repeated(times: int = 3) -> Graph:
    graph, block = wrap_in_block(chain(), CATALOG, DRAWING, "repeat")
    return graph.replace_node(replace(graph.node(block), args={"times": times}))


def repeated_as_drawn() -> Graph:
    graph, block = wrap_in_block(chain(), CATALOG, DRAWING, "repeat")
    draw = new_node(graph, CATALOG, "random.uniform", "times")
    draw = replace(draw, args={"range": (0.0, 4.0), "dtype": "INT32"})
    node = graph.node(block)
    node = replace(node, args={"most": 3}, inputs={**node.inputs, "times": Port("times", "output")})
    at = graph.nodes.index(graph.node(block))
    nodes = (*graph.nodes[:at], draw, node, *graph.nodes[at + 1 :])
    return replace(graph, nodes=nodes)


def nested() -> Graph:
    """Any two of three, one of them by chance, twice over, and all of that by chance."""
    graph = shuffled()
    graph, _ = wrap_in_block(graph, CATALOG, ["noise_gaussian"])
    graph, twice = wrap_in_block(graph, CATALOG, ["some_of"], "repeat")
    graph, _ = wrap_in_block(graph, CATALOG, [twice])
    return graph


def repeated_in_a_repeat() -> Graph:
    graph, inner = wrap_in_block(chain(), CATALOG, ["rotate"], "repeat")
    graph, _ = wrap_in_block(graph, CATALOG, [inner, "noise_gaussian"], "repeat")
    return graph


def repeated_subsets() -> Graph:
    """Any two of three, twice over."""
    graph, _ = wrap_in_block(shuffled(), CATALOG, ["some_of"], "repeat")
    return graph


MADE = (
    *(in_order, shuffled, repeated, repeated_as_drawn),
    *(nested, repeated_in_a_repeat, repeated_subsets),
)


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


@pytest.mark.parametrize("device", ["cpu", pytest.param("mixed", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("make", one_in(4, MADE), ids=lambda make: make.__name__)
def test_the_preview_is_the_script_at_any_batch(
    make: Callable[[], Graph], device: str, photos: Path, tmp_path: Path
) -> None:
    graph = set_setting(make(), device=device)
    assert check_graph(graph, CATALOG) == ()
    assert load_graph(dump_graph(graph)) == graph
    require_parity(graph, photos, tmp_path)


@examples(1, thorough=150)
@given(graph=TURN_GRAPHS)
def test_so_it_is_for_any_blocks(graph: Graph, photos: Path, scripts: Path) -> None:
    assert check_graph(graph, CATALOG) == ()
    require_parity(graph, photos, scripts)
