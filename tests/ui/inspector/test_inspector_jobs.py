"""Work of the inspector in the background: speed of a fused operator, pictures of policies."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.bench.fakes import measured, report
from tests.helpers import chain_graph, with_settings
from tests.ui.jobs.fake_run import FakeRun
from tests.ui.screen import Make, edit, until
from workbench.catalog import load_catalog
from workbench.catalog.extra_operators.auto_augment import learnt_policies
from workbench.errors import DataError
from workbench.graph import load_recipe
from workbench.graph.control_flow.options import set_probability
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import set_arg, set_setting
from workbench.ui.inspector.random_argument_payloads import json_value
from workbench.ui.speed import fused_speed
from workbench.ui.speed.fused_speed import FusedSpeed

# What the inspector says of an if that one operator can do.

CATALOG = load_catalog()
JITTER = set_setting(load_recipe("rotate-jitter"), batch_size=4)
FLIPPED, BLOCK = wrap_in_block(set_arg(JITTER, CATALOG, "flip", "horizontal", 1), CATALOG, ["flip"])
DONE = report(
    measured(100.0, "with the if"),
    measured(150.0, "fused"),
    extra={"fused_over_if": [1.5, 1.4, 1.6]},
)


@pytest.mark.parametrize(
    ("outcome", "state", "text"),
    [
        (DONE, "done", ""),
        (DataError("No folder."), "failed", "No folder."),
        (None, "stopped", "stopped"),
    ],
)
def test_figures_come_with_their_spread(
    monkeypatch: pytest.MonkeyPatch, outcome: Any, state: str, text: str
) -> None:
    monkeypatch.setattr(FakeRun, "outcome", outcome)
    monkeypatch.setattr(FakeRun, "usable", SimpleNamespace(), raising=False)
    monkeypatch.setattr(fused_speed, "FusedSpeedExperiment", FakeRun)
    changed = threading.Semaphore(0)
    speed = FusedSpeed(threading.RLock(), changed.release)
    assert speed.entry(FLIPPED, {})["state"] == "none"
    speed.start(BLOCK, FLIPPED, {})
    assert changed.acquire(timeout=30)
    assert speed.task.last is not None
    running: Any = speed.task.last.work
    assert speed.entry(FLIPPED, {})["state"] == "running"
    if outcome is None:
        speed.cancel()
    else:
        running.ended.set()
    while speed.entry(FLIPPED, {})["state"] == "running":
        assert changed.acquire(timeout=30)
    entry = speed.entry(FLIPPED, {})
    assert (entry["state"], entry["block"], entry["text"]) == (state, BLOCK, text)
    assert not entry["stale"]
    assert speed.entry(JITTER, {})["stale"]
    if outcome is DONE:
        assert entry["ratio"] == "1.40 to 1.60"  # not known within 3 %
        assert [row["name"] for row in entry["rows"]] == ["with the if", "fused"]
        assert all(row["figure"] and row["interval"] for row in entry["rows"])


def test_it_is_offered_used_and_undone(make: Make) -> None:
    model, screen = make(graph=FLIPPED)
    model.receive("canvas", "selected", [BLOCK])
    assert screen["inspector", "node"]["asks"]["fused"] == "flip"
    assert screen["inspector", "fused_speed"]["state"] == "none"
    model.act("inspector", {"do": "fuse", "node": BLOCK})
    assert not model.graph.has(BLOCK)
    assert model.graph.node("flip").inputs["horizontal"].node == "chance"
    assert screen["canvas", "selected"] == ["flip"]
    assert screen["bar", "undo_label"] == f"fuse {BLOCK}"
    model.act("inspector", {"do": "undo"})
    assert model.graph == FLIPPED


def test_it_is_not_offered_where_the_block_holds_more(make: Make) -> None:
    graph, block = wrap_in_block(JITTER, CATALOG, ["rotate", "color"])
    graph = set_probability(graph, block, 0.2)
    model, screen = make(graph=graph)
    model.receive("canvas", "selected", [block])
    assert screen["inspector", "node"]["asks"]["fused"] == ""
    model.act("inspector", {"do": "fuse", "node": block})
    assert "it must contain one operator" in screen["bar", "message"]
    assert model.graph == graph


# Sub-policies on the screen are pictured, and no others, once the graph rests.

SHEET = "inspector", "policy_pictures"
GRAPH = with_settings(
    chain_graph("resize", "auto_augment", resize={"size": (48.0, 48.0)}),
    batch_size=4, num_threads=2, seed=7,
)  # fmt: skip


def test_the_rows_on_the_screen_are_pictured_and_follow(make: Make, photos: Path) -> None:
    model, screen = make(photos, GRAPH)
    model.receive("canvas", "selected", ["auto_augment"])
    screen.wait_ready()
    assert "equalize" in screen["inspector", "augmentations"]
    model.receive("inspector", "policy_rows", [0, 1])
    assert screen["inspector", "policy_rows"] == [], "there is no policy of one's own"
    edit(model, "own_policy", node="auto_augment", name="")
    policy = json_value(learnt_policies()["image_net"])
    assert isinstance(policy, list)
    header, image = until(screen, SHEET, lambda h: len(h["pictures"]) == 2)
    assert [each["sub_policy"] for each in header["pictures"]] == policy[:2]
    assert all(each["box"] and not each["error"] for each in header["pictures"])
    assert image

    model.receive("inspector", "policy_rows", [3, 4, 90])
    header, _ = until(screen, SHEET, lambda h: h["pictures"][0]["sub_policy"] == policy[3])
    assert len(header["pictures"]) == 2
    changed = [*policy[:3], [["rotate", 0.1, 10]], *policy[4:]]
    steps = len(model.history.before)
    edit(model, "set", node="auto_augment", arg="policy", value=changed, group="")
    assert len(model.history.before) == steps + 1
    until(screen, SHEET, lambda h: h["pictures"][0]["sub_policy"] == [["rotate", 0.1, 10]])
    edit(model, "own_policy", node="auto_augment", name="mine")
    assert "'mine' is not a policy" in screen["bar", "message"]
    model.receive("canvas", "selected", ["resize"])
    assert screen[SHEET] == b""


def test_while_augmentations_are_built_it_is_said_which(make: Make, photos: Path) -> None:
    graph, _ = wrap_in_block(GRAPH, CATALOG, ["auto_augment"])
    _, screen = make(photos, graph)
    screen.wait(lambda s: "building " in s["bar", "status"]["text"], "progress")
    assert screen["bar", "status"]["text"].endswith(" of auto_augment")
    screen.wait_ready()
