"""Frames and notes: set, changed, renamed with their nodes, copied, and kept in the file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from workbench.catalog import load_catalog
from workbench.errors import GraphEditError
from workbench.graph import load_recipe
from workbench.graph.storage.layout import Document, Frame, Note, dump_document, load_document
from workbench.ui.canvas.canvas_actions import apply_canvas_edit
from workbench.ui.canvas.canvas_annotations import copied_text, frame_entries, note_entries
from workbench.ui.contract.actions import canvas, parse_action
from workbench.ui.contract.components import ACTIONS
from workbench.ui.state.step_labels import step_label

CATALOG = load_catalog()
JITTER = Document(load_recipe("rotate-jitter"))


def done(document: Document, do: str, **message: Any) -> Document:
    action = parse_action("canvas", ACTIONS["canvas"], {"do": do, **message})
    assert isinstance(action, canvas.CanvasEdit)
    return apply_canvas_edit(document, CATALOG, action)[0]


FRAMED = done(JITTER, "frame", title="Geometry", nodes=["resize", "rotate"])


def test_a_frame_follows_its_nodes() -> None:
    assert FRAMED.layout.frames == {"frame": Frame("Geometry", ("resize", "rotate"))}
    assert FRAMED.graph is JITTER.graph, "what runs stays the same"
    turned = done(FRAMED, "rename", node="rotate", to="turn")
    assert turned.layout.frames["frame"].nodes == ("resize", "turn")
    left = done(turned, "remove", nodes=["turn"])
    assert left.layout.frames["frame"].nodes == ("resize",)
    assert done(left, "remove", nodes=["resize"]).layout.frames == {}
    titled = done(FRAMED, "frame", frame="frame", title="Place", nodes=[])
    assert titled.layout.frames["frame"] == Frame("Place", ("resize", "rotate"))
    assert done(FRAMED, "remove_frame", frame="frame") == JITTER


def test_they_come_back_from_the_file_and_from_undo() -> None:
    noted = done(FRAMED, "note", text="as in the paper", x=10, y=20)
    assert noted.layout.notes == {"note": Note("as in the paper", (10.0, 20.0))}
    assert load_document(dump_document(noted)) == noted
    assert step_label(JITTER, FRAMED) == "frame Geometry"
    assert step_label(FRAMED, noted) == "note as in the paper"
    assert step_label(noted, done(noted, "note", note="note", text=" ", x=0, y=0)) == (
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
        ("frame", {"title": " ", "nodes": ["rotate"]}, "title of a frame is empty"),
        ("frame", {"title": "a" * 81, "nodes": ["rotate"]}, "81 characters; 80 are"),
        ("frame", {"title": "a", "nodes": []}, "Select some"),
        ("frame", {"title": "a", "nodes": ["gone"]}, "no node 'gone'"),
        ("frame", {"title": "a", "nodes": [], "frame": "gone"}, "no frame 'gone'"),
        ("remove_frame", {"frame": "gone"}, "no frame 'gone'"),
        ("note", {"text": "a", "x": 1e9, "y": 0}, "too far"),
        ("note", {"text": "a" * 2001, "x": 0, "y": 0}, "2001 characters"),
    ],
)
def test_what_cannot_be_says_why(do: str, message: dict[str, Any], words: str) -> None:
    with pytest.raises(GraphEditError, match=words):
        done(JITTER, do, **message)


def test_what_cannot_be_read_costs_no_graph() -> None:
    text = dump_document(FRAMED)
    for damage in ('"frames": 3', '"frames": {"a": {"title": 1, "nodes": []}}', '"notes": [1]'):
        broken = text.replace('"frames": {', f'{damage}, "lost": {{')
        assert load_document(broken).graph == JITTER.graph
    inside = replace(FRAMED, layout=FRAMED.layout.noted(Note("a", (0.0, 0.0), "gone.then")))
    assert load_document(dump_document(inside)) == FRAMED


def test_a_copy_of_a_whole_body_brings_its_notes() -> None:
    noted = done(JITTER, "note", text="as in the paper", x=10, y=20)
    graph, layout = noted.graph, noted.layout
    whole = copied_text(graph, layout, [node.id for node in graph.nodes])
    pasted = done(noted, "paste", text=whole, x=0, y=0)
    assert pasted.layout.notes["note_2"] == Note("as in the paper", (46, 56))
    part = copied_text(graph, layout, ["resize", "rotate"])
    assert done(noted, "paste", text=part, x=0, y=0).layout.notes == layout.notes
