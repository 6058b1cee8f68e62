"""The code of a cell gives the graph that was on the screen."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.thorough import one_in
from workbench.errors import GraphEditError
from workbench.graph import load_recipes
from workbench.graph.builder.code_of import ordered
from workbench.graph.builder.read import reading
from workbench.graph.storage.layout import Document, Layout
from workbench.sources import open_datasets
from workbench.ui.export.cell_source import MOST_FILES, WIDTH, cell_source
from workbench.ui.state.graph_argument import to_document, to_graph


def run(source: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """What the cell hands to Workbench."""
    import workbench

    monkeypatch.setattr(
        workbench, "Workbench", lambda data, graph: SimpleNamespace(given=(data, graph)), False
    )
    monkeypatch.setattr(
        workbench, "read", lambda data, **options: reading(open_datasets(data), options), False
    )
    names: dict[str, Any] = {}
    exec(compile(source, "cell", "exec"), names)
    given: tuple[Any, Any] = names["w"].given
    return given


@pytest.mark.parametrize("name", one_in(6, load_recipes()))
def test_it_gives_the_graph_and_the_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_recipes()[name]
    source = cell_source(open_datasets("my 'photos'\n"), Document(graph))
    data, described = run(source, monkeypatch)
    assert data == "my 'photos'\n"
    assert ordered(to_graph(described)) == ordered(graph)
    assert max(map(len, source.splitlines())) <= 3 * WIDTH


def test_what_no_calls_give_is_written_as_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_recipes()["ssd"]
    source = cell_source(open_datasets("d"), Document(graph))
    assert "# No method calls give this graph: " in source
    assert to_graph(run(source, monkeypatch)[1]) == graph


def test_nodes_stay_where_they_were_put(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load_recipes()["simclr"]
    put = Layout({graph.nodes[0].id: (12.5, -3.0)})
    source = cell_source(open_datasets("d"), Document(graph, put))
    assert ".decode(" in source
    assert to_document(run(source, monkeypatch)[1]).layout == put
    assert to_document(Document(graph, put)) == Document(graph, put)
    assert to_document(graph) == Document(graph)


def test_it_gives_several_data_and_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    graph = load_recipes()["simclr"]
    data = {"data": "photos", "others": [(tmp_path / "a.jpg", 3)]}
    found, _ = run(cell_source(open_datasets(data), Document(graph)), monkeypatch)
    assert found == {"data": "photos", "others": [(str(tmp_path / "a.jpg"), 3)]}


def test_too_many_files_are_refused() -> None:
    files = open_datasets([f"{number}.jpg" for number in range(MOST_FILES + 1)])
    with pytest.raises(GraphEditError, match="101 files given in Python"):
        cell_source(files, Document(load_recipes()["simclr"]))
