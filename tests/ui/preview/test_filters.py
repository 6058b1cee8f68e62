"""What the preview may be set to, and samples chosen by class, branch and augmentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.block_graphs import branching_graph, decided_by_light
from tests.helpers import chain_graph, with_settings
from tests.ui.hosts import small
from tests.ui.screen import Make, Screen
from workbench.catalog import load_catalog
from workbench.engine.resources.machine import describe_machine
from workbench.errors import GraphEditError
from workbench.graph import load_recipe
from workbench.graph.control_flow.options import set_probability
from workbench.graph.edits.edit import set_arg
from workbench.graph.storage.layout import Document
from workbench.ui.app.actions import ACTIONS
from workbench.ui.app.field_edits import set_view
from workbench.ui.contract.action import parse_action
from workbench.ui.preview.branch_share_job import USUAL_BATCHES
from workbench.ui.preview.view_actions import ViewAction
from workbench.ui.state.closeup import CloseupSample
from workbench.ui.state.view_state import (
    FILTERED_TILE,
    MOST_COUNTED,
    ViewState,
    baselines_of,
    check_before_run,
    request_of,
)

# What the preview and the canvas may set.


def component_of(field: str) -> str:
    return "canvas" if field == "sample" else "preview"


@pytest.fixture
def state() -> ViewState:
    return ViewState(
        check_before_run(load_recipe("rotate-jitter"), load_catalog(), describe_machine())
    )


@pytest.mark.parametrize(
    ("field", "value", "held"),
    [
        ("mode", "difference", "difference"),
        ("tiles", 1000, 64),
        ("tiles", 1, 4),
        ("tile_size", 10_000, 512),
        ("tile_size", 0, 0),
        ("repeat", -7, -1),
        ("sample", -7, 0),
        ("lossless", True, True),
        ("baseline", "resize", "resize"),
    ],
)
def test_values_are_taken_within_their_limits(
    state: ViewState, field: str, value: Any, held: Any
) -> None:
    assert set_view(state, component_of(field), field, value)
    assert getattr(state, field) == held


@pytest.mark.parametrize(
    ("field", "value"),
    [("mode", "sideways"), ("tiles", True), ("lossless", 1), ("tiles", "4"), ("device", "cpu")],
)
def test_other_values_are_not(state: ViewState, field: str, value: Any) -> None:
    before = request_of(state, "data")
    assert not set_view(state, component_of(field), field, value)
    assert request_of(state, "data") == before


def test_a_photo_that_the_batch_lacks_is_refused(state: ViewState) -> None:
    with pytest.raises(GraphEditError, match=r"repeat cannot be 999\. Use 0 to 63, or -1"):
        set_view(state, "preview", "repeat", 999)
    assert set_view(state, "preview", "repeat", 63)
    assert (state.repeated(64), state.repeated(63)) == (63, None)


def test_pinned_draws_stay(state: ViewState) -> None:
    state.batch = 2
    assert set_view(state, "preview", "pinned", True)
    for field in ("seed", "batch"):
        with pytest.raises(GraphEditError, match=r"pinned\. Unpin them"):
            set_view(state, component_of(field), field, 3)
    assert state.batch == 2
    assert set_view(state, "preview", "pinned", False)
    assert set_view(state, "preview", "batch", 3)
    assert not set_view(
        state, "preview", "seed", 3
    )  # an edit of the graph, and not of what is seen


def test_a_request_asks_only_for_what_there_is(state: ViewState) -> None:
    state.repeat, state.baseline, state.mode = 64, "resize", "difference"
    request = request_of(state, "data")
    assert (request.repeat, request.baseline) == (None, "")
    state.baselines = baselines_of(state.checked.running)
    assert state.baselines == ["decode", "resize", "rotate", "color"]
    assert request_of(state, "data").baseline == "resize"
    state.show_original, state.tile_size = True, 96
    request = request_of(state, "data")
    assert (request.shown, request.tile_size) == ("original", 96)


def test_actions(state: ViewState) -> None:
    document = Document(state.checked.graph)

    def act(do: str, **message: Any) -> Document:
        action = parse_action("preview", ACTIONS["preview"], {"do": do, **message})
        assert isinstance(action, ViewAction)
        return action.view(state, document) or document

    act("open_closeup", index=3, of="images")
    act("probe_pixel", x=7, y=9)
    assert (state.closeup, state.probe) == (CloseupSample(3, "images"), (7, 9))
    act("open_closeup", index=-1, of="")
    assert (state.closeup, state.probe) == (None, None)
    assert state.sample == 3, "what is looked at closely is on the cards too"
    act("choose_sample", index=2)
    assert (state.tab, state.sample) == ("preview", 2)
    kept = act("save_draw", sample=-1)
    assert len(kept.draws) == 1


# The preview shows the samples alone that got an augmentation, and finds a batch with one.

AUGMENTED = with_settings(
    chain_graph("resize", "trivial_augment_wide", resize={"size": (48.0, 48.0)}),
    batch_size=4, num_threads=2, seed=7,
)  # fmt: skip


def test_the_next_batch_with_an_augmentation_is_shown(make: Make, photos: Path) -> None:
    model, screen = make(photos, AUGMENTED)
    screen.wait_ready()
    offered = [each["key"] for each in screen.header["augmentations"]]
    seen = {key for tile in screen.header["tiles"] for key in tile["augmentations"]}
    for tile in screen.header["tiles"]:
        (key,), (text,) = tile["augmentations"], tile["applied"]
        assert text.split()[0] == key.removeprefix("trivial_augment_wide.")
    wanted = next(key for key in offered if key not in seen)
    model.receive("preview", "shown_augmentations", [wanted, "resize.rotate", "gone.rotate"])
    assert screen["preview", "shown_augmentations"] == [wanted], "what the graph has"
    model.act("preview", {"do": "find_batch", "back": False})
    screen.wait(lambda s: s["preview", "batch"] > 0, "a batch with one")
    batch = screen["preview", "batch"]
    assert screen["bar", "message"] == f"Batch {batch} has a sample of {wanted}."
    screen.wait(lambda s: s.header["batch"] == batch, "its picture")
    assert any(wanted in tile["augmentations"] for tile in screen.header["tiles"])
    model.receive("preview", "shown_augmentations", [])
    model.act("preview", {"do": "find_batch", "back": False})
    assert "an augmentation to search for" in screen["bar", "message"]


# Samples of some classes: what is asked for, and the batch that has one.


def labels(screen: Screen) -> list[str]:
    return [tile["class_name"] for tile in screen.header["tiles"]]


def test_the_batch_with_a_class_is_found_in_both_directions(make: Make, photos: Path) -> None:
    graph = small()
    reader = graph.sources[0].id
    graph = set_arg(graph, load_catalog(), reader, "random_shuffle", False)
    model, screen = make(photos, graph)
    screen.wait_ready()
    names = sorted(folder.name for folder in photos.iterdir())
    assert labels(screen) == [names[0]] * 4  # files are read sorted by class

    model.act("preview", {"do": "find_batch", "back": False})
    assert "No filter is set" in screen["bar", "message"]
    model.act("data", {"do": "show_class", "name": names[1]})
    assert screen["preview", "shown_classes"] == [names[1]]
    assert screen["tabs", "tab"] == "preview"
    model.act("preview", {"do": "find_batch", "back": False})
    screen.wait(lambda s: names[1] in labels(s), "a batch with one")
    first = screen["preview", "batch"]
    assert screen.header["batch"] == first > 0
    assert f"Batch {first} has a sample of {names[1]}" in screen["bar", "message"]

    model.act("preview", {"do": "find_batch", "back": True})
    screen.wait(lambda s: "No batch before" in s["bar", "message"], "that there is none before")
    assert screen["preview", "batch"] == first

    model.receive("preview", "pinned", True)
    model.act("preview", {"do": "find_batch", "back": False})
    assert "pinned" in screen["bar", "message"]
    model.act("data", {"do": "show_class", "name": names[1]})
    assert screen["preview", "shown_classes"] == []


def test_what_is_found_too_late_is_passed_over(make: Make, photos: Path) -> None:
    model, screen = make(photos, small())
    screen.wait_ready()
    model.act("data", {"do": "show_class", "name": "none is called so"})
    screen.wait_ready()
    with model.lock:  # what is found waits for it
        model.act("preview", {"do": "find_batch", "back": False})
        assert screen["bar", "message"].startswith("Searching for a batch")
        model.receive("preview", "shown_classes", [])
    screen.wait(lambda s: s["bar", "message"] == "", "that it is no longer looked for")
    assert screen["preview", "batch"] == 0


def test_nothing_is_looked_for_without_data(make: Make, tmp_path: Path) -> None:
    model, screen = make(tmp_path, small())
    screen.wait(lambda s: s["bar", "status"]["state"] == "fault", "that there are no images")
    model.act("data", {"do": "show_class", "name": "cat"})
    model.act("preview", {"do": "find_batch", "back": False})
    assert screen["bar", "message"].startswith("Cannot search: ")


# Branches in the preview: filtered and searched, and counted while the statistics are shown.

BRANCHING = with_settings(branching_graph(), batch_size=4, num_threads=2, seed=7)


def shares(screen: Screen) -> dict[str, Any]:
    found: dict[str, Any] = screen["preview", "branch_shares"]
    return found


def wait_counted(screen: Screen, batches: int) -> dict[str, Any]:
    screen.wait(
        lambda s: shares(s).get("batches") == batches and not shares(s)["counting"], "counts"
    )
    return shares(screen)


def test_only_tiles_of_a_branch_are_asked_for_and_the_next_batch_with_one(
    make: Make, photos: Path
) -> None:
    model, screen = make(photos, BRANCHING)
    screen.wait_ready()
    texts = [branch["text"] for branch in screen.header["branches"]]
    assert texts == ["outer: then", "inner: then", "inner: else", "outer: else"]

    def has(branch: str) -> bool:
        return any(branch in tile["branches"] for tile in screen.header["tiles"])

    model.receive("preview", "shown_branches", ["inner.then", "gone.then"])
    assert screen["preview", "shown_branches"] == ["inner.then"], "what the graph has"
    screen.wait(lambda s: s.header["tile"] == FILTERED_TILE, "as many tiles as there are")
    model.act("preview", {"do": "find_batch", "back": False})
    screen.wait(lambda s: s["preview", "batch"] > 0, "a batch with one")
    batch = screen["preview", "batch"]
    assert screen["bar", "message"] == f"Batch {batch} has a sample of inner.then."
    screen.wait(lambda s: s.header["batch"] == batch, "its picture")
    assert has("inner.then")

    model.act("canvas", {"do": "unwrap", "node": "inner", "body": "else"})
    assert screen["preview", "shown_branches"] == []
    model.act("bar", {"do": "undo"})
    assert screen["preview", "shown_branches"] == ["inner.then"]


def test_the_inspector_tells_the_shares_of_its_block(make: Make, photos: Path) -> None:
    model, screen = make(photos, BRANCHING)
    screen.wait_ready()
    model.receive("canvas", "selected", ["inner"])
    told = screen["inspector", "shares"]
    tiles = [tile["branches"] for tile in screen.header["tiles"]]
    assert told["shown_of"] == sum("outer.then" in branches for branches in tiles)
    assert told["shown"]["then"] == sum("inner.then" in branches for branches in tiles)
    assert sum(told["shown"].values()) == told["shown_of"]
    assert told["counted"] == []
    model.act("inspector", {"do": "count_branches", "batches": 50})
    wait_counted(screen, 50)
    then, _ = screen["inspector", "shares"]["counted"]
    assert then["body"] == "then"
    assert then["low"] < then["share"] < then["high"]
    model.receive("canvas", "selected", ["resize"])
    assert screen["inspector", "shares"]["shown"] == {}
    with model.lock:  # before the picture with it comes
        model.act("canvas", {"do": "wrap", "nodes": ["resize"], "op": "if"})
        (block,) = screen["canvas", "selected"]
        assert model.graph.node(block).bodies
        assert screen["inspector", "shares"]["shown"] == {}, "none ran yet, and not 0 of all"
    screen.wait(lambda s: s["inspector", "shares"]["shown"], "how often it ran")


def test_shares_are_counted_while_the_statistics_are_shown(make: Make, photos: Path) -> None:
    model, screen = make(photos, BRANCHING)
    screen.wait_ready()
    assert shares(screen) == {}
    model.receive("preview", "show_statistics", True)
    found = wait_counted(screen, USUAL_BATCHES)
    assert [block["block"] for block in found["blocks"]] == ["outer", "inner"]
    assert found["samples"] == 4 * USUAL_BATCHES == found["blocks"][0]["samples"]
    for block in found["blocks"]:
        for body in block["bodies"]:
            assert body["low"] < body["share"] < body["high"]
            assert (body["asked"], body["agrees"]) == (0.5, True)

    model.set_graph(set_probability(BRANCHING, "outer", 0.2))
    screen.wait(lambda s: shares(s)["blocks"][0]["bodies"][0]["asked"] == 0.2, "those of 0.2")
    (then, _) = wait_counted(screen, USUAL_BATCHES)["blocks"][0]["bodies"]
    assert then["low"] < 0.2 < then["high"]

    model.act("preview", {"do": "count_branches", "batches": 1500})
    wait_counted(screen, 1500)
    model.act("preview", {"do": "count_branches", "batches": MOST_COUNTED + 1})
    assert f"Use 1 to {MOST_COUNTED}" in screen["bar", "message"]
    model.receive("preview", "show_statistics", False)
    assert shares(screen) == {}


def test_what_data_decide_is_counted_on_only_when_asked(make: Make, photos: Path) -> None:
    model, screen = make(photos, with_settings(decided_by_light(), batch_size=4, num_threads=2))
    screen.wait_ready()
    model.receive("preview", "show_statistics", True)
    screen.wait(lambda s: shares(s).get("reads") and not shares(s)["counting"], "the first counts")
    first = shares(screen)["batches"]
    assert shares(screen)["blocks"][0]["bodies"][0]["asked"] is None
    model.act("preview", {"do": "count_branches", "batches": first + 1})
    wait_counted(screen, first + 1)
