import json
from pathlib import Path

import pytest

from workbench.errors import GraphFormatError, SaveError
from workbench.graph import Graph, Node, dump_graph, load_recipe
from workbench.ui.sources import START, to_graph, writable_path


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


def test_a_notebook_writes_where_it_may() -> None:
    assert writable_path("out/pipe", ".py", confined=False) == Path("out/pipe.py")
    assert writable_path("~/x.py", ".py", confined=False) == Path("~/x.py").expanduser()


@pytest.mark.parametrize("name", ["pipe.py", "pipe", "my pipe-2.py", "größe.py"])
def test_the_web_app_writes_plain_names(name: str) -> None:
    path = writable_path(name, ".py", confined=True)
    assert path == Path(path.name)
    assert path.suffix == ".py"


@pytest.mark.parametrize(
    "name",
    [
        "../pipe.py", "/etc/pipe.py", "a/b.py", "..", ".bashrc", ".hidden.py", "setup.cfg",
        "~/x.py", "pipe.py\n", "", "  ", "a\0.py", "pipe.json", "a\\..\\b.py", "x.py/..",
    ],
)  # fmt: skip
def test_the_web_app_writes_nothing_else(name: str) -> None:
    if name == "pipe.py\n":
        assert writable_path(name, ".py", confined=True) == Path("pipe.py")
        return
    with pytest.raises(SaveError):
        writable_path(name, ".py", confined=True)
