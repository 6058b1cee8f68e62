"""The view-model without a toolkit: what is published for what is done, bugs, large graphs."""

from __future__ import annotations

import cProfile
import threading
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import measured, report
from tests.thorough import one_in
from tests.ui.hosts import small
from tests.ui.screen import Make, Ready, edit, read_picture
from workbench.bench.records.record import dump_report
from workbench.errors import GraphFormatError
from workbench.graph import Graph, Node, Port, dump_graph, load_recipe
from workbench.graph.edits.edit import set_arg
from workbench.graph.model.bounds import MOST_CANVAS_NODES, MOST_PAGE_CHARACTERS
from workbench.ui.app import field_publisher, view_model
from workbench.ui.app.bar_actions import Undo
from workbench.ui.app.view_model import ViewModel
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.jobs.previewer import Previewer
from workbench.ui.state.owner import new_owner
from workbench.ui.storage.autosave import sessions_folder

# The view-model without a toolkit: what is published for what is done.


def test_every_field_of_the_table_is_published(ready: Ready) -> None:
    _, screen = ready
    for component in COMPONENTS:
        for field in component.fields:
            value = screen[component.name, field.name]
            assert type(value) is type(field.default), f"{component.name}.{field.name}"


def test_the_first_picture_and_what_it_says(ready: Ready) -> None:
    _, screen = ready
    header, pixels = read_picture(screen.picture)
    assert header["sheet"] == [pixels.shape[1], pixels.shape[0]]
    assert header["batch"] == 0
    assert [tile["error"] for tile in header["tiles"]] == [""] * 4
    assert header["tiles"][0]["draws"][0].startswith("angle ")
    assert screen.node("resize")["output"] == "224×224×3 u8"
    assert screen.node("rotate")["draws"] == [{"arg": "angle", "text": "angle ~ −10 … 10"}]
    assert screen["bar", "status"]["text"].startswith("ready · ")
    assert screen["canvas", "selected"] == ["rotate"]
    screen.wait(lambda s: s["bar", "folder"].endswith(" images"), "a count")
    assert screen["data", "summary"]["count"] >= 96
    assert len(screen["data", "summary"]["classes"]) >= 8


def test_only_what_changed_is_published(ready: Ready) -> None:
    model, screen = ready
    screen.published.clear()
    model.receive("tabs", "tab", "code")
    assert screen.published == []  # the browser knows its own value
    model.receive("canvas", "selected", ["color"])
    assert screen.published == [
        ("canvas", "fragment"),
        ("canvas", "arguments"),
        ("inspector", "node"),
        ("inspector", "effect_choices"),
        ("inspector", "effect_args"),
        ("code", "from_top"),
    ]


@pytest.mark.parametrize("batch", [-1, 10**7])
def test_a_batch_that_cannot_be_shown_is_said(ready: Ready, batch: int) -> None:
    model, screen = ready
    model.receive("preview", "batch", batch)
    assert "cannot be shown. Use 0 to" in screen["bar", "message"]
    assert screen["preview", "batch"] == 0


def test_what_a_page_says_of_itself_takes_no_word_back(ready: Ready) -> None:
    model, screen = ready
    model.receive("preview", "batch", -1)
    told = screen["bar", "message"]
    reported = ("code", "in_view"), ("canvas", "in_view"), ("inspector", "effect_open")
    for component, field in reported:
        for shown in (True, False):
            model.receive(component, field, shown)
            assert screen["bar", "message"] == told != ""
    model.receive("preview", "mode", "original")
    assert screen["bar", "message"] == ""


def test_the_picture_is_published_before_all_else(ready: Ready) -> None:
    model, screen = ready
    with model.lock:
        preview, request = model.state.preview, model._done
        assert preview is not None
        assert request is not None
        screen.published.clear()
        model._on_done(request, replace(preview, milliseconds=9876.5))
        assert screen.published[0] == ("preview", "picture")
        assert ("bar", "status") in screen.published[1:]


