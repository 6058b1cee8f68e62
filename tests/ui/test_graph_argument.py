import json
from pathlib import Path

import pytest

from workbench.errors import GraphFormatError
from workbench.graph import Graph, Node, dump_graph, load_recipe
from workbench.ui.state.graph_argument import START, to_graph


def test_what_can_stand_for_a_graph(tmp_path: Path) -> None:
    graph = load_recipe("simclr")
    file = tmp_path / "graph.json"
    file.write_text(dump_graph(graph))
    for source in (graph, "simclr", file, str(file), json.loads(dump_graph(graph))):
        assert to_graph(source) == graph
    assert to_graph(None) == load_recipe(START)


@pytest.mark.parametrize("source", [5, ["simclr"], "simclrr", Path("gone.json"), {"format": "x"}])
def test_what_cannot(source: object) -> None:
    with pytest.raises(GraphFormatError):
        to_graph(source)  # type: ignore[arg-type]


def test_half_a_character_is_no_name() -> None:
    odd = "\ud800"
    for graph in (Graph(odd), Graph(about=odd), Graph(nodes=(Node(odd, "rotate"),))):
        with pytest.raises(GraphFormatError, match="half a character"):
            to_graph(graph)
