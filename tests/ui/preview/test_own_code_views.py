"""Where a function's node is shown, it is said that its pictures are not the script's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from workbench.catalog import Catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.builder.function_node import FunctionNode, node
from workbench.ui.inspector.argument_rows import NOTHING_SELECTED, inspector_view
from workbench.ui.inspector.own_code_views import caution_note, caution_of


@node
def shaken(image: Any) -> Any:
    import numpy as np

    return image + np.random.normal(size=image.shape)


@node
def plain(image: Any) -> Any:
    return image


def with_function(function: FunctionNode) -> Graph:
    return function.after(load_recipe("rotate-jitter"), "resize")


def test_one_that_draws_says_so_with_its_line_and_the_remedy(catalog: Catalog) -> None:
    graph = with_function(shaken)
    words = inspector_view(graph, catalog, "shaken", "cpu", [])["caution"]
    assert words.startswith(
        "Not what the script gives: numpy.random.normal (line 4: return image + np.random.normal"
    )
    assert "Let DALI draw" in words
    assert caution_note(graph.node("shaken")) == "not exact"


@pytest.mark.parametrize("node_id", ["plain", "resize", "angle"])
def test_others_say_nothing(node_id: str, catalog: Catalog) -> None:
    graph = with_function(plain)
    assert inspector_view(graph, catalog, node_id, "cpu", [])["caution"] == ""
    assert caution_of(graph.node(node_id)) == caution_note(graph.node(node_id)) == ""
    bare = replace(graph.node("plain"), args={"function": "plain"})
    assert caution_of(bare) == ""
    assert NOTHING_SELECTED["caution"] == ""
