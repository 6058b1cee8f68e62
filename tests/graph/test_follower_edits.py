"""Followers that edits bring about, lead on, and leave away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.graph.annotations.ramps import coco_start, run_graph, write_ramps
from workbench.catalog import load_catalog
from workbench.catalog.spec import Value
from workbench.graph.annotations.follower_edits import with_followers
from workbench.graph.checks.check import check_graph
from workbench.graph.model import Port

CATALOG = load_catalog()
TWO: Mapping[str, Value] = {"horizontal": 1, "vertical": 0}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_ramps(tmp_path_factory.mktemp("coco"))


def test_a_follower_that_a_person_removed_does_not_come_back(folder: Path) -> None:
    graph = coco_start(folder).flip(**TWO)["follow_boxes"].remove()
    assert graph.outputs["boxes"] == Port("reader", "boxes")
    assert graph.rotate(angle=20.0).outputs["boxes"] == Port("reader", "boxes")


def test_a_follower_goes_on_through_each_further_call(folder: Path) -> None:
    start = coco_start(folder)
    step_by_step = start.resize(size=(90, 120)).brightness(brightness=1.2).rotate(angle=30.0)
    step_by_step = step_by_step.with_p(0.5, lambda x: x.flip()).contrast(contrast=0.9)
    at_once = start.images.resize(size=(90, 120)).brightness(brightness=1.2).rotate(angle=30.0)
    plain = replace(at_once.graph, outputs={"images": at_once.port})
    plain = plain.with_p(0.5, lambda x: x.flip()).contrast(contrast=0.9)
    wanted = with_followers(
        start, replace(plain, outputs={**start.outputs, **plain.outputs}), CATALOG
    )
    assert not check_graph(step_by_step)
    assert step_by_step.node("follow_boxes").inputs["image"] == Port("branch", "images")
    for one, other in zip(run_graph(step_by_step), run_graph(wanted), strict=True):
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)


def test_a_follower_stays_with_an_image_that_is_still_given_out(folder: Path) -> None:
    start = coco_start(folder).resize(size=(90, 120))
    turned = start.images.rotate(angle=30.0)
    two = {**start.outputs, "images": turned.port, "small": start.outputs["images"]}
    after = with_followers(start, replace(turned.graph, outputs=two), CATALOG)
    assert after.node("follow_boxes").inputs["image"] == start.outputs["images"]


def test_an_image_made_from_what_a_follower_gives_has_one_more(folder: Path) -> None:
    start = coco_start(folder).resize(size=(90, 120))
    first = start.labels[0]  # of which the angle is made
    made = start.rotate(angle=first * 10.0)
    assert not check_graph(made)
    further = made.node(made.outputs["boxes"].node)
    assert further.inputs["boxes"] == Port("follow_boxes", "boxes")
    assert further.inputs["labels"] == Port("follow_boxes", "labels")
    assert further.inputs["before"] == made.node("follow_boxes").inputs["image"]
    _, boxes, labels = run_graph(made)
    assert all(len(b) == len(n) for b, n in zip(boxes, labels, strict=True))
    assert made.outputs["labels"] == Port(further.id, "labels")
