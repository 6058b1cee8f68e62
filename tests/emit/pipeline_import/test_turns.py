"""Loops, and tables of which body runs, come back as the regions that they were written from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given

from tests.engine.test_some_of import (
    chain,
    in_order,
    repeated,
    repeated_as_drawn,
    repeated_in_a_repeat,
    repeated_subsets,
    shuffled,
)
from tests.helpers import arrays_of, import_script, same
from tests.thorough import examples, one_in
from tests.turn_graphs import TURN_GRAPHS, turn_graph
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.importing import from_pipeline
from workbench.graph import Graph, Node, Port, check_graph, load_recipe
from workbench.graph.control_flow.some_of import choose_some_of, set_count

CATALOG = load_catalog()
BATCHES = 2


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("scripts")


def brought(graph: Graph, photos: Path, folder: Path) -> Graph:
    """The graph of the script of a graph."""
    script = import_script(emit_script(graph, CATALOG).text, folder)
    found = from_pipeline(script.build_pipeline(str(photos)))
    assert found.report.is_exact, str(found.report)
    assert check_graph(found.graph, CATALOG) == ()
    return found.graph


def told(graph: Graph) -> list[tuple[object, ...]]:
    """What the nodes do and how deep they stand, without their names."""

    def what(node: Node) -> tuple[object, ...]:
        return node.op, node.seed or 0, dict(node.args), sorted(node.inputs), depth(graph, node.id)

    every = sorted(graph.walk(), key=lambda node: (node.op, node.seed or 0))
    return [what(node) for node in every]


def depth(graph: Graph, node: str) -> int:
    """In how many regions a node stands."""
    found, scope = 0, graph.scope_of(node)
    while scope:
        found, scope = found + 1, graph.scope_of(scope.rpartition(".")[0])
    return found


@pytest.mark.parametrize(
    "make",
    one_in(
        3, [in_order, shuffled, repeated, repeated_as_drawn, repeated_in_a_repeat, repeated_subsets]
    ),
    ids=lambda make: make.__name__,
)
def test_regions_come_back_as_they_were(
    make: Callable[[], Graph], photos: Path, scripts: Path
) -> None:
    graph = make()
    found = brought(graph, photos, scripts)
    assert told(found) == told(graph)


@pytest.mark.parametrize("count", one_in(3, [1, 2, 3], first=1))
def test_as_many_run_as_before(count: int, photos: Path, scripts: Path) -> None:
    for make in (in_order, shuffled):
        found = brought(make(count), photos, scripts)
        (region,) = [node for node in found.walk() if node.op == "some_of"]
        assert region.args["count"] == count


def test_two_in_any_order_come_back(photos: Path, scripts: Path) -> None:
    graph, region = choose_some_of(load_recipe("rotate-jitter"), CATALOG, ["rotate", "color"])
    graph = set_count(graph, CATALOG, region, 2, shuffled=True)
    found = brought(graph, photos, scripts)
    assert told(found) == told(graph)


def test_copies_that_differ_stay_apart(photos: Path, scripts: Path) -> None:
    text = emit_script(repeated(), CATALOG).text
    script = import_script(text.replace("+ 100000 * i", "+ 100001 * i"), scripts)
    found = from_pipeline(script.build_pipeline(str(photos)))
    assert found.report.is_exact
    assert not any(node.bodies for node in found.graph.walk())
    assert sum(node.op == "rotate" for node in found.graph.walk()) == 3


def test_what_one_wrote_twice_is_no_loop(photos: Path, scripts: Path) -> None:
    graph = chain()
    blur = replace(graph.node("brightness_contrast"), id="again")
    once = graph.node("brightness_contrast")
    port = Port("again", "output")
    again = replace(blur, inputs={"data": graph.outputs["images"]})
    graph = replace(graph, nodes=(*graph.nodes, again), outputs={**graph.outputs, "images": port})
    assert once.args == again.args
    assert not any(node.bodies for node in brought(graph, photos, scripts).walk())


@pytest.mark.thorough
@examples(2, thorough=100)
@given(graph=TURN_GRAPHS)
@example(graph=turn_graph([0, 362, 362, 362, 0, 0, 195, 1000, 298, 195, 619, 965, 188, 0]))
@example(graph=turn_graph([557, 781, 703, 475, 986, 0, 530, 422, 683, 466, 0, 16, 267, 607, 945]))
def test_what_comes_back_has_the_same_pixels(graph: Graph, photos: Path, scripts: Path) -> None:
    script = import_script(emit_script(graph, CATALOG).text, scripts)
    theirs = script.build_pipeline(str(photos))
    found = from_pipeline(script.build_pipeline(str(photos)))
    assert found.report.is_exact, str(found.report)
    ours = import_script(emit_script(found.graph, CATALOG).text, scripts)
    pipe = ours.build_pipeline(str(photos))
    for _ in range(BATCHES):
        for mine, other in zip(pipe.run(), theirs.run(), strict=True):
            assert same(arrays_of(mine), arrays_of(other))
