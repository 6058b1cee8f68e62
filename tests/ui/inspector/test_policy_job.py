"""Sub-policies on the screen are pictured, and no others, once the graph rests."""

from __future__ import annotations

from pathlib import Path

from tests.helpers import chain_graph, with_settings
from tests.ui.preview.test_background_previews import until
from tests.ui.screen import Make, edit
from workbench.catalog import load_catalog
from workbench.catalog.own_operators.auto_augment import learnt_policies
from workbench.graph.control_flow.regions import wrap_in_region
from workbench.ui.inspector.random_views import json_value

CATALOG = load_catalog()
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
    assert "'mine' is no policy" in screen["bar", "message"]
    model.receive("canvas", "selected", ["resize"])
    assert screen[SHEET] == b""


def test_while_augmentations_are_built_it_is_said_which(make: Make, photos: Path) -> None:
    graph, _ = wrap_in_region(GRAPH, CATALOG, ["auto_augment"])
    _, screen = make(photos, graph)
    screen.wait(lambda s: "building " in s["bar", "status"]["text"], "progress")
    assert screen["bar", "status"]["text"].endswith(" of auto_augment")
    screen.wait_ready()
