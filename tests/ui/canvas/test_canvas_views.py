"""What the canvas draws of a graph."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workbench.catalog import load_catalog
from workbench.graph import Graph, Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.edit import set_setting
from workbench.graph.edits.fragment import duplicate
from workbench.graph.model.faults import Fault
from workbench.graph.storage.layout import Layout
from workbench.graph.types.devices import infer_devices
from workbench.ui.canvas.canvas_views import (
    edge_entries,
    node_entries,
    on_drawn_nodes,
    operator_entries,
)
from workbench.ui.contract.views import EdgeEntry, NodeEntry

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


def nodes(graph: Graph, layout: Layout = Layout()) -> list[NodeEntry]:  # noqa: B008
    devices = infer_devices(graph, CATALOG)
    return node_entries(graph, CATALOG, layout, devices, {}, {}, check_graph(graph, CATALOG))


def edges(graph: Graph, layout: Layout = Layout()) -> list[EdgeEntry]:  # noqa: B008
    return edge_entries(graph, CATALOG, layout, infer_devices(graph, CATALOG))


@pytest.mark.parametrize("recipe", load_recipes())
def test_every_edge_joins_ports_that_are_drawn(recipe: str) -> None:
    graph = load_recipe(recipe)
    drawn = {node["id"]: node for node in nodes(graph)}
    json.dumps([*drawn.values(), *edges(graph)], allow_nan=False)
    for edge in edges(graph):
        assert edge["output"] in [port["name"] for port in drawn[edge["source"]]["outputs"]]
        if edge["target"]:
            ports = {port["name"]: port for port in drawn[edge["target"]]["inputs"]}
            assert ports[edge["input"]]["fed"]
            assert ports[edge["input"]]["argument"] == edge["argument"]
        else:
            body = graph.at_scope(edge["id"].rpartition(":")[0])
            assert body.outputs[edge["input"]] == Port(edge["source"], edge["output"])


def test_folded_generators_are_pills_and_unfolded_ones_nodes() -> None:
    (rotate,) = (node for node in nodes(JITTER) if node["id"] == "rotate")
    assert rotate["draws"] == [{"arg": "angle", "text": "angle ~ \N{MINUS SIGN}10 … 10"}]
    assert "angle" not in [node["id"] for node in nodes(JITTER)]
    layout = Layout(unfolded=frozenset({"angle"}))
    drawn = {node["id"]: node for node in nodes(JITTER, layout)}
    assert drawn["angle"]["generator"]
    assert drawn["rotate"]["draws"] == []
    assert [port["name"] for port in drawn["rotate"]["inputs"]] == ["data", "angle"]
    (edge,) = (edge for edge in edges(JITTER, layout) if edge["source"] == "angle")
    assert (edge["id"], edge["argument"]) == ("rotate:angle", True)


def test_equal_operators_and_idle_branches_are_told() -> None:
    assert not any(node["twin"] or node["note"] for node in nodes(JITTER))
    graph, _ = duplicate(JITTER, ["rotate"])
    drawn = {node["id"]: node for node in nodes(graph)}
    assert {node_id for node_id, node in drawn.items() if node["twin"]} == {"rotate", "rotate_2"}
    assert {node_id: node["note"] for node_id, node in drawn.items() if node["note"]} == {
        "rotate_2": "feeds nothing"
    }


def test_the_step_to_the_gpu_is_marked() -> None:
    mixed = set_setting(JITTER, device="mixed")
    assert [edge["id"] for edge in edges(mixed) if edge["crosses"]] == ["decode:data"]
    assert not any(edge["crosses"] for edge in edges(JITTER))


def test_a_fault_of_a_folded_generator_stands_at_the_argument() -> None:
    graph = JITTER.replace_node(replace(JITTER.node("angle"), seed=None))
    (fault,) = on_drawn_nodes(graph, CATALOG, Layout(), check_graph(graph, CATALOG))
    assert (fault.node, fault.arg) == ("rotate", "angle")
    unfolded = Layout(unfolded=frozenset({"angle"}))
    (fault,) = on_drawn_nodes(graph, CATALOG, unfolded, check_graph(graph, CATALOG))
    assert (fault.node, fault.arg) == ("angle", "seed")


def test_a_warning_is_drawn_apart_from_a_fault() -> None:
    warning = Fault("rotate", "", "covers pixels", "Remove it.", "covered")
    fault = Fault("flip", "horizontal", "2 is not 0 or 1", "Give 0 or 1.", "value")
    devices = infer_devices(JITTER, CATALOG)
    drawn = node_entries(JITTER, CATALOG, Layout(), devices, {}, {}, [warning, fault])
    found = {node["id"]: (node["fault"], node["warned"]) for node in drawn if node["fault"]}
    assert found == {"rotate": ("covers pixels", True), "flip": ("2 is not 0 or 1", False)}


def test_an_operator_that_this_dali_lacks_is_drawn_with_its_edges() -> None:
    odd = Node("odd", "sharpen_2099", {"x": 1}, {"left": Port("flip", "output")})
    end = Node("end", "copy", {}, {"data": Port("odd", "result")})
    graph = replace(JITTER, nodes=(*JITTER.nodes, odd, end))
    (entry,) = (node for node in nodes(graph) if node["id"] == "odd")
    assert not entry["known"]
    assert "sharpen_2099" in entry["fault"]
    assert [port["name"] for port in entry["inputs"]] == ["left"]
    assert [port["name"] for port in entry["outputs"]] == ["result"]
    assert {"odd:left", "end:data"} <= {edge["id"] for edge in edges(graph)}


def test_an_edge_from_nowhere_is_a_fault_and_no_line() -> None:
    rotate = replace(JITTER.node("rotate"), inputs={"data": Port("gone", "output")})
    graph = JITTER.replace_node(rotate)
    assert "rotate:data" not in [edge["id"] for edge in edges(graph)]
    assert check_graph(graph, CATALOG)


def test_operators_are_found_by_words_of_their_documentation() -> None:
    entries = {entry["name"]: entry for entry in operator_entries(CATALOG.values())}
    assert set(entries) == set(CATALOG)
    assert "tiles" in entries["clahe"]["words"]
    assert all(entry["words"].islower() or not entry["words"] for entry in entries.values())
