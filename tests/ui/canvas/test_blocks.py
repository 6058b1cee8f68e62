"""Blocks on the canvas: create, change, open and unwrap them; conditions of an if."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.helpers import chain_graph
from tests.ui.branched_graph import (
    BLOCK,
    BRANCHED,
    CATALOG,
    INNER,
    INNER_CHANCE,
    INNER_THEN,
    JITTER,
    NESTED,
    ask,
    breadcrumb,
    drawn,
)
from tests.ui.screen import Make, Ready, Screen, edit
from workbench.graph import Port, dump_graph
from workbench.graph.control_flow.block_kinds import CONDITION
from workbench.graph.control_flow.conditions import LabelIs, SizeIs, condition_of
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import set_arg
from workbench.graph.storage.layout import load_document
from workbench.graph.types.typed_graph import TypedGraph

# A block on the canvas: its ports and bodies, how it is made, changed and taken apart.


@pytest.fixture
def branched(make: Make) -> Ready:
    return make(graph=BRANCHED)


def test_a_block_has_its_ports_and_bodies(branched: Ready) -> None:
    _, screen = branched
    card = screen.node("branch")
    assert card["title"] == "if p = 0.5"
    assert [(port["name"], port["kind"], port["argument"]) for port in card["inputs"]] == [
        ("condition", "any", True),
        ("images", "image", False),
    ]
    assert [(port["name"], port["kind"]) for port in card["outputs"]] == [("images", "image")]
    assert card["bodies"] == [
        {"name": "then", "title": "", "scope": "branch.then", "nodes": 1, "faulty": False},
        {"name": "else", "title": "", "scope": "branch.else", "nodes": 0, "faulty": False},
    ]
    json.dumps(screen["canvas", "nodes"], allow_nan=False)


def test_what_stands_in_a_block_is_drawn_behind_it(make: Make) -> None:
    model, screen = make(graph=NESTED)
    inside = drawn(screen)[drawn(screen).index("branch") :]
    assert inside[:3] == ["branch", "branch.then", INNER_CHANCE]
    scopes = {node["id"]: node["scope"] for node in screen["canvas", "nodes"]}
    assert (scopes["branch"], scopes[INNER], scopes["rotate"]) == ("", "branch.then", INNER_THEN)
    assert scopes[INNER_THEN] == INNER_THEN
    edges = {edge["id"]: edge["source"] for edge in screen["canvas", "edges"]}
    assert edges["rotate:data"] == INNER_THEN
    assert edges[f"{INNER_THEN}:images"] == "rotate"
    assert edges["branch.else:images"] == "branch.else"

    ask(model, "collapse", node=INNER, collapsed=True)
    assert "rotate" not in drawn(screen)
    assert [screen.node(each)["expanded"] for each in ("branch", INNER)] == [True, False]
    assert screen["canvas", "selected"] == [INNER]
    kept = load_document(screen["bar", "saved"])
    assert kept.layout.collapsed == {INNER}
    ask(model, "undo")
    assert "rotate" in drawn(screen)
    ask(model, "collapse", node="rotate", collapsed=True)
    assert "not a block" in screen["bar", "message"]


def test_edits_inside_need_no_open_body(make: Make) -> None:
    model, screen = make(graph=NESTED)
    model.receive("canvas", "selected", ["rotate"])
    assert screen.row("angle")["mode"] == "random"
    ask(model, "compatible_ops", node="", output="", edge=f"{INNER_THEN}:images")
    assert screen["canvas", "compatible_ops"]["place"] == f"{INNER_THEN}:images"
    assert screen["canvas", "compatible_ops"]["kind"] == "image"
    ask(model, "add_on", op="gaussian_blur", edge=f"{INNER_THEN}:images")
    assert model.graph.scope_of("gaussian_blur") == INNER_THEN
    assert screen["canvas", "selected"] == ["gaussian_blur"]
    ask(model, "add", op="flip", after="branch.else")
    assert model.graph.body_at("branch.else").outputs["images"].node == "flip_2"
    ask(model, "rename", node=f"{INNER_THEN}:images", to="turned")
    assert "turned" in model.graph.body_at(INNER_THEN).outputs
    ask(model, "undo")
    ask(model, "remove", nodes=["gaussian_blur", "flip_2", "flip"])
    ids = [node.id for node in model.graph.walk()]
    assert not {"gaussian_blur", "flip_2", "flip"} & set(ids)
    assert breadcrumb(screen) == []
    for _ in range(3):
        ask(model, "undo")
    assert model.graph == NESTED


def test_what_stands_in_several_bodies_is_not_joined(make: Make) -> None:
    model, screen = make(graph=NESTED)
    ask(model, "connect", source="rotate", output="output", target="flip", input="data", edge="")
    assert "several bodies" in screen["bar", "message"]
    assert model.graph == NESTED
    ask(model, "remove", nodes=["branch", "rotate"])
    assert not model.graph.has("rotate")


def test_what_is_copied_is_pasted_into_the_body_of_what_is_selected(branched: Ready) -> None:
    model, screen = branched
    model.receive("canvas", "selected", ["color"])
    text = screen["canvas", "fragment"]
    model.receive("canvas", "selected", ["rotate"])
    ask(model, "paste", text=text, x=300, y=200)
    assert model.graph.scope_of(screen["canvas", "selected"][0]) == "branch.then"
    model.receive("canvas", "selected", ["rotate", "color"])
    ask(model, "paste", text=text, x=0, y=0)
    assert model.graph.scope_of(screen["canvas", "selected"][0]) == ""
    model.receive("canvas", "selected", ["rotate"])
    ask(model, "paste", text=dump_graph(JITTER), x=0, y=0)
    assert model.graph.scope_of("reader_2") == ""


def test_undo_of_the_block_leads_out_of_it(make: Make) -> None:
    model, screen = make(graph=JITTER)
    ask(model, "wrap", nodes=["rotate"], op="if")
    assert model.graph == BRANCHED
    assert screen["canvas", "selected"] == ["branch"]
    ask(model, "open_scope", scope="branch.then")
    ask(model, "wrap", nodes=["rotate"], op="if")
    ask(model, "open_scope", scope=f"{INNER}.then")
    assert breadcrumb(screen) == ["branch.then", f"{INNER}.then"]
    ask(model, "undo")
    assert breadcrumb(screen) == ["branch.then"]
    ask(model, "undo")
    assert breadcrumb(screen) == []
    assert "rotate" in drawn(screen)
    assert model.graph == JITTER


def test_a_block_is_taken_apart(branched: Ready) -> None:
    model, screen = branched
    ask(model, "unwrap", node="branch", body="then")
    assert screen["canvas", "selected"] == ["rotate"]
    assert {node.id for node in model.graph.nodes} == {node.id for node in JITTER.nodes}
    ask(model, "wrap", nodes=["rotate"], op="while")
    assert "Use one of: if" in screen["bar", "message"]


def test_the_probability_of_a_block_is_set_where_it_is_selected(branched: Ready) -> None:
    model, screen = branched
    model.receive("canvas", "selected", [BLOCK])
    assert (screen["inspector", "node"]["control"], screen["inspector", "node"]["weights"]) == (
        "condition",
        [],
    )
    edit(model, "set_probability", block=BLOCK, probability=0.8)
    assert screen["inspector", "node"]["probability"] == 0.8
    assert screen.node(BLOCK)["title"] == "if p = 0.8"
    for bad in (1.5, -1, "often"):
        edit(model, "set_probability", block=BLOCK, probability=bad)
        assert "Use a number from 0 to 1" in screen["bar", "message"]
    assert screen["inspector", "node"]["probability"] == 0.8


def test_one_of_several_is_made_weighed_and_extended(make: Make) -> None:
    model, screen = make(graph=JITTER)
    ask(model, "wrap", nodes=["rotate", "color"], op="one_of")
    assert screen["canvas", "selected"] == ["one_of"]
    assert screen.node("one_of")["title"] == "one_of any of 2"

    def weights() -> list[float]:
        view: list[float] = screen["inspector", "node"]["weights"]
        return view

    assert weights() == [0.5, 0.5]
    edit(model, "set_weights", block="one_of", weights=[3, 1])
    assert weights() == [0.75, 0.25]
    assert screen.node("one_of")["title"] == "one_of 0.75, 0.25"
    for bad in ([0, 0], [-1, 2], [1, 2, 3], ["x", 1], []):
        edit(model, "set_weights", block="one_of", weights=bad)
        assert screen["bar", "message"]
        assert weights() == [0.75, 0.25]
    edit(model, "add_option", block="one_of")
    assert len(weights()) == len(screen["inspector", "node"]["bodies"]) == 3
    edit(model, "remove_option", block="one_of", body="option_0")
    assert len(weights()) == 2
    for _ in range(4):
        ask(model, "undo")
    assert model.graph == JITTER


def test_a_body_is_named_and_the_name_undone(branched: Ready) -> None:
    model, screen = branched
    edit(model, "name_body", block="branch", body="then", title=" a  turn ")
    assert [body["title"] for body in screen.node("branch")["bodies"]] == ["a turn", ""]
    assert screen["bar", "undo_label"] == "name branch.then a turn"
    edit(model, "name_body", block="branch", body="else", title="a turn")
    assert "already has the title 'a turn'" in screen["bar", "message"]
    ask(model, "undo")
    assert model.graph == BRANCHED


def test_some_of_several_is_made_counted_and_shuffled(make: Make) -> None:
    model, screen = make(graph=JITTER)
    ask(model, "wrap", nodes=["rotate", "color"], op="some_of")
    assert screen.node("some_of")["title"] == "some_of 1 of 2"
    edit(model, "add_option", block="some_of")
    assert screen["inspector", "node"]["numbered"]
    edit(model, "set", node="some_of", arg="count", value=2)
    edit(model, "set", node="some_of", arg="shuffled", value=True)
    assert screen.node("some_of")["title"] == "some_of 2 of 3, in random order"
    assert model.graph.node("choice").args == {"population": 6}
    edit(model, "set", node="some_of", arg="count", value=4)
    assert "count is 4, but the block has 3" in str(screen["bar", "faults"])
    ask(model, "undo")
    before = model.graph.node("some_of").bodies["option_1"].nodes
    edit(model, "move_option", block="some_of", body="option_1", by=-1)
    assert [n.id for n in model.graph.node("some_of").bodies["option_0"].nodes] == [
        n.id for n in before
    ]
    edit(model, "move_option", block="some_of", body="option_0", by=-1)
    assert "cannot move by -1" in screen["bar", "message"]
    edit(model, "remove_option", block="some_of", body="option_2")
    assert screen.node("some_of")["title"] == "some_of 2 of 2, in random order"
    assert not screen["bar", "faults"]


def test_what_is_repeated_is_counted_or_drawn(make: Make) -> None:
    model, screen = make(graph=JITTER)
    ask(model, "wrap", nodes=["rotate"], op="repeat")
    assert screen.node("repeat")["title"] == "repeat 2 times"
    edit(model, "set", node="repeat", arg="times", value=0)
    assert screen["bar", "faults"]
    edit(model, "set", node="repeat", arg="times", value=4)
    assert screen.node("repeat")["title"] == "repeat 4 times"
    edit(model, "randomise", node="repeat", arg="times", op="random.uniform")
    assert not screen["bar", "faults"], screen["bar", "faults"]
    assert "times" in model.graph.node("repeat").inputs


def test_a_body_that_differs_from_the_others_is_marked(make: Make) -> None:
    graph, _ = wrap_in_block(chain_graph("resize", "cast", "flip"), CATALOG, ["cast"])
    _, screen = make(graph=set_arg(graph, CATALOG, "cast", "dtype", "FLOAT"))
    card = screen.node("branch")
    assert card["fault"].startswith("branch.then outputs FLOAT, but branch.else outputs UINT8")
    assert [body["faulty"] for body in card["bodies"]] == [True, False]


def test_faults_inside_are_told_on_the_card_and_lead_inside(make: Make) -> None:
    model, screen = make(graph=NESTED)
    edit(model, "set", node="rotate", arg="angle", value=float("nan"))
    edit(model, "set", node="rotate", arg="size", value=-1)
    assert screen["bar", "faults"], screen["bar", "message"]
    fault = screen["bar", "faults"][0]
    assert fault["node"] == "rotate"
    card = screen.node("branch")
    assert card["fault"].startswith("rotate: ")
    assert [body["faulty"] for body in card["bodies"]] == [True, False]
    ask(model, "select", "bar", node="rotate")
    assert breadcrumb(screen) == []
    assert screen["canvas", "selected"] == ["rotate"]
    ask(model, "collapse", node=INNER, collapsed=True)
    ask(model, "select", "bar", node="rotate")
    assert breadcrumb(screen) == ["branch.then", f"{INNER}.then"]
    assert screen.node("rotate")["fault"]


@pytest.mark.parametrize("scope", ["nothing", "branch.otherwise", "rotate.then", "."])
def test_a_scope_that_is_not_there_is_told(branched: Ready, scope: str) -> None:
    model, screen = branched
    ask(model, "open_scope", scope=scope)
    message = screen["bar", "message"]
    assert "There is no node" in message or "has no body" in message
    assert breadcrumb(screen) == []


def test_the_preview_of_a_block_runs(branched: Ready) -> None:
    _, screen = branched
    screen.wait_ready()
    assert screen["bar", "faults"] == []


def test_a_body_drawn_in_a_frame_keeps_its_own_places(branched: Ready) -> None:
    model, screen = branched
    (output,) = BRANCHED.body_at("branch.then").outputs
    pill = f"branch.then:{output}"
    places = {"branch.then": [9.0, -36.0], "rotate": [30.0, 80.0], pill: [50.0, 170.0]}
    ask(model, "place", positions=places)
    assert screen["canvas", "positions"] == places
    document = load_document(screen["bar", "saved"])
    assert set(document.layout.positions) == set(places)
    # The same places when the body is opened alone, and those of the graph are none.
    ask(model, "open_scope", scope="branch.then")
    assert screen["canvas", "positions"]["rotate"] == [30.0, 80.0]
    ask(model, "open_scope", scope="")
    ask(model, "arrange")
    assert screen["canvas", "positions"] == {}
    ask(model, "undo", component="bar")
    assert screen["canvas", "positions"] == places


# The body of a block that is opened: what it shows, and edits in it.


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


def test_going_out_selects_the_block(opened: Ready) -> None:
    model, screen = opened
    ask(model, "open_scope", scope="")
    assert breadcrumb(screen) == []
    assert screen["canvas", "selected"] == ["branch"]
    view = screen["inspector", "node"]
    assert (view["condition"], view["condition_node"]) == ("p = 0.5", "chance")
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
    edit(model, "set", node="rotate", arg="angle", value=12.0)
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
    assert "cannot be removed" in screen["bar", "message"]
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
    assert "branch.else has no output 'turned'" in str(screen["bar", "faults"])
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


# The condition of an if, in its inspector and on the canvas.


@pytest.fixture
def inspected_if(make: Make) -> Ready:
    model, screen = make(graph=BRANCHED)
    model.receive("canvas", "selected", [BLOCK])
    return model, screen


def asks(screen: Screen) -> dict[str, Any]:
    found: dict[str, Any] = screen["inspector", "node"]["asks"]
    return found


def test_each_kind_is_chosen_with_its_usual_values_and_undone(inspected_if: Ready) -> None:
    model, screen = inspected_if
    assert asks(screen)["kind"] == "chance"
    assert asks(screen)["sources"]["size"] == ["decode.output", "resize.output"]
    edit(model, "set_condition", block=BLOCK, kind="size")
    assert (asks(screen)["measure"], asks(screen)["value"]) == ("longer side", 500)
    assert asks(screen)["source"] == "decode.output"
    assert screen.node(BLOCK)["title"] == "if longer side > 500"
    assert screen["inspector", "node"]["probability"] is None
    assert screen["bar", "undo_label"] == "condition of branch"
    edit(model, "set_condition", block=BLOCK, kind="size", measure="aspect", comparison="<")
    assert (asks(screen)["comparison"], asks(screen)["value"]) == ("<", 1)
    edit(model, "set_condition", block=BLOCK, kind="label", classes=[2, 5])
    assert (asks(screen)["classes"], asks(screen)["source"]) == ([2, 5], "reader.labels")
    screen.wait(lambda s: s["inspector", "classes"], "the names of the classes")
    names = screen["inspector", "classes"]
    assert screen.node(BLOCK)["title"] == f"if label {names[2]} or {names[5]}"
    assert screen["inspector", "node"]["condition"] == f"label {names[2]} or {names[5]}"
    edit(model, "set_condition", block=BLOCK, kind="label", classes=[2, 500])
    assert screen.node(BLOCK)["title"] == f"if label {names[2]} or 500"
    edit(model, "set_condition", block=BLOCK, kind="comparison", source="hue.output", value=4)
    assert screen.node(BLOCK)["title"] == "if hue > 4"
    edit(model, "set_condition", block=BLOCK, kind="chance")
    assert screen["inspector", "node"]["probability"] == 0.5
    for _ in range(6):
        edit(model, "undo")
        assert screen["canvas", "selected"] == [BLOCK]
    assert model.graph == BRANCHED


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "weather"}, "not a kind of condition"),
        ({"kind": "size", "measure": "depth"}, "not a measure"),
        ({"kind": "size", "comparison": "=>"}, "not a comparison"),
        ({"kind": "size", "value": "large"}, "not a number"),
        ({"kind": "size", "value": -1}, "above 0"),
        ({"kind": "size", "source": "color.output"}, "cannot be the condition"),
        ({"kind": "size", "source": "nothing"}, "cannot be the condition"),
        ({"kind": "label", "classes": []}, "Use 1 to 12"),
        ({"kind": "label", "classes": [0, "cat"]}, "'cat' is not a class. Enter class numbers"),
        ({"kind": "label", "classes": [-1]}, "compares with class -1"),
        ({"kind": "comparison", "value": float("nan")}, "finite number"),
    ],
)
def test_what_cannot_be_asked_is_said(
    inspected_if: Ready, given: dict[str, Any], words: str
) -> None:
    model, screen = inspected_if
    edit(model, "set_condition", block=BLOCK, **given)
    assert words in screen["bar", "message"]
    assert model.graph == BRANCHED


def test_what_is_connected_otherwise_is_left(make: Make) -> None:
    graph = connect(BRANCHED, CATALOG, Port("reader", "labels"), BLOCK, CONDITION)
    model, screen = make(graph=graph)
    model.receive("canvas", "selected", [BLOCK])
    assert asks(screen)["kind"] == "other"


def test_an_elif_is_added_from_the_inspector_and_the_canvas(inspected_if: Ready) -> None:
    model, screen = inspected_if
    edit(model, "add_elif", node=BLOCK)
    assert screen["bar", "undo_label"] == "elif of branch"
    assert screen["canvas", "selected"] == ["branch_2"]
    assert model.graph.scope_of("branch_2") == "branch.else"
    edit(model, "set_condition", block="branch_2", kind="label", classes=[1])
    assert asks(screen)["kind"] == "label"
    ask(model, "add_elif", node=BLOCK)
    assert model.graph.scope_of("branch_3") == "branch_2.else"
    for _ in range(3):
        edit(model, "undo")
    assert model.graph == BRANCHED
    edit(model, "add_elif", node="rotate")
    assert "Only an if can have an elif" in screen["bar", "message"]


def test_nodes_are_put_behind_a_condition_at_once(make: Make) -> None:
    model, screen = make(graph=JITTER)
    ask(model, "wrap", nodes=["rotate"], op="if", condition="label")
    found = condition_of(TypedGraph(model.graph, CATALOG), model.graph.node("branch"))
    assert found is not None
    assert found[0] == LabelIs((0,))
    ask(model, "undo")
    assert model.graph == JITTER
    ask(model, "wrap", nodes=["color"], op="if", condition="size")
    found = condition_of(TypedGraph(model.graph, CATALOG), model.graph.node("branch"))
    assert found is not None
    assert found[0] == SizeIs()
    ask(model, "wrap", nodes=["flip"], op="if", condition="mood")
    assert "not a kind of condition" in screen["bar", "message"]
