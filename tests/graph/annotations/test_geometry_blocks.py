"""Annotations of an image that passes blocks follow the branch that ran."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.graph.annotations.geometry_chains import block_chain, require_near
from tests.graph.annotations.ramps import BATCH, coco_start, run_graph
from tests.helpers import CATALOG, same, script_batches, with_node, with_nodes
from workbench.engine.run.runner import Runner
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.checks.check import check_graph
from workbench.graph.control_flow.wrapping import wrap_in_block
from workbench.graph.edits.edit import insert_node
from workbench.graph.execution.active import active_graph
from workbench.graph.model import Body, Graph, Node, Port

BATCHES = (0, 1, 7)


@pytest.mark.thorough
@pytest.mark.parametrize("seeds", [range(12), range(12, 312)], ids=["twelve", "hundreds"])
def test_all_targets_follow_through_chains_with_blocks(seeds: range, folder: Path) -> None:
    require_near(folder, seeds, chain=block_chain)


def test_a_map_that_no_branch_combines_has_the_layout_of_one_that_is(folder: Path) -> None:
    require_near(folder, range(135, 136), chain=block_chain)  # an inverse, then a crop in a branch


def test_each_turn_of_a_repeat_starts_from_the_size_of_its_image(folder: Path) -> None:
    require_near(folder, range(54, 55), chain=block_chain)  # a resize to a fixed size, twice


@pytest.mark.gpu
@pytest.mark.timeout(900)
def test_all_targets_follow_through_blocks_on_the_gpu(folder: Path) -> None:
    require_near(folder, range(300), "mixed", block_chain)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 3, 5, 6, 7, 10, 13, 22])
def test_the_preview_is_the_script_at_any_batch(folder: Path, seed: int, tmp_path: Path) -> None:
    graph = block_chain(folder, seed)
    expected = script_batches(graph, folder, max(BATCHES) + 1, tmp_path)
    runner, taps = Runner(CATALOG), list(graph.outputs.values())
    for batch in reversed(BATCHES):
        found = runner.run(active_graph(graph, CATALOG), {}, batch, BATCH, taps).batches
        for port, theirs in zip(taps, expected[batch], strict=True):
            assert same(found[port].arrays(), theirs), (batch, port)


def _turned_in_an_if(folder: Path) -> Graph:
    graph, turned = insert_node(coco_start(folder), CATALOG, "flip", "decode")
    graph = with_node(graph, turned, args={"horizontal": 1})
    graph, _ = wrap_in_block(graph, CATALOG, [turned])
    return with_node(graph, "chance", seed=5)  # by which some are turned


def test_an_if_brings_its_followers_and_takes_them_away(folder: Path) -> None:
    start = coco_start(folder)
    graph = with_followers(start, _turned_in_an_if(folder), CATALOG)
    assert graph.outputs["boxes"] == Port("follow_boxes", "boxes")
    assert check_graph(graph, CATALOG) == ()
    bare = replace(start, outputs=start.outputs)
    assert with_followers(graph, bare, CATALOG).outputs == start.outputs


def test_only_those_of_the_samples_that_were_turned_move(folder: Path) -> None:
    start = coco_start(folder)
    graph = with_followers(start, _turned_in_an_if(folder), CATALOG)
    images, boxes, _ = run_graph(graph)
    _, given, _ = run_graph(start)
    turned = 0
    for image, found, before in zip(images, boxes, given, strict=True):
        left, top, right, bottom = np.asarray(before).T
        if image[0, 0, 0] > 100:  # the ramp of x begins at its end
            turned += 1
            left, right = 250 - right, 250 - left
        np.testing.assert_allclose(found, np.stack([left, top, right, bottom], 1), atol=1e-3)
    assert 0 < turned < BATCH


def test_an_operator_without_a_rule_is_named_inside_a_block(folder: Path) -> None:
    start = coco_start(folder)
    graph, water = insert_node(start, CATALOG, "water", "decode")
    graph, _ = wrap_in_block(graph, CATALOG, [water])
    inputs = {"boxes": Port("reader", "boxes"), "image": graph.outputs["images"]}
    follower = Node("follow", "follow_boxes", {}, inputs)
    graph = with_nodes(graph, follower, boxes=Port("follow", "boxes"))
    (fault,) = check_graph(graph, CATALOG)
    assert (fault.node, fault.code) == (water, "unfollowed")


def test_a_follower_inside_a_body_follows_what_is_there(folder: Path) -> None:
    """One's own: the image and the points are taken in, and both are given."""
    turn = {"data": Port("branch.then", "image")}
    moved = {"points": Port("branch.then", "points"), "image": Port("turn", "output")}
    nodes = (
        Node("turn", "flip", {"horizontal": 1, "vertical": 0}, turn),
        Node("moved", "follow_points", {}, moved),
    )
    then = {"image": Port("turn", "output"), "points": Port("moved", "points")}
    otherwise = {name: Port("branch.else", name) for name in then}
    bodies = {
        "then": Body(nodes, then, ("image", "points")),
        "else": Body((), otherwise, ("image", "points")),
    }
    inputs = {
        "condition": Port("coin", "output"),
        "image": Port("decode", "output"),
        "points": Port("points", "output"),
    }
    around = (
        Node("points", "random.uniform", {"range": (0.0, 200.0), "shape": (5, 2)}, seed=4),
        Node("coin", "random.coin_flip", {"probability": 0.5, "dtype": "BOOL"}, seed=5),
        Node("branch", "if", {}, inputs, bodies=bodies),
    )
    outputs = {
        "images": Port("branch", "image"),
        "before": Port("points", "output"),
        "after": Port("branch", "points"),
    }
    start = coco_start(folder)
    graph = replace(start, nodes=(*start.nodes, *around), outputs=outputs)
    images, before, after = run_graph(graph)
    turned = [image[0, 0, 0] > 100 for image in images]
    assert any(turned)
    assert not all(turned)
    for turns, one, two in zip(turned, before, after, strict=True):
        wanted = np.asarray(one) * (-1, 1) + (250, 0) if turns else one
        np.testing.assert_allclose(two, wanted, atol=1e-3)
