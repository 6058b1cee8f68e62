"""Draws worth keeping, beside the graph in its file."""

import json
from dataclasses import replace

import pytest

from workbench.graph import load_graph, load_recipe
from workbench.graph.storage.layout import Document, dump_document, load_document
from workbench.graph.storage.saved_draws import MOST_SAVED, SavedDraw, draws_from_json

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
