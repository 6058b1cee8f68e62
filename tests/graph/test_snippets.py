"""Nodes that are saved under a name and put into other graphs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import chain_graph, same, script_batches
from workbench.catalog import load_catalog
from workbench.errors import GraphEditError, GraphFormatError
from workbench.graph import Graph, Port, Settings, check_graph, load_recipe
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import randomise_arg
from workbench.graph.snippets import (
    Snippet,
    branch_template,
    dump_snippet,
    insert_template,
    insert_template_on_edge,
    load_snippet,
    make_snippet,
)

CATALOG = load_catalog()
FEW = Settings(batch_size=4)


def made() -> tuple[Graph, Snippet]:
    """A graph, and a snippet of one of its blocks with the node after it."""
    ops = ("resize", "rotate", "gaussian_blur", "crop_mirror_normalize")
    graph = chain_graph(*ops, settings=FEW)
    graph = randomise_arg(graph, CATALOG, "rotate", "angle")
    graph, block = wrap_in_block(graph, CATALOG, ["rotate"])
    return graph, make_snippet(graph, CATALOG, [block, "gaussian_blur"], " Turned  and\tblurred ")


def test_a_snippet_survives_its_file() -> None:
    _, snippet = made()
    assert snippet.name == "Turned and blurred"
    assert load_snippet(dump_snippet(snippet)) == snippet


def test_it_does_what_its_nodes_did(photos: Path, tmp_path: Path) -> None:
    graph, snippet = made()
    plain = chain_graph("resize", "crop_mirror_normalize", settings=FEW)
    theirs = script_batches(graph, photos, 1, tmp_path)[0][0]
    for put, _ in (
        insert_template(plain, CATALOG, snippet, "resize"),
        insert_template_on_edge(plain, CATALOG, snippet, "crop_mirror_normalize:data"),
    ):
        assert check_graph(put, CATALOG) == ()
        ours = script_batches(put, photos, 1, tmp_path)[0][0]
        assert [a.shape for a in ours] == [b.shape for b in theirs]
        assert [node.op for node in put.walk()] == [node.op for node in graph.walk()]
    ops = ("resize", "rotate", "gaussian_blur")
    without_draws = chain_graph(*ops, settings=FEW, rotate={"angle": 20.0})
    snippet = make_snippet(without_draws, CATALOG, ["rotate", "gaussian_blur"], "still")
    put, _ = insert_template(chain_graph("resize", settings=FEW), CATALOG, snippet, "resize")
    ours, theirs = (script_batches(g, photos, 1, tmp_path)[0][0] for g in (put, without_draws))
    assert same(ours, theirs)


def test_two_of_one_draw_apart() -> None:
    _, snippet = made()
    graph = chain_graph("resize")
    for _ in range(2):
        graph, out = branch_template(graph, CATALOG, snippet, Port("resize", "output"))
        assert graph.has(out)
    seeds = [node.seed for node in graph.walk() if node.seed is not None]
    assert len(set(seeds)) == len(seeds)


def test_a_whole_view_of_a_recipe_is_one() -> None:
    graph = load_recipe("simclr")
    inside = [node.id for node in graph.nodes if node.id.endswith("_1") and "crop" not in node.id]
    snippet = make_snippet(graph, CATALOG, inside, "a view")
    put, _ = insert_template(chain_graph("resize"), CATALOG, snippet, "resize")
    assert check_graph(put, CATALOG) == ()


@pytest.mark.parametrize(
    ("nodes", "name", "words"),
    [
        ([], "x", "No node is selected"),
        (["resize"], "  ", "this one has 0"),
        (["resize"], "x" * 61, "this one has 61"),
        (["decode"], "x", "not an image"),
        (["reader"], "x", "connected to nothing"),
        (["resize", "gaussian_blur"], "x", "exactly one image input"),
    ],
)
def test_what_cannot_be_one_says_why(nodes: list[str], name: str, words: str) -> None:
    graph = chain_graph("resize", "rotate", "gaussian_blur")
    with pytest.raises(GraphEditError, match=words):
        make_snippet(graph, CATALOG, nodes, name)


def test_a_draw_that_feeds_others_too_is_to_come_along() -> None:
    graph = chain_graph("resize", "rotate", "gaussian_blur")
    graph = randomise_arg(graph, CATALOG, "rotate", "angle")
    graph = connect(graph, CATALOG, Port("angle", "output"), "gaussian_blur", "sigma")
    with pytest.raises(GraphEditError, match=r"connected to angle\.output.*Select 'angle'"):
        make_snippet(graph, CATALOG, ["rotate"], "x")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "dali-workbench-snippet"}'])
def test_a_text_without_a_snippet_is_refused(text: str) -> None:
    with pytest.raises(GraphFormatError):
        load_snippet(text)
