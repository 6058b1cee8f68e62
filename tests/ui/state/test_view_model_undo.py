"""Steps back and forth: what is one step, what it takes along, where it leads."""

from typing import Any

from tests.ui.screen import Screen, edit, read_picture
from workbench.ui.app.view_model import ViewModel


def test_an_edit_is_a_picture_and_undo_brings_the_old_one_back(
    ready: tuple[ViewModel, Screen],
) -> None:
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


def test_a_drag_is_one_step_of_undo(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    start = model.graph
    for high in range(11, 40):
        drag = {"node": "rotate", "arg": "angle", "key": "range", "group": "drag 1"}
        edit(model, "set_random", **drag, value=[-high, high])
    assert screen.row("angle")["random"]["args"]["range"] == [-39, 39]
    model.act("canvas", {"do": "undo"})
    assert model.graph == start
    assert not screen["bar", "can_undo"]


def test_settings_of_the_graph_can_be_undone(ready: tuple[ViewModel, Screen]) -> None:
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


def test_undo_leaves_pinned_draws(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    model.receive("preview", "seed", 7)
    model.receive("preview", "pinned", True)
    model.act("bar", {"do": "undo"})
    assert screen["bar", "message"].startswith("The draws are pinned: unpin them to undo")
    assert (model.graph.settings.seed, model.state.pinned) == (7, True)
    edit(model, "set", node="rotate", arg="angle", value=90, group="")
    model.act("bar", {"do": "undo"})
    assert (screen["bar", "message"], model.graph.settings.seed) == ("", 7)
    model.receive("preview", "pinned", False)
    model.act("bar", {"do": "undo"})
    assert screen["preview", "seed"] == 42


def test_undo_takes_a_replayed_draw_back_as_a_whole(ready: tuple[ViewModel, Screen]) -> None:
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


def test_the_history_is_listed_and_gone_back_in(ready: tuple[ViewModel, Screen]) -> None:
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
    assert screen["bar", "message"] == "There is no step 4. Give 0 to 3."
    model.act("bar", {"do": "go_to", "step": 3})
    assert screen.row("angle")["value"] == 30


def test_after_an_undo_the_selection_stays_or_goes_where_the_step_was(
    ready: tuple[ViewModel, Screen],
) -> None:
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
