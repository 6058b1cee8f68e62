"""Two graphs compared: with what, the sheet of the other, and the table of differences."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.ui.screen import Make, Ready, Screen, edit, read_picture, unpack
from workbench.errors import GraphEditError
from workbench.graph import dump_graph, load_recipe
from workbench.graph.edits.edit import set_setting
from workbench.graph.storage.layout import Document
from workbench.roots import Roots
from workbench.ui.contract.payloads import RecentEntry
from workbench.ui.preview.comparison_job import MOST_STEPS, ComparedGraphs
from workbench.ui.state.history import History
from workbench.ui.storage.session_file import Session

# What the present graph can be compared with.

START = load_recipe("rotate-jitter")
KEPT = Document(load_recipe("cutout"))


@pytest.fixture
def graphs() -> ComparedGraphs:
    recent = RecentEntry(owner="me", name="cutout", when="09:05", data="", picture="", open=False)
    found = ComparedGraphs(
        History(START), lambda owner: Session(KEPT) if owner == "me" else None, lambda: [recent]
    )
    found.refresh()
    return found


def test_every_choice_leads_to_a_graph(graphs: ComparedGraphs) -> None:
    for seed in (1, 2, 3):
        graphs.history.push(set_setting(graphs.history.now, seed=seed))
    graphs.history.undo()
    graphs.file = "a.json", Document(START)
    choices = graphs.choices()
    seeds = {each["id"]: graphs.find(each["id"]).graph.settings.seed for each in choices}
    assert (seeds["last"], seeds["opened"]) == (1, 42)
    steps = {key: seed for key, seed in seeds.items() if key.startswith("step")}
    assert steps == {"step 3": 3, "step 1": 1, "step 0": 42}, "the present one is not offered"
    labels = {each["id"]: each["label"] for each in choices}
    assert (labels["step 3"], labels["step 0"]) == ("3 · seed to 3 (undone)", "0 · start")
    assert graphs.find("session me") is KEPT
    assert graphs.find("file").graph is START
    assert graphs.find("recipe simclr").graph.name == "simclr"


def test_of_a_long_history_the_nearest_steps_are_offered(graphs: ComparedGraphs) -> None:
    for seed in range(100, 100 + MOST_STEPS + 5):
        graphs.history.push(set_setting(graphs.history.now, seed=seed))
    steps = [each for each in graphs.choices() if each["id"].startswith("step")]
    assert (steps[0]["id"], steps[-1]["id"]) == (f"step {MOST_STEPS + 4}", "step 5")
    for each in steps[:-1]:
        seed = graphs.find(each["id"]).graph.settings.seed
        assert each["label"].endswith(f"seed to {seed}")


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("last", "There are no edits yet"),
        ("step 1", "no graph 'step 1'"),
        ("step x", "no graph 'step x'"),
        ("recipe nothing", "nothing"),
        ("session other", "no longer exists"),
        ("file", "no graph 'file'"),
        ("", "no graph ''"),
    ],
)
def test_what_is_not_there_says_so(graphs: ComparedGraphs, choice: str, reason: str) -> None:
    with pytest.raises(GraphEditError, match=reason):
        graphs.find(choice)


# The mode Compare: the other graph's sheet, the table of differences, and why there is none.


@pytest.fixture
def compared(make: Make) -> Ready:
    model, screen = make(graph=set_setting(load_recipe("rotate-jitter"), batch_size=4))
    screen.wait_ready()
    edit(model, "set", node="rotate", arg="fill_value", value=255.0, group="")
    model.receive("preview", "mode", "compare")
    return model, screen


def found(screen: Screen) -> dict[str, Any]:
    return dict(screen["preview", "comparison"])


def wait_both(screen: Screen) -> None:
    screen.wait(lambda s: s["preview", "compared"] and found(s)["distances"], "both graphs")


def test_the_graph_before_the_last_edit(compared: Ready) -> None:
    model, screen = compared
    wait_both(screen)
    (row,) = found(screen)["rows"]
    assert (row["node"], row["what"], row["after"]) == ("rotate", "fill_value", "255.0")
    assert found(screen)["name"] == "Before the last edit"
    assert found(screen)["remarks"] == []
    assert any(text != "Δ 0.0" for text in found(screen)["distances"])
    other, theirs = read_picture(screen["preview", "compared"])
    present, ours = read_picture(screen.picture)
    assert [tile["file"] for tile in other["tiles"]] == [t["file"] for t in present["tiles"]]
    assert [tile["draws"] for tile in other["tiles"]] == [t["draws"] for t in present["tiles"]]
    assert np.abs(ours.astype(int) - theirs).max() > 100
    model.act("bar", {"do": "undo"})
    assert (
        found(screen)["error"] == "There are no edits yet. Edit a value, or select another graph."
    )
    assert screen["preview", "compared"] == b""
    assert screen["bar", "message"] == ""
    model.receive("preview", "mode", "both")
    assert found(screen)["rows"] == screen["preview", "comparison_choices"] == []


@pytest.mark.thorough
def test_other_graphs_take_the_seeds_and_say_where_draws_are_apart(compared: Ready) -> None:
    model, screen = compared
    other = set_setting(load_recipe("rotate-jitter"), seed=7, batch_size=9)
    model.act(
        "preview",
        {"do": "compare_with_file", "name": "mine.json", "text": dump_graph(other)},
    )
    wait_both(screen)
    assert (screen["preview", "against"], found(screen)["name"]) == ("file", "mine.json")
    rows = {(row["node"], row["what"]): row for row in found(screen)["rows"]}
    assert (rows["", "seed"]["before"], rows["", "seed"]["after"]) == ("7", "42")
    assert "Both run with seed 42, batch size 4" in found(screen)["remarks"][0]
    other_tiles = read_picture(screen["preview", "compared"])[0]["tiles"]
    assert [t["draws"] for t in other_tiles] == [t["draws"] for t in screen.header["tiles"]]
    edit(model, "set", node="rotate", arg="angle", value=30.0, group="")
    assert "in only one graph: angle" in found(screen)["remarks"][-1]
    model.receive("preview", "against", "recipe cutout")
    wait_both(screen)
    assert {row["change"] for row in found(screen)["rows"]} == {"added", "removed", "changed"}
    assert model.graph.name == "rotate-jitter", "nothing was opened"


def test_what_cannot_run_says_why_and_the_pictures_stay(compared: Ready, photos: Path) -> None:
    model, screen = compared
    wait_both(screen)
    before = screen.picture
    broken = json.loads(dump_graph(model.graph))
    broken["nodes"] = [node for node in broken["nodes"] if node["id"] != "decode"]
    model.act("preview", {"do": "compare_with_file", "name": "broken", "text": json.dumps(broken)})
    assert found(screen)["error"].startswith("The graph cannot run here: ")
    assert screen["preview", "compared"] == b""
    assert (screen.picture, screen["preview", "stale"]) == (before, "")
    assert {"node": "decode", "change": "added"}.items() <= found(screen)["rows"][0].items()
    model.act("preview", {"do": "compare_with_file", "name": "no graph", "text": "{"})
    assert screen["bar", "message"]
    model.receive("preview", "against", "x" * 400)
    assert "cannot be" in screen["bar", "message"]


def test_a_graph_that_names_files_outside_the_roots_is_not_run(make: Make, photos: Path) -> None:
    model, screen = make(roots=Roots.of([photos]))
    (source,) = model.graph.sources
    graph = model.graph.replace_node(replace(source, args={**source.args, "file_root": "/"}))
    model.act("preview", {"do": "compare_with_file", "name": "outside", "text": dump_graph(graph)})
    assert "cannot be opened" in found(screen)["error"]
    assert screen["preview", "compared"] == b""


@pytest.mark.thorough
def test_a_drag_asks_for_the_other_graph_once(compared: Ready) -> None:
    model, screen = compared
    model.receive("preview", "against", "opened")
    wait_both(screen)
    count = screen.published.count(("preview", "compared"))
    for value in (10.0, 20.0, 30.0):
        picture = screen.picture
        edit(model, "set", node="rotate", arg="fill_value", value=value, group="drag")
        screen.wait_other_picture(picture)
    assert screen.published.count(("preview", "compared")) == count


def test_python_compares(make: Make) -> None:
    model, screen = make()
    model.compare("cutout")
    assert (screen["preview", "mode"], found(screen)["name"]) == ("compare", "cutout")


def test_what_fails_is_not_said_to_be_computed(make: Make) -> None:
    model, screen = make(graph=set_setting(load_recipe("rotate-jitter"), batch_size=4))
    screen.wait_ready()
    graph = load_recipe("rotate-jitter")
    cut = replace(graph.node("resize"), op="crop", args={"crop": (9999, 9999)})
    file = {"name": "cut.json", "text": dump_graph(graph.replace_node(cut))}
    model.act("preview", {"do": "compare_with_file", **file})
    screen.wait(lambda s: found(s)["error"].startswith("The graph failed: "), "why not")
    assert not found(screen)["pending"]
    assert screen["preview", "compared"] == b""

    model.act("preview", {"do": "compare_with_file", "name": "notes.json", "text": "{"})
    assert screen["bar", "message"].startswith(
        "Cannot compare with notes.json. The text is not valid JSON"
    )
    assert found(screen)["name"] == "cut.json", "what was compared with stays"


def test_a_graph_for_the_gpu_is_compared_on_the_cpu_and_it_is_said(compared: Ready) -> None:
    model, screen = compared
    model.comparison._machine = replace(model.machine, gpu="", no_gpu="there is none here")
    mixed = set_setting(load_recipe("rotate-jitter"), device="mixed")
    model.act("preview", {"do": "compare_with_file", "name": "gpu", "text": dump_graph(mixed)})
    wait_both(screen)
    assert found(screen)["error"] == ""
    assert "runs on the CPU here" in found(screen)["remarks"][0]
    assert "there is none here" in found(screen)["remarks"][0]
    assert ("device", "mixed") in [(row["what"], row["before"]) for row in found(screen)["rows"]]

    rotate = mixed.node("rotate")
    data = {"input": rotate.inputs["data"]}
    dilate = replace(rotate, op="experimental.dilate", args={}, inputs=data)
    dilated = mixed.replace_node(dilate)
    model.act("preview", {"do": "compare_with_file", "name": "dilate", "text": dump_graph(dilated)})
    assert found(screen)["error"].startswith(
        "The graph cannot run here: rotate (experimental.dilate) needs a GPU, and there is none "
        "here."
    )
    assert screen["preview", "compared"] == b""


def test_the_closeup_has_the_other_graphs_picture_of_the_same_photo(compared: Ready) -> None:
    model, screen = compared
    wait_both(screen)
    model.act("preview", {"do": "open_closeup", "index": 2, "of": ""})
    screen.wait(lambda s: s["preview", "compared_closeup"] and s["preview", "closeup"], "both")
    ours, picture = unpack(screen["preview", "closeup"])
    theirs, other = unpack(screen["preview", "compared_closeup"])
    assert (theirs["index"], theirs["of"], theirs["full"]) == (2, ours["of"], ours["full"])
    assert (theirs["note"], theirs["error"], other[:4]) == ("", "", b"\x89PNG")
    assert picture != other
    model.act("preview", {"do": "open_closeup", "index": 2, "of": "original"})
    assert screen["preview", "compared_closeup"] == b"", "the original is the same in both"
    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    screen.wait(lambda s: s["preview", "compared_closeup"], "the next sample")
    assert unpack(screen["preview", "compared_closeup"])[0]["index"] == 1
    model.act("preview", {"do": "open_closeup", "index": -1, "of": ""})
    assert screen["preview", "compared_closeup"] == b""


def test_a_graph_of_other_data_or_without_a_picture_says_so(compared: Ready) -> None:
    model, screen = compared
    wait_both(screen)
    graph = load_recipe("rotate-jitter")
    elsewhere = graph.replace_node(replace(graph.sources[0], dataset="elsewhere"))
    model.act("preview", {"do": "compare_with_file", "name": "two", "text": dump_graph(elsewhere)})
    assert found(screen)["error"].startswith("The graph cannot run on the current data. reader: ")
    assert found(screen)["rows"], "what differs is listed all the same"
    assert (screen["preview", "compared"], found(screen)["pending"]) == (b"", False)

    model.act("preview", {"do": "open_closeup", "index": 1, "of": ""})
    labels = replace(graph, outputs={"labels": graph.outputs["labels"]})
    model.act("preview", {"do": "compare_with_file", "name": "labels", "text": dump_graph(labels)})
    screen.wait(lambda s: found(s)["error"].startswith("The graph failed: "), "why not")
    assert (
        "no output that corresponds to" in unpack(screen["preview", "compared_closeup"])[0]["error"]
    )


def test_another_photo_is_named_in_the_closeup(compared: Ready) -> None:
    model, screen = compared
    wait_both(screen)
    graph = load_recipe("rotate-jitter")
    source = graph.sources[0]
    ordered = graph.replace_node(replace(source, args={**source.args, "random_shuffle": False}))
    model.act("preview", {"do": "open_closeup", "index": 0, "of": ""})
    model.act("preview", {"do": "compare_with_file", "name": "order", "text": dump_graph(ordered)})
    screen.wait(lambda s: s["preview", "compared_closeup"], "the other graph's picture")
    assert unpack(screen["preview", "compared_closeup"])[0]["note"].startswith("different photo: ")
