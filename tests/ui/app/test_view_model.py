"""The view-model without a toolkit: what is published for what is done."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench.fakes import measured, report
from tests.ui.screen import Make, Screen, edit, read_picture
from workbench.bench.records.record import dump_report
from workbench.errors import GraphFormatError
from workbench.graph import dump_graph, load_recipe
from workbench.ui.app.view_model import ViewModel
from workbench.ui.contract.components import COMPONENTS
from workbench.ui.jobs.previewer import Previewer


def test_every_field_of_the_table_is_published(ready: tuple[ViewModel, Screen]) -> None:
    _, screen = ready
    for component in COMPONENTS:
        for field in component.fields:
            value = screen[component.name, field.name]
            assert type(value) is type(field.default), f"{component.name}.{field.name}"


def test_the_first_picture_and_what_it_says(ready: tuple[ViewModel, Screen]) -> None:
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


def test_only_what_changed_is_published(ready: tuple[ViewModel, Screen]) -> None:
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
    ]


@pytest.mark.parametrize("batch", [-1, 10**7])
def test_a_batch_that_cannot_be_shown_is_said(ready: tuple[ViewModel, Screen], batch: int) -> None:
    model, screen = ready
    model.receive("preview", "batch", batch)
    assert "can be shown" in screen["bar", "message"]
    assert screen["preview", "batch"] == 0


def test_what_a_page_says_of_itself_takes_no_word_back(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    model.receive("preview", "batch", -1)
    told = screen["bar", "message"]
    for component, field in (("code", "in_view"), ("canvas", "in_view")):
        for shown in (True, False):
            model.receive(component, field, shown)
            assert screen["bar", "message"] == told != ""
    model.receive("preview", "mode", "original")
    assert screen["bar", "message"] == ""


def test_the_picture_is_published_before_all_else(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    with model.lock:
        preview, request = model.state.preview, model._done
        assert preview is not None
        assert request is not None
        screen.published.clear()
        model._on_done(request, replace(preview, milliseconds=9876.5))
        assert screen.published[0] == ("preview", "picture")
        assert ("bar", "status") in screen.published[1:]


def test_of_many_quick_changes_the_last_is_shown(
    ready: tuple[ViewModel, Screen], monkeypatch: pytest.MonkeyPatch
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


def test_a_bad_value_is_named_and_the_picture_stays(ready: tuple[ViewModel, Screen]) -> None:
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
        ("inspector", {"do": "fix", "node": "rotate", "arg": "fill_value"}, "not random"),
        ("bar", {"do": "open", "text": "{"}, "not JSON"),
        ("bar", {"do": "recipe", "name": "simclrr"}, "simclr"),
    ],
)
def test_a_wrong_message_is_told_and_changes_nothing(
    make: Make, component: str, message: dict[str, Any], words: str
) -> None:
    model, screen = make()
    before = model.graph
    model.act(component, message)
    assert words in screen["bar", "message"]
    assert model.graph == before
    assert not screen["bar", "can_undo"]


def test_an_outbox_is_carried_out_once(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    add = {"n": 1001, "view": "a", "do": "add", "op": "rotate", "after": ""}
    model.take("canvas", [add])
    assert screen["canvas", "ack"] == 1001
    model.take("canvas", [add, {**add, "n": 1002, "op": "flip"}])
    assert [node["op"] for node in screen["canvas", "nodes"]].count("rotate") == 2
    assert [node["op"] for node in screen["canvas", "nodes"]].count("flip") == 2
    model.take("canvas", [{**add, "n": 5, "view": "b"}])  # another page, with lower numbers
    assert [node["op"] for node in screen["canvas", "nodes"]].count("rotate") == 3
    assert screen["canvas", "ack"] == 1002
    for junk in (None, "x", [1], [{"do": "add"}], [{"n": "x"}]):
        model.take("canvas", junk)


def test_adding_selects_and_removing_selects_the_one_before(
    ready: tuple[ViewModel, Screen],
) -> None:
    model, screen = ready
    model.act("canvas", {"do": "add", "op": "gaussian_blur", "after": "color"})
    assert screen["canvas", "selected"] == ["gaussian_blur"]
    model.act("canvas", {"do": "move", "node": "gaussian_blur", "by": -1})
    ids = [node["id"] for node in screen["canvas", "nodes"]]
    assert ids == ["reader", "decode", "resize", "rotate", "gaussian_blur", "color", "flip"]
    model.act("canvas", {"do": "remove", "nodes": ["gaussian_blur"]})
    assert screen["canvas", "selected"] == ["rotate"]


def test_random_fixed_and_choice(ready: tuple[ViewModel, Screen]) -> None:
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


def test_a_fault_of_a_generator_stands_at_what_it_feeds(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    bad = {"node": "rotate", "arg": "angle", "key": "range", "value": ["x", 3], "group": ""}
    edit(model, "set_random", **bad)
    assert "range" in screen.row("angle")["error"]
    assert screen["bar", "faults"][0]["node"] == "rotate"


def test_graphs_are_opened_and_saved(
    ready: tuple[ViewModel, Screen], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, screen = ready
    monkeypatch.chdir(tmp_path)
    model.act("bar", {"do": "open", "text": dump_graph(load_recipe("imagenet-eval"))})
    assert screen["bar", "title"] == "imagenet-eval"
    model.act("bar", {"do": "save", "path": "mine.json"})
    assert str(tmp_path / "mine.json") in screen["bar", "message"]
    assert (tmp_path / "mine.json").read_text() == screen["bar", "saved"]
    model.receive("code", "in_view", True)
    model.act("bar", {"do": "export", "path": "pipe"})
    assert (tmp_path / "pipe.py").read_text() == screen["code", "files"][0]["text"]
    model.act("code", {"do": "save", "path": "nowhere/pipe.py"})
    assert "was not written" in screen["code", "message"]
    model.act("bar", {"do": "undo"})
    assert screen["bar", "title"] == "rotate-jitter"
    model.set_graph("simclr")
    screen.wait(lambda s: len(s.header["outputs"]) == 2, "two views")
    with pytest.raises(GraphFormatError, match="imagenet-train"):
        model.set_graph("imagenet-trian")


def test_lines_of_the_selected_node_are_lit(ready: tuple[ViewModel, Screen]) -> None:
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
    assert screen["code", "note"].startswith("2 files of the data are bad, and one ends this")
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


def test_a_muted_node_is_out_of_script_and_picture_until_it_is_not(
    ready: tuple[ViewModel, Screen],
) -> None:
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


def test_a_loose_node_with_a_fault_stops_no_picture(ready: tuple[ViewModel, Screen]) -> None:
    model, screen = ready
    first = screen.picture
    model.act("canvas", {"do": "branch", "op": "gaussian_blur", "node": "", "output": ""})
    model.act("canvas", {"do": "disconnect", "edges": [":images_2"]})
    loose = screen.node("gaussian_blur")
    assert loose["loose"]
    assert "nothing feeds it" in loose["fault"]
    assert [(fault["node"], fault["warning"]) for fault in screen["bar", "faults"]] == [
        ("gaussian_blur", True)
    ]
    assert screen["preview", "stale"] == ""
    edit(model, "set", node="rotate", arg="angle", value=90, group="")
    screen.wait_other_picture(first)
    assert screen["bar", "status"]["state"] == "ready"
    assert "gaussian_blur" not in screen["code", "source"]


def test_a_session_that_cannot_be_written_at_its_end_leaves_no_worker(
    ready: tuple[ViewModel, Screen], monkeypatch: pytest.MonkeyPatch
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
