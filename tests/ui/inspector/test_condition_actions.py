"""What an if asks, in its inspector and on the canvas."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.screen import Make, Screen
from workbench.catalog import load_catalog
from workbench.graph import Port, load_recipe
from workbench.graph.control_flow.chance import CONDITION
from workbench.graph.control_flow.conditions import LabelIs, SizeIs, condition_of
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.graph.edits.connect import connect
from workbench.graph.edits.edit import set_setting
from workbench.ui.app.view_model import ViewModel

CATALOG = load_catalog()
JITTER = set_setting(load_recipe("rotate-jitter"), batch_size=4)
BRANCHED, REGION = wrap_in_region(JITTER, CATALOG, ["rotate"])

Ready = tuple[ViewModel, Screen]


@pytest.fixture
def branched(make: Make) -> Ready:
    model, screen = make(graph=BRANCHED)
    model.receive("canvas", "selected", [REGION])
    return model, screen


def ask(model: ViewModel, do: str, component: str = "inspector", **parameters: Any) -> None:
    model.act(component, {"do": do, **parameters})


def asks(screen: Screen) -> dict[str, Any]:
    found: dict[str, Any] = screen["inspector", "node"]["asks"]
    return found


def test_each_kind_is_chosen_with_its_usual_values_and_undone(branched: Ready) -> None:
    model, screen = branched
    assert asks(screen)["kind"] == "chance"
    assert asks(screen)["sources"]["size"] == ["decode.output", "resize.output"]
    ask(model, "set_condition", region=REGION, kind="size")
    assert (asks(screen)["measure"], asks(screen)["value"]) == ("longer side", 500)
    assert asks(screen)["source"] == "decode.output"
    assert screen.node(REGION)["title"] == "if longer side > 500"
    assert screen["inspector", "node"]["probability"] is None
    assert screen["bar", "undo_label"] == "condition of branch"
    ask(model, "set_condition", region=REGION, kind="size", measure="aspect", comparison="<")
    assert (asks(screen)["comparison"], asks(screen)["value"]) == ("<", 1)
    ask(model, "set_condition", region=REGION, kind="label", classes=[2, 5])
    assert (asks(screen)["classes"], asks(screen)["source"]) == ([2, 5], "reader.labels")
    screen.wait(lambda s: s["inspector", "classes"], "the names of the classes")
    names = screen["inspector", "classes"]
    assert screen.node(REGION)["title"] == f"if label {names[2]} or {names[5]}"
    assert screen["inspector", "node"]["condition"] == f"label {names[2]} or {names[5]}"
    ask(model, "set_condition", region=REGION, kind="label", classes=[2, 500])
    assert screen.node(REGION)["title"] == f"if label {names[2]} or 500"
    ask(model, "set_condition", region=REGION, kind="comparison", source="hue.output", value=4)
    assert screen.node(REGION)["title"] == "if hue > 4"
    ask(model, "set_condition", region=REGION, kind="chance")
    assert screen["inspector", "node"]["probability"] == 0.5
    for _ in range(6):
        ask(model, "undo")
        assert screen["canvas", "selected"] == [REGION]
    assert model.graph == BRANCHED


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kind": "weather"}, "no kind of condition"),
        ({"kind": "size", "measure": "depth"}, "no measure"),
        ({"kind": "size", "comparison": "=>"}, "no comparison"),
        ({"kind": "size", "value": "large"}, "no number"),
        ({"kind": "size", "value": -1}, "above 0"),
        ({"kind": "size", "source": "color.output"}, "cannot ask this of"),
        ({"kind": "size", "source": "nothing"}, "cannot ask this of"),
        ({"kind": "label", "classes": []}, "Choose 1 to 12"),
        ({"kind": "label", "classes": [0, "cat"]}, "'cat' is no class. Give numbers"),
        ({"kind": "label", "classes": [-1]}, "names class -1"),
        ({"kind": "comparison", "value": float("nan")}, "finite number"),
    ],
)
def test_what_cannot_be_asked_is_said(branched: Ready, given: dict[str, Any], words: str) -> None:
    model, screen = branched
    ask(model, "set_condition", region=REGION, **given)
    assert words in screen["bar", "message"]
    assert model.graph == BRANCHED


def test_what_is_connected_otherwise_is_left(make: Make) -> None:
    graph = connect(BRANCHED, CATALOG, Port("reader", "labels"), REGION, CONDITION)
    model, screen = make(graph=graph)
    model.receive("canvas", "selected", [REGION])
    assert asks(screen)["kind"] == "other"


def test_an_elif_is_added_from_the_inspector_and_the_canvas(branched: Ready) -> None:
    model, screen = branched
    ask(model, "add_elif", node=REGION)
    assert screen["bar", "undo_label"] == "elif of branch"
    assert screen["canvas", "selected"] == ["branch_2"]
    assert model.graph.scope_of("branch_2") == "branch.else"
    ask(model, "set_condition", region="branch_2", kind="label", classes=[1])
    assert asks(screen)["kind"] == "label"
    ask(model, "add_elif", "canvas", node=REGION)
    assert model.graph.scope_of("branch_3") == "branch_2.else"
    for _ in range(3):
        ask(model, "undo")
    assert model.graph == BRANCHED
    ask(model, "add_elif", node="rotate")
    assert "Only an if has an elif" in screen["bar", "message"]


def test_nodes_are_put_behind_a_condition_at_once(make: Make) -> None:
    model, screen = make(graph=JITTER)
    ask(model, "wrap", "canvas", nodes=["rotate"], op="if", condition="label")
    found = condition_of(model.graph, CATALOG, model.graph.node("branch"))
    assert found is not None
    assert found[0] == LabelIs((0,))
    ask(model, "undo", "canvas")
    assert model.graph == JITTER
    ask(model, "wrap", "canvas", nodes=["color"], op="if", condition="size")
    found = condition_of(model.graph, CATALOG, model.graph.node("branch"))
    assert found is not None
    assert found[0] == SizeIs()
    ask(model, "wrap", "canvas", nodes=["flip"], op="if", condition="mood")
    assert "no kind of condition" in screen["bar", "message"]
