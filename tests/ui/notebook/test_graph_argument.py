import json
from pathlib import Path

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from workbench.emit.pipeline_import.graph import ImportedGraph
from workbench.emit.pipeline_import.report import ImportReport
from workbench.errors import GraphFormatError
from workbench.graph import Graph, Node, dump_graph, load_recipe
from workbench.graph.storage.layout import Document, Layout, Note, dump_document
from workbench.graph.storage.recipes import load_recipe_document
from workbench.preview.views.share import KEY
from workbench.ui.state.graph_argument import START, to_document, to_graph


def test_what_can_stand_for_a_graph(tmp_path: Path) -> None:
    graph = load_recipe("simclr")
    file = tmp_path / "graph.json"
    file.write_text(dump_graph(graph))
    for source in (graph, "simclr", file, str(file), json.loads(dump_graph(graph))):
        assert to_graph(source) == graph
    assert to_graph(None) == load_recipe(START)


@pytest.mark.parametrize("ending", ["json", "png"])
def test_a_file_keeps_what_is_beside_the_graph(ending: str, tmp_path: Path) -> None:
    layout = Layout().noted(Note("as in the paper", (40.0, 300.0)))
    document = Document(load_recipe("simclr"), layout)
    file = tmp_path / f"graph.{ending}"
    if ending == "png":
        info = PngInfo()
        info.add_itxt(KEY, dump_document(document))
        Image.new("RGB", (8, 8)).save(file, pnginfo=info)
    else:
        file.write_text(dump_document(document))
    assert to_document(file) == to_document(str(file)) == document


def test_an_import_stands_for_its_document() -> None:
    document = load_recipe_document("simclr")
    found = ImportedGraph(document, ImportReport())
    assert to_graph(found) is document.graph
    assert to_document(found) is document


@pytest.mark.parametrize("source", [5, ["simclr"], "simclrr", Path("gone.json"), {"format": "x"}])
def test_what_cannot(source: object) -> None:
    with pytest.raises(GraphFormatError):
        to_graph(source)  # type: ignore[arg-type]


def test_half_a_character_is_no_name() -> None:
    odd = "\ud800"
    for graph in (Graph(odd), Graph(about=odd), Graph(nodes=(Node(odd, "rotate"),))):
        with pytest.raises(GraphFormatError, match="half a character"):
            to_graph(graph)
