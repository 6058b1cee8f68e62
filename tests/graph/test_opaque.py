"""Opaque nodes for code that a graph cannot contain: stored, shown, but not run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers import chain_graph
from workbench.catalog import load_catalog
from workbench.catalog.listing import list_operators
from workbench.catalog.spec import MOST_OPAQUE_OUTPUTS
from workbench.emit.targets import export, target_names
from workbench.engine import Engine
from workbench.errors import CatalogError, GraphEditError, GraphFaultsError
from workbench.graph import Graph, Node, Port, check_graph
from workbench.graph.edits.compose import insert_on_edge, place_node, remove_nodes
from workbench.graph.edits.edit import insert_node
from workbench.graph.fixes import fixes
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.storage.io import dump_graph, load_graph
from workbench.graph.storage.layout import Layout
from workbench.graph.types.shapes import infer_types
from workbench.graph.types.typed_graph import TypedGraph
from workbench.preview import PreviewRequest, preview_batch
from workbench.ui.canvas.canvas_payloads import edge_entries, node_entries, operator_entries
from workbench.ui.inspector.argument_rows import inspector_view

CATALOG = load_catalog()
SOURCE = "train.py:12 in augment\nimages = fn.python_function(images, function=invert)"
CODE = Node(
    "code",
    "opaque.1",
    {"call": "fn.python_function", "source": SOURCE, "why": "it runs Python code."},
    {"input_0": Port("resize", "output"), "input_1": Port("reader", "labels")},
)


def with_code(code: Node = CODE) -> Graph:
    """Reader, decoder, resize, the code, rotate."""
    graph = chain_graph("resize", "rotate")
    rotate = replace(graph.node("rotate"), inputs={"data": Port(code.id, "output")})
    return replace(graph.replace_node(rotate), nodes=(*graph.nodes[:-1], code, rotate))


def test_the_catalogue_answers_and_does_not_list_them() -> None:
    assert [port.name for port in CATALOG["opaque.1"].outputs] == ["output"]
    assert [port.name for port in CATALOG["opaque.3"].outputs] == [
        *("output_0", "output_1", "output_2"),
    ]
    assert CATALOG["opaque.0"].outputs == ()
    assert len(CATALOG[f"opaque.{MOST_OPAQUE_OUTPUTS}"].outputs) == MOST_OPAQUE_OUTPUTS
    assert "opaque.1" in CATALOG
    assert "opaque.1" not in list(CATALOG)
    assert "opaque" not in list_operators(CATALOG)
    assert not any("opaque" in entry["name"] for entry in operator_entries(CATALOG.values()))
    for name in ("opaque.17", "opaque.-1", "opaque", "opaque.01", "opaque.x"):
        assert CATALOG.find(name) is None
        assert name not in CATALOG
        with pytest.raises(CatalogError, match="is not an operator"):
            CATALOG[name]


def test_they_cannot_be_placed() -> None:
    graph = chain_graph("resize")
    for place in (
        lambda: place_node(graph, CATALOG, "opaque.1"),
        lambda: insert_node(graph, CATALOG, "opaque.1", "resize"),
        lambda: insert_on_edge(graph, CATALOG, "opaque.1", ":images"),
    ):
        with pytest.raises(GraphEditError, match="code that the graph cannot contain"):
            place()


def test_one_fault_each_says_what_it_is() -> None:
    (fault,) = check_graph(with_code(), CATALOG)
    assert str(fault) == (
        "code: a graph cannot contain fn.python_function (train.py:12 in augment): it runs Python "
        "code. Replace it with operators of the graph, or remove it."
    )
    (bare,) = check_graph(with_code(replace(CODE, args={})), CATALOG)
    assert "a graph cannot contain this code. Replace" in str(bare)
    long = replace(CODE, args={"call": "x" * 5000, "source": "\n" * 50, "why": "y " * 5000})
    (cut,) = check_graph(with_code(long), CATALOG)
    assert len(str(cut)) < 400


def test_removing_one_heals_the_chain() -> None:
    graph = with_code()
    (fault,) = check_graph(graph, CATALOG)
    (fix,) = fixes(ResolvedGraph(graph, CATALOG), fault)
    assert fix.label == "Remove code"
    assert fix.graph.node("rotate").inputs["data"] == Port("resize", "output")
    assert check_graph(fix.graph, CATALOG) == ()
    assert remove_nodes(graph, CATALOG, ["code"]) == fix.graph


def test_it_is_saved_and_drawn() -> None:
    graph = with_code()
    assert load_graph(dump_graph(graph)) == graph
    flow = infer_types(graph, CATALOG)[Port("code", "output")]
    assert (flow.dtype, flow.layout, flow.shape, flow.kind) == (None, None, None, "any")
    layout = Layout()
    devices = dict.fromkeys((node.id for node in graph.nodes), "cpu")
    (entry,) = [
        entry
        for entry in node_entries(
            TypedGraph(graph, CATALOG), layout, devices, {}, {}, check_graph(graph, CATALOG)
        )
        if entry["id"] == "code"
    ]
    assert entry["label"] == "Code"
    assert entry["title"] == "fn.python_function"
    assert "fn.python_function" in entry["fault"]
    assert [port["name"] for port in entry["inputs"]] == ["input_0", "input_1"]
    edges = {edge["id"] for edge in edge_entries(TypedGraph(graph, CATALOG), layout, devices)}  # type: ignore[arg-type]
    assert {"code:input_0", "code:input_1", "rotate:data"} <= edges


def test_its_source_can_be_read_and_not_edited() -> None:
    graph = with_code()
    view = inspector_view(TypedGraph(graph, CATALOG), "code", "cpu", check_graph(graph, CATALOG))
    rows = {row["name"]: row for row in view["rows"]}
    assert list(rows) == ["call", "source", "why"]
    assert rows["source"]["value"] == SOURCE
    assert {row["editor"] for row in rows.values()} == {"shown"}
    assert all("It cannot be edited" in row["locked"] for row in rows.values())
    assert "fn.python_function" in view["errors"][0]


@pytest.mark.parametrize("target", target_names())
def test_no_target_takes_it(target: str) -> None:
    with pytest.raises(GraphFaultsError, match=r"fn\.python_function"):
        export(with_code(), target, CATALOG)


def test_it_is_not_run(engine: Engine, photos: Path) -> None:
    with pytest.raises(GraphFaultsError, match=r"fn\.python_function"):
        preview_batch(engine, PreviewRequest(with_code(), str(photos)))
