"""What is kept beside a graph: where its nodes stand, and saved draws."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import GRAPHS
from workbench.errors import GraphFormatError
from workbench.graph import Graph, load_graph, load_recipe
from workbench.graph.edits.edit import rename_node
from workbench.graph.storage.layout import (
    MOST_SAVED,
    Document,
    Layout,
    SavedDraw,
    draws_from_json,
    dump_document,
    load_document,
)

JITTER = load_recipe("rotate-jitter")
PLACES = st.tuples(*[st.floats(-2e4, 2e4, allow_nan=False)] * 2)


@given(GRAPHS, st.data())
def test_a_document_comes_back_as_it_was(graph: Graph, data: st.DataObject) -> None:
    ids = [node.id for node in graph.nodes] + [f":{name}" for name in graph.outputs]
    positions = data.draw(st.dictionaries(st.sampled_from(ids), PLACES))
    document = Document(graph, Layout(positions, frozenset(ids[:2])))
    text = dump_document(document)
    assert load_document(text) == document
    assert load_graph(text) == graph


def test_a_graph_without_layout_is_written_without_one() -> None:
    assert "layout" not in json.loads(dump_document(Document(JITTER)))


@pytest.mark.parametrize(
    "layout",
    [
        7,
        [],
        {"positions": 3, "unfolded": "angle"},
        {"positions": {"rotate": [1, 2, 3]}, "unfolded": [1, None]},
        {"positions": {"rotate": ["1", "2"]}},
        {"positions": {"rotate": [True, False]}},
        {"positions": {"rotate": [1e300, 0]}},
        {"positions": {"rotate": [10**400, 0]}},
        {"positions": {"nowhere": [1, 2]}, "unfolded": ["nowhere"]},
    ],
)
def test_a_damaged_layout_is_passed_over(layout: object) -> None:
    data = json.loads(dump_document(Document(JITTER)))
    text = json.dumps(data | {"layout": layout})
    assert load_document(text) == Document(JITTER)


def test_positions_beyond_numbers_are_passed_over() -> None:
    data = json.loads(dump_document(Document(JITTER)))
    text = json.dumps(
        data | {"layout": {"positions": {"rotate": [float("nan"), 0], "flip": [1, 2]}}}
    )
    assert load_document(text).layout.positions == {"flip": (1.0, 2.0)}


def test_text_that_is_no_graph_is_refused() -> None:
    with pytest.raises(GraphFormatError, match="not a graph file"):
        load_document('{"layout": {}}')


def test_a_layout_keeps_what_the_graph_has() -> None:
    layout = Layout({"rotate": (1, 2), "gone": (3, 4), ":images": (5, 6)}, frozenset({"gone"}))
    assert layout.within(JITTER) == Layout({"rotate": (1, 2), ":images": (5, 6)})


def test_a_renamed_node_stays_in_its_place() -> None:
    layout = Layout({"rotate": (1, 2)}, frozenset({"rotate"}))
    assert layout.renamed("rotate", "turn") == Layout({"turn": (1, 2)}, frozenset({"turn"}))


def test_lines_of_the_source_are_kept_beside_the_graph() -> None:
    document = Document(JITTER, origins={"rotate": "train.py:12", "flip": "train.py:14"})
    text = dump_document(document)
    assert load_document(text) == document
    assert load_graph(text) == JITTER
    assert document.renamed(rename_node(JITTER, "rotate", "turn"), "rotate", "turn").origins == {
        "turn": "train.py:12",
        "flip": "train.py:14",
    }
    fewer = Graph(nodes=tuple(node for node in JITTER.nodes if node.id != "rotate"))
    assert document.with_graph(fewer).origins == {"flip": "train.py:14"}


@pytest.mark.parametrize(
    "origins", [7, [], {"nowhere": "a.py:1"}, {"rotate": 3}, {"rotate": "x" * 1000}]
)
def test_damaged_lines_of_the_source_are_passed_over(origins: object) -> None:
    data = json.loads(dump_document(Document(JITTER)))
    assert load_document(json.dumps(data | {"origins": origins})) == Document(JITTER)


# Draws worth keeping, beside the graph in its file.

DRAWS = (SavedDraw(42, 3, 64, 5, None, "cat.jpg"), SavedDraw(7, 0, 4, None, 2))


def test_they_travel_with_the_graph_and_say_nothing_about_what_runs() -> None:
    document = Document(load_recipe("simclr"), draws=DRAWS)
    text = dump_document(document)
    assert load_document(text) == document
    assert load_graph(text) == load_recipe("simclr")
    assert "draws" not in json.loads(dump_document(replace(document, draws=())))


@pytest.mark.parametrize(
    "entry",
    [
        "seed 42",
        {"seed": 42, "batch": 1},
        {"seed": -1, "batch": 1, "batch_size": 4},
        {"seed": 1, "batch": 1, "batch_size": 0},
        {"seed": 1.5, "batch": 1, "batch_size": 4},
        {"seed": True, "batch": 1, "batch_size": 4},
        {"seed": 1, "batch": 1, "batch_size": 4, "sample": "2"},
        {"seed": 2**40, "batch": 1, "batch_size": 4},
    ],
)
def test_what_cannot_be_read_costs_nobody_the_rest(entry: object) -> None:
    good = {"seed": 1, "batch": 2, "batch_size": 4, "note": 3}
    assert draws_from_json([entry, good]) == (SavedDraw(1, 2, 4),)


def test_no_more_are_read_than_can_be_kept() -> None:
    assert draws_from_json({"seed": 1}) == ()
    good = {"seed": 1, "batch": 2, "batch_size": 4}
    assert len(draws_from_json([good] * 1000)) == MOST_SAVED
