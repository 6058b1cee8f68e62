"""The body of a region that is opened: what it shows, and edits in it."""

from __future__ import annotations

import json

import pytest

from tests.ui.branched_graph import BRANCHED, JITTER, Ready, ask, breadcrumb, drawn
from tests.ui.screen import Make
from workbench.graph import Port


@pytest.fixture
def opened(make: Make) -> Ready:
    model, screen = make(graph=BRANCHED)
    ask(model, "open_scope", scope="branch.then")
    return model, screen


def test_opening_shows_the_body_with_what_it_takes_in_and_gives(opened: Ready) -> None:
    _, screen = opened
    assert drawn(screen) == ["branch.then", "rotate"]
    assert breadcrumb(screen) == ["branch.then"]
    assert [body["name"] for body in screen["canvas", "breadcrumb"][0]["bodies"]] == [
        "then",
        "else",
    ]
    taken = screen.node("branch.then")
    assert [port["name"] for port in taken["outputs"]] == ["images"]
    edges = {edge["id"]: edge["source"] for edge in screen["canvas", "edges"]}
    assert edges == {"rotate:data": "branch.then", ":images": "rotate"}
    assert screen["canvas", "selected"] == ["rotate"]
    assert screen.row("angle")["mode"] == "random"


def test_going_out_selects_the_region(opened: Ready) -> None:
    model, screen = opened
    ask(model, "open_scope", scope="")
    assert breadcrumb(screen) == []
    assert screen["canvas", "selected"] == ["branch"]
    view = screen["inspector", "node"]
    assert (view["condition"], view["condition_node"]) == ("0.5 yes", "chance")
    assert [body["scope"] for body in view["bodies"]] == ["branch.then", "branch.else"]


def test_edits_happen_in_the_body_that_is_shown(opened: Ready) -> None:
    model, screen = opened
    ask(model, "add", op="gaussian_blur", after="rotate")
    assert model.graph.scope_of("gaussian_blur") == "branch.then"
    ask(model, "duplicate", nodes=["gaussian_blur", "branch.then"])
    assert screen["canvas", "selected"] == ["gaussian_blur_2"]
    assert model.graph.scope_of("gaussian_blur_2") == "branch.then"
    ask(
        model,
        "connect",
        source="gaussian_blur_2",
        output="output",
        target="",
        input="images",
        edge="",
    )
    then = model.graph.body_at("branch.then")
    assert then.outputs == {"images": Port("gaussian_blur_2", "output")}
    ask(model, "remove", nodes=["gaussian_blur_2", "gaussian_blur"])
    assert [node.id for node in model.graph.body_at("branch.then").nodes] == ["angle", "rotate"]
    for _ in range(4):
        ask(model, "undo")
    assert model.graph == BRANCHED
    assert breadcrumb(screen) == ["branch.then"]


def test_a_value_inside_is_set_and_undone(opened: Ready) -> None:
    model, screen = opened
    ask(model, "set", "inspector", node="rotate", arg="angle", value=12.0)
    assert model.graph.node("rotate").args["angle"] == 12.0
    ask(model, "undo")
    assert screen.row("angle")["mode"] == "random"


def test_what_is_copied_inside_is_pasted_where_one_is(opened: Ready) -> None:
    model, screen = opened
    text = screen["canvas", "fragment"]
    assert [node["id"] for node in json.loads(text)["nodes"]] == ["angle", "rotate"]
    ask(model, "open_scope", scope="branch.else")
    ask(model, "paste", text=text, x=0, y=0)
    assert model.graph.scope_of("rotate_2") == "branch.else"
    assert screen["canvas", "selected"] == ["rotate_2"]
    (fault,) = [each for each in screen["bar", "faults"] if each["node"] == "rotate_2"]
    assert "Connect branch.else.images" in fault["fixes"]
    ask(model, "fix", "bar", node="rotate_2", arg="data", fix="Connect branch.else.images")
    assert model.graph.node("rotate_2").inputs["data"] == Port("branch.else", "images")
    ask(model, "open_scope", scope="")
    ask(model, "paste", text=text, x=0, y=0)
    assert model.graph.scope_of("rotate_3") == ""


def test_what_a_body_takes_in_can_be_used_and_stays(opened: Ready) -> None:
    model, screen = opened
    ask(model, "branch", op="resize", node="branch.then", output="images")
    assert model.graph.node("resize_2").inputs["data"] == Port("branch.then", "images")
    assert screen["bar", "message"] == ""
    model.receive("canvas", "selected", ["branch.then"])
    assert screen["inspector", "node"]["id"] == ""
    assert screen["canvas", "fragment"] == ""
    ask(model, "remove", nodes=["branch.then"])
    assert "it stays" in screen["bar", "message"]
    ask(model, "connect_targets", node="branch.then", output="images", edge="")
    assert screen["canvas", "connect_targets"]["source"] == "branch.then.images"
    ask(model, "compatible_ops", node="branch.then", output="images", edge="")
    assert screen["canvas", "compatible_ops"]["kind"] == "image"
    ask(model, "add_on", op="gaussian_blur", edge="rotate:data")
    assert model.graph.node("rotate").inputs["data"] == Port("gaussian_blur", "output")


def test_places_and_names_are_those_of_the_body(opened: Ready) -> None:
    model, screen = opened
    there = {"rotate": [5.0, 6.0], ":images": [7.0, 8.0], "branch.then": [0.0, 0.0]}
    ask(model, "place", positions=there)
    assert screen["canvas", "positions"] == there
    ask(model, "rename", node=":images", to="turned")
    assert screen["canvas", "positions"][":turned"] == [7.0, 8.0]
    assert "branch.else does not give turned" in str(screen["bar", "faults"])
    ask(model, "undo")
    ask(model, "open_scope", scope="")
    outputs = {"branch.then:images": there.pop(":images")}
    assert screen["canvas", "positions"] == {**there, **outputs}  # as the frame shows them
    ask(model, "rename", node="branch", to="sometimes")
    ask(model, "open_scope", scope="sometimes.then")
    assert screen["canvas", "positions"]["sometimes.then"] == [0.0, 0.0]
    ask(model, "arrange")
    assert screen["canvas", "positions"] == {}


def test_another_graph_is_shown_from_outside(opened: Ready) -> None:
    model, screen = opened
    model.set_graph(JITTER)
    assert breadcrumb(screen) == []
    assert "rotate" in drawn(screen)
