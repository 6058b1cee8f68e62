"""What each kind of edit is called in the history."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from tests.helpers import GRAPHS, chain_graph
from workbench.catalog import load_catalog
from workbench.graph import Graph, load_recipe
from workbench.graph.edits.edit import randomise_arg, set_arg, set_setting
from workbench.graph.storage.layout import Document, Layout, dump_document, load_document
from workbench.ui.canvas.canvas_actions import apply_canvas_edit
from workbench.ui.contract.actions import canvas, parse_action
from workbench.ui.contract.components import ACTIONS
from workbench.ui.state.history import History
from workbench.ui.state.step_labels import changed_nodes, step_label

CATALOG = load_catalog()
JITTER = Document(load_recipe("rotate-jitter"))


@pytest.mark.parametrize(
    ("do", "message", "label"),
    [
        ("add", {"op": "gaussian_blur", "after": "resize"}, "add gaussian_blur"),
        ("remove", {"nodes": ["rotate", "color"]}, "remove rotate, color"),
        ("mute", {"nodes": ["rotate"], "muted": True}, "mute rotate"),
        ("rename", {"node": "rotate", "to": "turn"}, "rename rotate to turn"),
        ("wrap", {"nodes": ["rotate"], "op": "if"}, "put into branch"),
        ("duplicate", {"nodes": ["rotate"]}, "add rotate_2"),
        ("disconnect", {"edges": ["color:data"]}, "disconnect color.data"),
        ("place", {"positions": {"rotate": [1.0, 2.0]}}, "move on the canvas"),
        ("unfold", {"node": "rotate", "arg": "angle"}, "show angle"),
        ("rename", {"node": ":images", "to": "pictures"}, "rename output images to pictures"),
    ],
)
def test_an_action_of_the_canvas(do: str, message: dict[str, Any], label: str) -> None:
    action = parse_action("canvas", ACTIONS["canvas"], {"do": do, **message})
    assert isinstance(action, canvas.CanvasEdit)
    document, _ = apply_canvas_edit(JITTER, CATALOG, action)
    assert step_label(JITTER, document) == label
    assert step_label(load_document(dump_document(JITTER)), document) == label


def test_values_settings_and_other_graphs() -> None:
    graph = JITTER.graph
    fixed = set_arg(graph, CATALOG, "rotate", "angle", 5.0)
    for edited, label in (
        (fixed, "angle of rotate to 5"),
        (set_setting(graph, seed=7), "seed to 7"),
        (set_setting(graph, num_threads=2), "threads to 2"),
        (load_recipe("simclr"), "open simclr"),
    ):
        assert step_label(JITTER, JITTER.with_graph(edited)) == label
    drawn = randomise_arg(fixed, CATALOG, "rotate", "angle")
    before, after = JITTER.with_graph(fixed), JITTER.with_graph(drawn)
    assert step_label(before, after) == "random angle of rotate"
    assert step_label(JITTER, Document(graph, Layout({"rotate": (1.0, 2.0)}))) == (
        "move on the canvas"
    )


@given(GRAPHS, GRAPHS)
def test_any_two_graphs_have_a_label(one: Graph, other: Graph) -> None:
    label = step_label(Document(one), Document(other))
    assert 0 < len(label) <= 60
    assert set(changed_nodes(one, other)) <= {node.id for node in other.walk()}


def test_changes_of_a_policy_name_the_sub_policy() -> None:
    graph = chain_graph("resize", "apply_auto_augment")
    policy = graph.node("apply_auto_augment").args["policy"]
    assert isinstance(policy, tuple)
    one, two, three = policy
    for changed, label in (
        ((one, (("invert", 0.5),), three), "sub-policy 2: apply_auto_augment"),
        ((one, two, three, one), "add a sub-policy: apply_auto_augment"),
        ((one,), "1 sub-policy: apply_auto_augment"),
        ((two, one, three), "order of the sub-policies: apply_auto_augment"),
        ((three, two, two), "policy: apply_auto_augment"),
    ):
        after = set_arg(graph, CATALOG, "apply_auto_augment", "policy", changed)
        assert step_label(Document(graph), Document(after)) == label


def test_the_history_names_its_steps_in_order() -> None:
    history = History(JITTER.graph)
    for seed in (1, 2, 3):
        history.push(set_setting(history.now, seed=seed))
    history.undo()
    assert history.labels(100) == ["seed to 1", "seed to 2", "seed to 3"]
    assert (history.undo_label, history.redo_label) == ("seed to 2", "seed to 3")
    assert history.labels(1) == ["seed to 2", "seed to 3"]