def test_the_fields_of_an_edited_value_follow_its_picture_or_come_soon(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(picture_first=True)
    model.set_graph(set_arg(model.graph, model.catalog, "rotate", "angle", 6))
    screen.wait_ready()
    before = screen.picture
    turn = {"view": "a", "do": "set", "node": "rotate", "arg": "angle"}
    monkeypatch.setattr(field_publisher, "PICTURE_FIRST", 60.0)
    with model.lock:
        screen.published.clear()
        model.handle_outbox("inspector", [turn | {"n": 1, "value": 7}])
        assert model.graph.node("rotate").args["angle"] == 7
        assert screen.published == [("inspector", "ack")]
    screen.wait_other_picture(before)
    screen.wait(lambda s: ("inspector", "node") in s.published, "its fields")
    assert screen.published[:2] == [("inspector", "ack"), ("preview", "picture")]

    monkeypatch.setattr(field_publisher, "PICTURE_FIRST", 0.01)
    monkeypatch.setattr(model.previewer, "request", lambda request: None)  # no picture comes
    model.handle_outbox("inspector", [turn | {"n": 2, "value": 8}])
    screen.wait(lambda s: s.published.count(("inspector", "node")) == 2, "without a picture")
    with model.lock:
        model.handle_outbox(
            "canvas", [{"n": 3, "view": "a", "do": "add", "op": "flip", "after": ""}]
        )
        assert "flip" in [node["op"] for node in screen["canvas", "nodes"]], "at once"


def test_of_many_quick_changes_the_last_is_shown(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    for angle in range(60):
        edit(model, "set", node="rotate", arg="angle", value=angle, group="drag")
    pictures = screen.published.count(("preview", "picture"))
    screen.wait(
        lambda s: (
            model.state.preview is not None
            and model.previewer.running is None
            and s["bar", "status"]["state"] == "ready"
            and model.state.preview.facts
        ),
        "the last picture",
    )
    assert model.graph.node("rotate").args["angle"] == 59
    model.receive("preview", "batch", 1)
    screen.wait(lambda s: s.header["batch"] == 1, "the next batch")
    assert screen.published.count(("preview", "picture")) - pictures < 30


def test_a_bad_value_is_named_and_the_picture_stays(ready: Ready) -> None:
    model, screen = ready
    picture, source = screen.picture, screen["code", "source"]
    assert source
    edit(model, "set", node="rotate", arg="fill_value", value="blue", group="")
    assert "blue" in screen.row("fill_value")["error"]
    assert "blue" in screen["preview", "stale"]
    assert "blue" in screen.node("rotate")["fault"]
    assert screen["bar", "status"] == {"state": "fault", "text": "1 fault"}
    assert [fault["node"] for fault in screen["bar", "faults"]] == ["rotate"]
    assert screen.picture == picture
    assert screen["code", "source"] == ""
    model.act("code", {"do": "save", "path": "pipe.py"})
    assert not Path("pipe.py").exists()
    edit(model, "set", node="rotate", arg="fill_value", value=128, group="")
    screen.wait_other_picture(picture)
    assert screen["preview", "stale"] == screen.row("fill_value")["error"] == ""


@pytest.mark.parametrize(
    ("component", "message", "words"),
    [
        ("canvas", {"do": "add", "op": "rotat", "after": ""}, "rotate"),
        ("canvas", {"do": "add", "op": 5, "after": ""}, "op is 5"),
        ("canvas", {"do": "add", "op": "rotate", "after": "reader"}, "reader"),
        ("canvas", {"do": "remove", "nodes": ["nowhere"]}, "nowhere"),
        ("canvas", {"do": "remove", "nodes": "decode"}, "nodes is 'decode'. Expected `array`"),
        ("canvas", {"do": "move", "node": "resize", "by": "x"}, "'x'"),
        ("canvas", {"do": "fly"}, "'fly'"),
        ("inspector", {"do": "set", "node": "nobody", "arg": "angle", "value": 1}, "nobody"),
        ("inspector", {"do": "set", "node": "rotate", "arg": "x", "value": 1}, "'x'"),
        ("inspector", {"do": "set", "node": "rotate", "arg": "size", "value": {}}, "size"),
        ("inspector", {"do": "randomise", "node": "rotate", "arg": "angle", "op": "os"}, "os"),
        ("inspector", {"do": "randomise", "node": "rotate", "arg": "keep_size"}, "`op`"),
        (
            "inspector",
            {"do": "fix", "node": "rotate", "arg": "fill_value"},
            "already has a fixed value",
        ),
        ("bar", {"do": "open", "text": "{"}, "not valid JSON"),
        ("bar", {"do": "recipe", "name": "simclrr"}, "simclr"),
    ],
)
def test_a_wrong_message_is_told_and_changes_nothing(
    unchanged: Ready, component: str, message: dict[str, Any], words: str
) -> None:
    model, screen = unchanged
    before = model.graph
    model.act(component, message)
    assert words in screen["bar", "message"]
    assert model.graph == before
    assert not screen["bar", "can_undo"]


def test_an_outbox_is_carried_out_once(ready: Ready) -> None:
    model, screen = ready
    add = {"n": 1001, "view": "a", "do": "add", "op": "rotate", "after": ""}
    model.handle_outbox("canvas", [add])
    assert screen["canvas", "ack"] == 1001
    model.handle_outbox("canvas", [add, {**add, "n": 1002, "op": "flip"}])
    assert [node["op"] for node in screen["canvas", "nodes"]].count("rotate") == 2
    assert [node["op"] for node in screen["canvas", "nodes"]].count("flip") == 2
    model.handle_outbox(
        "canvas", [{**add, "n": 5, "view": "b"}]
    )  # another page, with lower numbers
    assert [node["op"] for node in screen["canvas", "nodes"]].count("rotate") == 3
    assert screen["canvas", "ack"] == 1002
    for junk in (None, "x", [1], [{"do": "add"}], [{"n": "x"}]):
        model.handle_outbox("canvas", junk)


def test_adding_selects_and_removing_selects_the_one_before(ready: Ready) -> None:
    model, screen = ready
    model.act("canvas", {"do": "add", "op": "gaussian_blur", "after": "color"})
    assert screen["canvas", "selected"] == ["gaussian_blur"]
    model.act("canvas", {"do": "move", "node": "gaussian_blur", "by": -1})
    ids = [node["id"] for node in screen["canvas", "nodes"]]
    assert ids == ["reader", "decode", "resize", "rotate", "gaussian_blur", "color", "flip"]
    model.act("canvas", {"do": "remove", "nodes": ["gaussian_blur"]})
    assert screen["canvas", "selected"] == ["rotate"]


def test_random_fixed_and_choice(ready: Ready) -> None:
    model, screen = ready
    edit(model, "fix", node="rotate", arg="angle")
    assert screen.row("angle")["value"] == 0
    assert not model.graph.has("angle")
    edit(model, "randomise", node="rotate", arg="angle", op="random.choice")
    assert screen.row("angle")["random"]["op"] == "random.choice"
    choices = {"node": "rotate", "arg": "angle", "key": "values", "value": [0, 90, 180]}
    edit(model, "set_random", **choices, group="")

    def drawn() -> set[str]:
        return {tile["draws"][0] for tile in screen.header["tiles"]}

    wanted = {f"angle {value}" for value in (0, 90, 180)}
    screen.wait(lambda s: len(drawn() & wanted) > 1 and drawn() <= wanted, "the draws")


def test_a_fault_of_a_generator_stands_at_what_it_feeds(ready: Ready) -> None:
    model, screen = ready
    bad = {"node": "rotate", "arg": "angle", "key": "range", "value": ["x", 3], "group": ""}
    edit(model, "set_random", **bad)
    assert "range" in screen.row("angle")["error"]
    assert screen["bar", "faults"][0]["node"] == "rotate"


def test_graphs_are_opened_and_saved(
    ready: Ready, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    monkeypatch.chdir(tmp_path)
    model.act("bar", {"do": "open", "text": dump_graph(load_recipe("imagenet-eval"))})
    assert screen["bar", "title"] == "imagenet-eval"
    model.act("bar", {"do": "save", "path": "mine.json"})
    assert str(tmp_path / "mine.json") in screen["bar", "message"]
    assert (tmp_path / "mine.json").read_text() == screen["bar", "saved"]
    model.receive("code", "in_view", True)
    model.act("code", {"do": "save", "path": "pipe"})
    saved = (tmp_path / "pipe.py").read_text()
    code, _, graph = saved.partition("\n\n# The graph of this program")
    assert code == screen["code", "files"][0]["text"]
    assert graph, "the graph is saved with its program"
    model.act("code", {"do": "save", "path": "nowhere/pipe.py"})
    assert "was not written" in screen["code", "message"]
    model.act("bar", {"do": "undo"})
    assert screen["bar", "title"] == "rotate-jitter"
    model.set_graph("simclr")
    screen.wait(lambda s: len(s.header["outputs"]) == 2, "two views")
    with pytest.raises(GraphFormatError, match="imagenet-train"):
        model.set_graph("imagenet-trian")


def test_lines_of_the_selected_node_are_lit(ready: Ready) -> None:
    model, screen = ready
    model.receive("code", "in_view", True)
    model.receive("canvas", "selected", ["resize"])
    lines = screen["code", "files"][0]["text"].splitlines()
    highlighted = [lines[number - 1] for number in screen["code", "highlighted"]["pipe.py"]]
    assert any("fn.resize" in line for line in highlighted)
    assert not any("fn.rotate" in line for line in highlighted)


def test_a_measurement_is_shown_and_can_be_cancelled(make: Make) -> None:
    model, screen = make()
    model.receive("speed", "batch_size", 4)
    model.act("speed", {"do": "measure", "what": "compare"})
    assert screen["speed", "running"]
    model.act("speed", {"do": "measure", "what": "compare"})  # one at a time
    screen.wait(lambda s: "round" in s["speed", "message"], "the rounds")
    model.act("speed", {"do": "cancel"})
    screen.wait(lambda s: not s["speed", "running"], "the end")
    screen.wait(lambda s: "Cancelled" in s["speed", "message"], "the word")
    screen.wait(lambda s: s["speed", "compare"] == {}, "no rows: fields come one by one")


def test_files_are_checked(make: Make, tmp_path: Path, photos: Path) -> None:
    good = next(photos.rglob("*.jpg")).read_bytes()
    (tmp_path / "good.jpg").write_bytes(good)
    (tmp_path / "half.jpg").write_bytes(good[: len(good) // 2])
    (tmp_path / "zero.jpg").write_bytes(b"")
    model, screen = make(tmp_path)
    model.act("data", {"do": "check"})
    screen.wait(lambda s: s["data", "summary"]["checked"], "the check")
    found = {bad["file"]: bad["reason"] for bad in screen["data", "summary"]["findings"]}
    assert found.keys() == {"half.jpg", "zero.jpg"}
    assert "empty" in found["zero.jpg"]
    assert screen["data", "summary"]["bad"] == 2
    assert screen["code", "note"].startswith("2 files of the data are bad, and this program stops")
    assert "--full --good good.txt" in screen["code", "note"]


def test_records_that_are_found_at_once_wait_for_the_rest(
    make: Make, own_state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_state / "records").mkdir()
    (own_state / "records" / "mine.json").write_text(dump_report(report(measured(100.0))))

    class Late(Previewer):
        def __init__(self, *arguments: Any) -> None:
            for thread in threading.enumerate():
                if thread.name == "workbench-records":
                    thread.join(0.3)
            super().__init__(*arguments)

    monkeypatch.setattr("workbench.ui.app.view_model.Previewer", Late)
    _, screen = make()
    screen.wait(lambda s: s["speed", "records"], "the record")


def test_a_muted_node_is_out_of_script_and_picture_until_it_is_not(ready: Ready) -> None:
    model, screen = ready
    first = screen.picture
    model.act("canvas", {"do": "mute", "nodes": ["rotate", "color"], "muted": True})
    screen.wait_other_picture(first)
    assert "rotate(" not in screen["code", "source"]
    assert (screen.node("rotate")["muted"], screen.node("rotate")["note"]) == (True, "muted")
    assert screen["inspector", "node"]["muted"]
    assert screen["bar", "undo_label"] == "mute rotate, color"
    muted = screen.picture
    model.act("bar", {"do": "undo"})
    screen.wait_other_picture(muted)
    assert screen["bar", "redo_label"] == "mute rotate, color"
    before, after = (read_picture(picture)[1] for picture in (first, screen.picture))
    assert (before == after).all()


def test_a_loose_node_with_a_fault_stops_no_picture(ready: Ready) -> None:
    model, screen = ready
    first = screen.picture
    model.act("canvas", {"do": "branch", "op": "gaussian_blur", "node": "", "output": ""})
    model.act("canvas", {"do": "disconnect", "edges": [":images_2"]})
    loose = screen.node("gaussian_blur")
    assert loose["loose"]
    assert "it is not connected" in loose["fault"]
    assert [(fault["node"], fault["warning"]) for fault in screen["bar", "faults"]] == [
        ("gaussian_blur", True)
    ]
    assert screen["preview", "stale"] == ""
    edit(model, "set", node="rotate", arg="angle", value=90, group="")
    screen.wait_other_picture(first)
    assert screen["bar", "status"]["state"] == "ready"
    assert "gaussian_blur" not in screen["code", "source"]


def test_a_session_that_cannot_be_written_at_its_end_leaves_no_worker(
    ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, _ = ready

    def fail() -> None:
        raise ValueError("broken data stream")

    assert model.engine.pid is not None
    with monkeypatch.context() as patch:
        patch.setattr(model.sessions, "close", fail)
        with pytest.raises(ValueError, match="broken"):
            model.close()
    assert model.engine.pid is None


# A bug in one part of the view-model: the page still answers, and no graph is lost.

SMALL = small()
ODD = replace(SMALL, name="odd")


def failing_for_odd(real: Callable[..., Any]) -> Callable[..., Any]:
    def run(graph: Graph, *rest: Any) -> Any:
        if graph.name == ODD.name:
            raise ZeroDivisionError("a bug")
        return real(graph, *rest)

    return run


def test_a_document_that_cannot_be_shown_is_replaced_by_the_last_one(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(graph=SMALL)
    real = view_model.check_before_run
    monkeypatch.setattr(view_model, "check_before_run", failing_for_odd(real))
    model.act("bar", {"do": "open", "text": dump_graph(ODD)})
    assert model.graph == SMALL
    assert "This graph cannot be shown: ZeroDivisionError" in screen["bar", "message"]
    assert not screen["bar", "can_undo"]
    edit(model, "set", node="rotate", arg="angle", value=5, group="")
    assert model.graph.node("rotate").args["angle"] == 5
    model.handle_outbox("bar", [{"n": 7, "do": "open", "text": dump_graph(ODD)}])
    assert screen["bar", "ack"] == 7
    assert model.graph.node("rotate").args["angle"] == 5


def test_so_is_one_whose_fields_waited_for_a_picture(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(picture_first=True)
    model.set_graph(set_arg(model.graph, model.catalog, "rotate", "angle", 6))
    screen.wait_ready()
    real = view_model.graph_fields

    def failing(state: Any, history: Any, *others: Any) -> Any:
        if history.now.node("rotate").args["angle"] == 13:
            raise ZeroDivisionError("a bug")
        return real(state, history, *others)

    monkeypatch.setattr(view_model, "graph_fields", failing)
    turn = {"view": "a", "do": "set", "node": "rotate", "arg": "angle"}
    model.handle_outbox("inspector", [turn | {"n": 1, "value": 13}])
    screen.wait(lambda s: "ZeroDivisionError" in s["bar", "message"], "the bug")
    assert model.graph.node("rotate").args["angle"] == 6
    model.handle_outbox("inspector", [turn | {"n": 2, "value": 7}])
    screen.wait(lambda s: s["bar", "message"] == "", "an answer to the next edit")
    assert model.graph.node("rotate").args["angle"] == 7


def test_a_kept_session_that_cannot_be_shown_is_set_aside(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = new_owner()
    first, screen = make(graph=SMALL)
    first.act("bar", {"do": "attach", "tab": owner})
    first.act("bar", {"do": "title", "name": ODD.name})
    first.close()
    real = view_model.check_before_run
    monkeypatch.setattr(view_model, "check_before_run", failing_for_odd(real))
    again, screen = make(graph=SMALL)
    again.act("bar", {"do": "attach", "tab": owner})
    assert again.graph == SMALL
    assert "cannot be shown" in screen["bar", "message"]
    assert ODD.name in (sessions_folder() / f"{owner}.damaged").read_text()


@pytest.mark.parametrize("part", ["speed", "comparison", "exports", "background_previews"])
def test_the_other_parts_stay_usable(
    part: str, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = make(graph=SMALL)

    def broken(*_: Any) -> Any:
        raise KeyError("difference")

    monkeypatch.setattr(getattr(model, part), "fields", broken)
    edit(model, "set", node="rotate", arg="angle", value=7, group="")
    assert "cannot be shown: KeyError" in screen["bar", "message"]
    monkeypatch.undo()
    edit(model, "set", node="rotate", arg="angle", value=8, group="")
    assert screen["bar", "message"] == ""


def test_an_action_that_fails_is_told(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    model, screen = make(graph=SMALL)

    def broken(*_: Any) -> Any:
        raise TypeError("a bug")

    monkeypatch.setattr(Undo, "apply", broken)
    model.act("bar", {"do": "undo"})
    assert screen["bar", "message"].startswith("The action failed: TypeError: a bug")


# A large graph, which may come from a hostile link, costs no more than in step with its size.

FEW, MANY = 200, 800


def loose(count: int) -> Graph:
    """Nodes that feed nothing and lack their seeds."""
    return added([Node(f"coin_{i}", "random.coin_flip") for i in range(count)])


def chained(count: int) -> Graph:
    """Each node fed by the one before."""
    names = ["decode", *(f"flip_{i}" for i in range(count))]
    return added(
        [
            Node(own, "flip", inputs={"data": Port(before, "output")})
            for before, own in pairwise(names)
        ]
    )


def fanned(count: int) -> Graph:
    """Every node fed by the same."""
    return added(
        [Node(f"flip_{i}", "flip", inputs={"data": Port("decode", "output")}) for i in range(count)]
    )


def added(nodes: list[Node]) -> Graph:
    graph = load_recipe("rotate-jitter")
    return replace(graph, nodes=(*graph.nodes, *nodes))


def calls(graph: Graph, tmp_path: Path) -> int:
    """Functions that were called to show it."""
    model = ViewModel(tmp_path, restore=False)
    profile = cProfile.Profile()
    try:
        profile.enable()
        model.set_graph(graph)
        profile.disable()
    finally:
        model.close()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("make", one_in(3, [loose, chained, fanned], first=1))
def test_the_cost_grows_in_step_with_the_nodes(
    make: Callable[[int], Graph], tmp_path: Path
) -> None:
    few, many = (calls(make(count), tmp_path) for count in (FEW, MANY))
    assert many < 1.25 * few * MANY / FEW


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (dump_graph(loose(MOST_CANVAS_NODES)), f"the app opens at most {MOST_CANVAS_NODES:,}"),
        (" " * (MOST_PAGE_CHARACTERS + 1), "characters; the app opens"),
        (dump_graph(loose(12_000)), "more than 10,000 nodes"),
    ],
    ids=["nodes", "characters", "file"],
)
def test_a_page_refuses_what_it_cannot_draw(text: str, words: str, tmp_path: Path) -> None:
    model = ViewModel(tmp_path, restore=False)
    try:
        before = model.graph
        model.act("bar", {"do": "open", "text": text})
        assert words in model.state.message
        assert model.graph is before
    finally:
        model.close()
