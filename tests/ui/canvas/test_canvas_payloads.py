"""What the canvas shows of a graph: nodes, frames, notes, and saved snippets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.helpers import chain_graph
from workbench.catalog import load_catalog
from workbench.emit import emit_script
from workbench.engine.importing import from_file
from workbench.engine.resources.machine import describe_machine
from workbench.errors import GraphEditError
from workbench.graph import Graph, Node, Port, check_graph, load_recipe, load_recipes
from workbench.graph.edits.compose import place_node
from workbench.graph.edits.edit import rename_node, set_setting
from workbench.graph.model.faults import Fault
from workbench.graph.storage.layout import (
    Document,
    Frame,
    Layout,
    Note,
    dump_document,
    load_document,
)
from workbench.graph.types.devices import infer_devices
from workbench.graph.types.typed_graph import TypedGraph
from workbench.ui.app.actions import ACTIONS
from workbench.ui.canvas.canvas_annotations import copied_text, frame_entries, note_entries
from workbench.ui.canvas.canvas_edit import CanvasEdit
from workbench.ui.canvas.canvas_payloads import (
    edge_entries,
    node_entries,
    on_visible_nodes,
    operator_entries,
)
from workbench.ui.canvas.insertions import AddTemplate
from workbench.ui.contract.action import parse_action
from workbench.ui.contract.payloads import EdgeEntry, NodeEntry
from workbench.ui.state.undo_labels import edit_label
from workbench.ui.state.view_state import ViewState, check_before_run
from workbench.ui.storage.autosave import state_folder
from workbench.ui.storage.saved_snippets import (
    PREFIX,
    RemoveSnippet,
    SaveSnippet,
    saved_snippets,
    snippet_entries,
)

# What the canvas draws of a graph.

CATALOG = load_catalog()
JITTER = load_recipe("rotate-jitter")


def nodes(graph: Graph, layout: Layout = Layout()) -> list[NodeEntry]:  # noqa: B008
    devices = infer_devices(graph, CATALOG)
    return node_entries(
        TypedGraph(graph, CATALOG), layout, devices, {}, {}, check_graph(graph, CATALOG)
    )


def edges(graph: Graph, layout: Layout = Layout()) -> list[EdgeEntry]:  # noqa: B008
    return edge_entries(TypedGraph(graph, CATALOG), layout, infer_devices(graph, CATALOG))


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
    graph, _ = place_node(JITTER, CATALOG, "rotate", Port("resize", "output"))
    drawn = {node["id"]: node for node in nodes(graph)}
    assert {node_id for node_id, node in drawn.items() if node["twin"]} == {"rotate", "rotate_2"}
    assert {node_id: node["note"] for node_id, node in drawn.items() if node["note"]} == {
        "rotate_2": "not connected"
    }


def test_the_step_to_the_gpu_is_marked() -> None:
    mixed = set_setting(JITTER, device="mixed")
    assert [edge["id"] for edge in edges(mixed) if edge["crosses"]] == ["decode:data"]
    assert not any(edge["crosses"] for edge in edges(JITTER))


def test_a_fault_of_a_folded_generator_stands_at_the_argument() -> None:
    graph = JITTER.replace_node(replace(JITTER.node("angle"), seed=None))
    (fault,) = on_visible_nodes(TypedGraph(graph, CATALOG), Layout(), check_graph(graph, CATALOG))
    assert (fault.node, fault.arg) == ("rotate", "angle")
    unfolded = Layout(unfolded=frozenset({"angle"}))
    (fault,) = on_visible_nodes(TypedGraph(graph, CATALOG), unfolded, check_graph(graph, CATALOG))
    assert (fault.node, fault.arg) == ("angle", "seed")


def test_a_warning_is_drawn_apart_from_a_fault() -> None:
    warning = Fault("rotate", "", "covers pixels", "Remove it.", "covered")
    fault = Fault("flip", "horizontal", "2 is not 0 or 1", "Use 0 or 1.", "value")
    devices = infer_devices(JITTER, CATALOG)
    drawn = node_entries(TypedGraph(JITTER, CATALOG), Layout(), devices, {}, {}, [warning, fault])
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


# Groups and notes: set, changed, renamed with their nodes, copied, and stored in the file.

DOCUMENT = Document(load_recipe("rotate-jitter"))


def done(document: Document, do: str, **message: Any) -> Document:
    action = parse_action("canvas", ACTIONS["canvas"], {"do": do, **message})
    assert isinstance(action, CanvasEdit)
    return action.edit_at("", document, CATALOG)[0]


FRAMED = done(DOCUMENT, "frame", title="Geometry", nodes=["resize", "rotate"])


def test_a_frame_follows_its_nodes() -> None:
    assert FRAMED.layout.frames == {"frame": Frame("Geometry", ("resize", "rotate"))}
    assert FRAMED.graph is DOCUMENT.graph, "what runs stays the same"
    turned = done(FRAMED, "rename", node="rotate", to="turn")
    assert turned.layout.frames["frame"].nodes == ("resize", "turn")
    left = done(turned, "remove", nodes=["turn"])
    assert left.layout.frames["frame"].nodes == ("resize",)
    assert done(left, "remove", nodes=["resize"]).layout.frames == {}
    titled = done(FRAMED, "frame", frame="frame", title="Place", nodes=[])
    assert titled.layout.frames["frame"] == Frame("Place", ("resize", "rotate"))
    assert done(FRAMED, "remove_frame", frame="frame") == DOCUMENT


def test_they_come_back_from_the_file_and_from_undo() -> None:
    noted = done(FRAMED, "note", text="as in the paper", x=10, y=20)
    assert noted.layout.notes == {"note": Note("as in the paper", (10.0, 20.0))}
    assert load_document(dump_document(noted)) == noted
    assert edit_label(DOCUMENT, FRAMED) == "group Geometry"
    assert edit_label(FRAMED, noted) == "note as in the paper"
    assert edit_label(noted, done(noted, "note", note="note", text=" ", x=0, y=0)) == (
        "remove note as in the paper"
    )
    assert frame_entries(noted.layout, noted.graph) == [
        {"id": "frame", "title": "Geometry", "nodes": ["resize", "rotate"]}
    ]
    assert note_entries(noted.layout, noted.graph) == [
        {"id": "note", "text": "as in the paper", "x": 10.0, "y": 20.0, "node": ""}
    ]


def test_a_copy_brings_the_frame_around_it() -> None:
    text = copied_text(FRAMED.graph, FRAMED.layout, ["resize", "rotate", "color"])
    pasted = done(FRAMED, "paste", text=text, x=0, y=0)
    assert pasted.layout.frames["frame_2"] == Frame("Geometry", ("resize_2", "rotate_2"))
    assert "layout" not in copied_text(FRAMED.graph, FRAMED.layout, ["rotate"])


@pytest.mark.parametrize(
    ("do", "message", "words"),
    [
        ("frame", {"title": " ", "nodes": ["rotate"]}, "title of a group is empty"),
        ("frame", {"title": "a" * 81, "nodes": ["rotate"]}, "81 characters; at most 80 are"),
        ("frame", {"title": "a", "nodes": []}, "Select some"),
        ("frame", {"title": "a", "nodes": ["gone"]}, "no node 'gone'"),
        ("frame", {"title": "a", "nodes": [], "frame": "gone"}, "group 'gone' no longer exists"),
        ("remove_frame", {"frame": "gone"}, "group 'gone' no longer exists"),
        ("note", {"text": "a", "x": 1e9, "y": 0}, "outside the canvas"),
        ("note", {"text": "a" * 2001, "x": 0, "y": 0}, "2001 characters"),
    ],
)
def test_what_cannot_be_says_why(do: str, message: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphEditError, match=words):
        done(DOCUMENT, do, **message)


def test_what_cannot_be_read_costs_no_graph() -> None:
    text = dump_document(FRAMED)
    for damage in ('"frames": 3', '"frames": {"a": {"title": 1, "nodes": []}}', '"notes": [1]'):
        broken = text.replace('"frames": {', f'{damage}, "lost": {{')
        assert load_document(broken).graph == DOCUMENT.graph
    inside = replace(FRAMED, layout=FRAMED.layout.with_note(Note("a", (0.0, 0.0), "gone.then")))
    assert load_document(dump_document(inside)) == FRAMED


def test_a_copy_of_a_whole_body_brings_its_notes() -> None:
    noted = done(DOCUMENT, "note", text="as in the paper", x=10, y=20)
    graph, layout = noted.graph, noted.layout
    whole = copied_text(graph, layout, [node.id for node in graph.nodes])
    pasted = done(noted, "paste", text=whole, x=0, y=0)
    assert pasted.layout.notes["note_2"] == Note("as in the paper", (46, 56))
    part = copied_text(graph, layout, ["resize", "rotate"])
    assert done(noted, "paste", text=part, x=0, y=0).layout.notes == layout.notes


# Snippets that a person saved, in the state folder, and what the canvas does with them.

NAME = "Turned / blurred.."
OTHER = chain_graph("resize", "flip")


@pytest.fixture
def state() -> ViewState:
    graph = chain_graph("resize", "rotate", "gaussian_blur")
    return ViewState(check_before_run(graph, CATALOG, describe_machine()))


def save(state: ViewState, name: str = NAME, *nodes: str) -> str:
    return SaveSnippet(list(nodes or ("rotate", "gaussian_blur")), name).save(state, CATALOG)


def test_one_is_saved_replaced_put_in_and_removed(state: ViewState) -> None:
    assert "saved. It is listed" in save(state)
    assert "replaced. It is listed" in save(state)
    assert [snippet.name for snippet in saved_snippets()] == [NAME]
    assert len(list((state_folder() / "blocks").iterdir())) == 1
    (entry,) = snippet_entries(state.snippets)
    assert (entry["name"], entry["nodes"]) == (PREFIX + NAME, ["rotate", "gaussian_blur"])
    for place in ({"after": "resize"}, {"edge": "flip:data"}, {"after": "flip"}):
        action = AddTemplate(PREFIX + NAME, sound=True, **place)
        document, selected = action.edit_body(Document(OTHER), CATALOG)
        assert selected == ["gaussian_blur"]
        assert check_graph(document.graph, CATALOG) == ()
    RemoveSnippet(NAME).remove(state)
    assert (saved_snippets(), state.snippets) == ((), ())


def test_what_is_none_is_refused_and_named(state: ViewState) -> None:
    with pytest.raises(GraphEditError, match="Saved snippets: none"):
        RemoveSnippet("x").remove(state)
    with pytest.raises(GraphEditError, match="no snippet 'x'"):
        AddTemplate(PREFIX + "x", after="resize").edit_body(Document(OTHER), CATALOG)
    with pytest.raises(GraphEditError, match="No node is selected"):
        save(state, NAME, "gone")
    assert saved_snippets() == ()


def test_a_damaged_file_hides_no_other(state: ViewState) -> None:
    save(state)
    for name, text in {"a": "", "b": "{}", "c": "\udcff"}.items():
        path = state_folder() / "blocks" / f"{name}.json"
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
    assert [snippet.name for snippet in saved_snippets()] == [NAME]


def test_a_block_is_put_in_again_renamed_and_comes_back_from_its_code(tmp_path: Path) -> None:
    graph = chain_graph("resize").with_p(0.3, lambda x: x.rotate(angle=5).saturation(saturation=2))
    state = ViewState(check_before_run(graph, CATALOG, describe_machine()))
    save(state, NAME, "branch")
    (entry,) = snippet_entries(state.snippets)
    assert entry["summary"] == "Saved by you: if, rotate, saturation."
    document, places = Document(graph), ["branch", "branch_2"]
    for place in places:
        action = AddTemplate(PREFIX + NAME, sound=True, after=place)
        document, selected = action.edit_body(document, CATALOG)
    (last,) = selected
    twice = rename_node(document.graph, last, "last")
    other, _ = msgspec.structs.replace(action, after="resize").edit_body(Document(OTHER), CATALOG)
    for made, blocks in ((twice, ["branch", "branch_2", "last"]), (other.graph, ["branch"])):
        assert check_graph(made, CATALOG) == ()
        assert [node.id for node in made.nodes if node.bodies] == blocks
        draws = [node for node in made.walk() if node.op == "random.coin_flip"]
        assert [draw.args["probability"] for draw in draws] == [0.3] * len(blocks)
        assert len({draw.seed for draw in draws}) == len(blocks), "each draws by itself"
        script = emit_script(made, CATALOG).text
        (tmp_path / "script.py").write_text(script)
        again = from_file(tmp_path / "script.py").graph
        assert emit_script(again, CATALOG).text == script
