"""The history: what is one step, what it is called, and where undo leads."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from tests.helpers import GRAPHS, chain_graph
from tests.ui.screen import Ready, edit, read_picture
from workbench.catalog import load_catalog
from workbench.graph import Graph, Settings, load_recipe
from workbench.graph.edits.edit import randomise_arg, set_arg, set_setting
from workbench.graph.storage.layout import Document, Layout, dump_document, load_document
from workbench.ui.app.actions import ACTIONS
from workbench.ui.canvas.canvas_edit import CanvasEdit
from workbench.ui.contract.action import parse_action
from workbench.ui.state.history import BURST, LIMIT, History
from workbench.ui.state.undo_labels import changed_nodes, edit_label


def named(name: str) -> Graph:
    return Graph(name=name)


def test_undo_and_redo_walk_the_same_steps() -> None:
    history = History(named("a"))
    for name in "bc":
        history.push(named(name))
    assert [history.undo() and history.now.name for _ in range(2)] == ["b", "a"]
    assert not history.undo()
    assert not history.can_undo
    assert [history.redo() and history.now.name for _ in range(2)] == ["b", "c"]
    assert not history.can_redo


def test_the_steps_of_one_drag_are_one_step() -> None:
    history = History(named("a"))
    for name in "bcd":
        history.push(named(name), "drag")
    history.push(named("e"), "another drag")
    history.undo()
    assert history.now.name == "d"
    history.undo()
    assert history.now.name == "a"


def test_a_drag_that_ends_where_it_began_is_no_step() -> None:
    history = History(named("a"))
    history.push(named("b"))
    for name in "cdb":
        history.push(named(name), "drag")
    history.undo()
    assert history.now.name == "a"
    history.redo()
    for name in "cbd":
        history.push(named(name), "drag")
    assert history.undo()
    assert history.now.name == "b", "what came after the return is a step"


def test_a_drag_after_an_undo_is_a_step_of_its_own() -> None:
    history = History(named("a"))
    history.push(named("b"), "drag")
    history.undo()
    history.push(named("c"), "drag")
    history.undo()
    assert history.now.name == "a"


def test_an_edit_after_an_undo_drops_what_was_undone() -> None:
    history = History(named("a"))
    history.push(named("b"))
    history.undo()
    history.push(named("c"))
    assert not history.can_redo


def test_an_edit_that_changes_nothing_is_no_step() -> None:
    history = History(named("a"))
    history.push(replace(history.now))
    assert not history.can_undo


def test_changes_of_one_setting_within_a_second_are_one_step() -> None:
    now = 0.0
    history = History(named("a"), clock=lambda: now)
    for name in "bc":
        history.push(named(name), history.burst("seed"))
    now = BURST + 0.1
    history.push(named("d"), history.burst("seed"))
    history.push(named("e"), history.burst("batch_size"))
    names = []
    while history.undo():
        names.append(history.now.name)
    assert names == ["d", "c", "a"]


def test_a_history_goes_on_where_another_ended() -> None:
    history = History(named("a"))
    for name in "bcd":
        history.push(named(name))
    history.undo()
    other = History(named("given"))
    other.restore(history.document, history.before, history.undone)
    assert (other.now.name, other.graph_number) == ("c", 1)
    other.restore(history.document, history.before, history.undone)
    assert other.graph_number == 1, "the same graph"
    assert other.redo()
    assert other.now.name == "d"
    assert [other.undo() for _ in range(4)] == [True, True, True, False]
    assert other.now.name == "a"


def test_the_list_is_bounded() -> None:
    history = History(named("start"))
    for number in range(LIMIT + 10):
        history.push(named(f"n{number}"))
    steps = 0
    while history.undo():
        steps += 1
    assert steps == LIMIT


def test_a_step_may_take_what_is_seen_along() -> None:
    history = History(named("a"))
    history.push(named("b"))
    replayed = replace(history.document, graph=named("c"))
    history.push_document(replayed, views=((0, -1), (3, 2)))
    assert history.target(back=True) == (replace(replayed, graph=named("b")), (0, -1))
    assert history.undo()
    assert history.target(back=False) == (replayed, (3, 2))
    assert history.target(back=True) == (replace(replayed, graph=named("a")), None)
    assert history.redo()
    assert history.target(back=False) is None
    history.push_document(history.document, views=((3, 2), (4, 2)))
    assert history.target(back=True) == (replayed, (3, 2)), "a step though the graph is the same"


def test_what_was_opened_and_the_line_of_all_documents() -> None:
    history = History(named("a"))
    assert history.opened is history.document
    history.push(named("b"))
    assert (history.opened.graph.name, history.graph_number) == ("a", 0)
    history.open(Document(named("c")))
    assert (history.opened.graph.name, history.graph_number) == ("c", 1)
    history.replace_present(history.document.with_graph(named("c reads other data")))
    history.push(named("d"))
    assert history.opened.graph.name == "c reads other data"
    names = ["a", "b", "c reads other data", "d"]
    assert [each.graph.name for each in history.timeline] == names
    history.undo()
    history.undo()
    assert (history.opened.graph.name, history.graph_number) == ("a", 0)
    assert [each.graph.name for each in history.timeline] == names
    history.redo()
    assert (history.opened.graph.name, history.graph_number) == ("c reads other data", 1)
    history.undo()
    history.open(Document(named("e")))
    assert history.graph_number == 2


def test_a_step_may_be_named_by_what_made_it() -> None:
    history = History(named("a"))
    history.push_document(replace(history.document, graph=named("b")), label="align left")
    assert history.undo_label == "align left"
    history.undo()
    assert history.redo_label == "align left"


def test_what_other_data_make_of_a_graph_hides_no_label() -> None:
    history = History(named("a"))
    history.push(replace(named("a"), settings=Settings(seed=1)))
    history.replace_present(history.document.with_graph(named("a, of other data")))
    assert history.undo_label == "seed to 1"
    history.undo()
    assert history.redo_label == "seed to 1"
    history.replace_present(history.document.with_graph(named("a, of other data")))
    assert history.labels(10) == ["seed to 1"]
    history.redo()
    assert history.undo_label == "seed to 1"


def test_a_graph_that_is_opened_is_named_though_it_has_the_same_nodes() -> None:
    history = History(named("a"))
    history.open(Document(replace(named("a"), settings=Settings(seed=1))))
    assert history.undo_label == "open a"
    history.open(Document(named("a")), "start over")
    assert history.undo_label == "start over"


# What each kind of edit is called in the history.

CATALOG = load_catalog()
JITTER = Document(load_recipe("rotate-jitter"))


@pytest.mark.parametrize(
    ("do", "message", "label"),
    [
        ("add", {"op": "gaussian_blur", "after": "resize"}, "add gaussian_blur"),
        ("remove", {"nodes": ["rotate", "color"]}, "remove rotate, color"),
        ("mute", {"nodes": ["rotate"], "muted": True}, "mute rotate"),
        ("rename", {"node": "rotate", "to": "turn"}, "rename rotate to turn"),
        ("wrap", {"nodes": ["rotate"], "op": "if"}, "wrap in branch"),
        ("duplicate", {"nodes": ["rotate"]}, "add rotate_2"),
        ("disconnect", {"edges": ["color:data"]}, "disconnect color.data"),
        ("place", {"positions": {"rotate": [1.0, 2.0]}}, "move on the canvas"),
        ("unfold", {"node": "rotate", "arg": "angle"}, "show angle"),
        ("rename", {"node": ":images", "to": "pictures"}, "rename output images to pictures"),
    ],
)
def test_an_action_of_the_canvas(do: str, message: dict[str, Any], label: str) -> None:
    action = parse_action("canvas", ACTIONS["canvas"], {"do": do, **message})
    assert isinstance(action, CanvasEdit)
    document, _ = action.edit_at("", JITTER, CATALOG)
    assert edit_label(JITTER, document) == label
    assert edit_label(load_document(dump_document(JITTER)), document) == label


def test_values_settings_and_other_graphs() -> None:
    graph = JITTER.graph
    fixed = set_arg(graph, CATALOG, "rotate", "angle", 5.0)
    for edited, label in (
        (fixed, "angle of rotate to 5"),
        (set_setting(graph, seed=7), "seed to 7"),
        (set_setting(graph, num_threads=2), "threads to 2"),
        (load_recipe("simclr"), "open simclr"),
    ):
        assert edit_label(JITTER, JITTER.with_graph(edited)) == label
    drawn = randomise_arg(fixed, CATALOG, "rotate", "angle")
    before, after = JITTER.with_graph(fixed), JITTER.with_graph(drawn)
    assert edit_label(before, after) == "random angle of rotate"
    assert edit_label(JITTER, Document(graph, Layout({"rotate": (1.0, 2.0)}))) == (
        "move on the canvas"
    )


@given(GRAPHS, GRAPHS)
def test_any_two_graphs_have_a_label(one: Graph, other: Graph) -> None:
    label = edit_label(Document(one), Document(other))
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
        assert edit_label(Document(graph), Document(after)) == label


def test_the_history_names_its_steps_in_order() -> None:
    history = History(JITTER.graph)
    for seed in (1, 2, 3):
        history.push(set_setting(history.now, seed=seed))
    history.undo()
    assert history.labels(100) == ["seed to 1", "seed to 2", "seed to 3"]
    assert (history.undo_label, history.redo_label) == ("seed to 2", "seed to 3")
    assert history.labels(1) == ["seed to 2", "seed to 3"]


# Steps back and forth: what is one step, what it takes along, where it leads.


def test_an_edit_is_a_picture_and_undo_brings_the_old_one_back(ready: Ready) -> None:
    model, screen = ready
    first = screen.picture
    edit(model, "set", node="rotate", arg="angle", value=90, group="")
    screen.wait_other_picture(first)
    turned = screen.picture
    assert screen.row("angle")["mode"] == "fixed"
    model.act("bar", {"do": "undo"})
    assert screen.picture == turned  # never cleared
    screen.wait_other_picture(turned)
    before, after = (read_picture(picture)[1] for picture in (first, screen.picture))
    assert (before == after).all()


def test_a_drag_is_one_step_of_undo(ready: Ready) -> None:
    model, screen = ready
    start = model.graph
    for high in range(11, 40):
        drag = {"node": "rotate", "arg": "angle", "key": "range", "group": "drag 1"}
        edit(model, "set_random", **drag, value=[-high, high])
    assert screen.row("angle")["random"]["args"]["range"] == [-39, 39]
    model.act("canvas", {"do": "undo"})
    assert model.graph == start
    assert not screen["bar", "can_undo"]


def test_settings_of_the_graph_can_be_undone(ready: Ready) -> None:
    model, screen = ready
    model.receive("preview", "seed", 7)
    model.receive("speed", "threads", 2)
    model.receive("speed", "batch_size", 8)
    settings = model.graph.settings
    assert (settings.seed, settings.num_threads, settings.batch_size) == (7, 2, 8)
    assert "SEED = 7" in screen["code", "source"]
    for _ in range(3):
        model.act("bar", {"do": "undo"})
    assert screen["preview", "seed"] == 42
    assert screen["speed", "batch_size"] == 64


def test_undo_leaves_pinned_draws(ready: Ready) -> None:
    model, screen = ready
    model.receive("preview", "seed", 7)
    model.receive("preview", "pinned", True)
    model.act("bar", {"do": "undo"})
    assert screen["bar", "message"].startswith("Seed and batch are pinned. Unpin them to undo")
    assert (model.graph.settings.seed, model.state.pinned) == (7, True)
    edit(model, "set", node="rotate", arg="angle", value=90, group="")
    model.act("bar", {"do": "undo"})
    assert (screen["bar", "message"], model.graph.settings.seed) == ("", 7)
    model.receive("preview", "pinned", False)
    model.act("bar", {"do": "undo"})
    assert screen["preview", "seed"] == 42


def test_undo_takes_a_replayed_draw_back_as_a_whole(ready: Ready) -> None:
    model, screen = ready

    def seen() -> tuple[Any, ...]:
        return tuple(screen["preview", name] for name in ("seed", "batch", "repeat"))

    model.receive("preview", "repeat", 2)
    model.act("preview", {"do": "save_draw", "sample": -1})
    model.receive("preview", "repeat", -1)
    model.receive("preview", "seed", 7)
    model.receive("preview", "batch", 3)
    model.act("preview", {"do": "replay_draw", "draw": 0})
    assert seen() == (42, 0, 2)
    model.receive("preview", "batch", 5)
    model.act("preview", {"do": "undo"})
    assert seen() == (7, 3, -1)
    model.act("preview", {"do": "redo"})
    assert seen() == (42, 0, 2)


def test_the_history_is_listed_and_gone_back_in(ready: Ready) -> None:
    model, screen = ready
    for angle in (10, 20, 30):
        edit(model, "set", node="rotate", arg="angle", value=angle, group="")
    assert screen["bar", "history"] == []
    model.receive("bar", "history_in_view", True)
    model.act("bar", {"do": "go_to", "step": 1})
    assert screen["bar", "history"] == [
        {"step": number, "label": f"angle of rotate to {number * 10}", "done": number == 1}
        for number in (1, 2, 3)
    ]
    assert screen.row("angle")["value"] == 10
    model.act("bar", {"do": "go_to", "step": 4})
    assert screen["bar", "message"] == "There is no edit 4. Use 0 to 3."
    model.act("bar", {"do": "go_to", "step": 3})
    assert screen.row("angle")["value"] == 30


def test_after_an_undo_the_selection_stays_or_goes_where_the_step_was(ready: Ready) -> None:
    model, screen = ready
    edit(model, "set", node="rotate", arg="angle", value=10, group="")
    model.act("bar", {"do": "select", "node": "color"})
    model.act("bar", {"do": "undo"})
    assert screen["canvas", "selected"] == ["color"]
    model.act("canvas", {"do": "add", "op": "gaussian_blur", "after": "color"})
    assert screen["canvas", "selected"] == ["gaussian_blur"]
    model.act("bar", {"do": "undo"})
    assert screen["canvas", "selected"] == ["flip"], "which it fed"
    model.act("canvas", {"do": "remove", "nodes": ["color"]})
    model.act("bar", {"do": "undo"})
    assert screen["canvas", "selected"] == ["color"]
