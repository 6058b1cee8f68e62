"""Points and boxes under pixels that an operator covers, compared with the covered pixels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nvidia.dali import fn, pipeline_def

import workbench as wb
from tests.graph.annotations.test_sides import poses
from tests.helpers import with_nodes
from workbench.emit.annotations import object_helpers
from workbench.graph.checks.check import check_graph
from workbench.graph.checks.check_warnings import check_warnings
from workbench.graph.model import Port

HEIGHT, WIDTH, MOST = 40, 60, 0.4
_FOUR = {"anchor": (3, 5, 10, 8, -4, 30, 25.5, 41.7), "shape": (20, 9, 15, 30, 60, 7, 9.9, 12.2)}
OCCLUDERS: list[tuple[str, dict[str, Any]]] = [
    ("erase", {"anchor": (0.13, 0.21), "shape": (0.4, 0.37), "normalized": True}),
    ("erase", {"anchor": (0.5, 0.5), "shape": (17, 21), "normalized_anchor": True}),
    ("erase", {"anchor": (31.3, 18.2), "shape": (33, 11), "axis_names": "WH"}),
    ("erase", {"anchor": (20, 22), "shape": (9, 31), "centered_anchor": True}),
    ("erase", {"anchor": (5, 30), "shape": (12, 9), "axis_names": "W"}),
    ("erase", {**_FOUR, "normalized": False}),
    ("erase", {"shape": (0.5, 0.8), "normalized": True, "p": 0.5}),
    ("grid_mask", {"tile": 13, "ratio": 0.45, "shift_x": 3.7, "shift_y": 8}),
    ("grid_mask", {"tile": 9, "ratio": 0.8}),
    ("grid_mask", {"tile": 17, "ratio": 0.5, "angle": 0.6, "shift_x": 4.0}),
]


@pytest.mark.parametrize(("op", "args"), OCCLUDERS)
def test_covered_points_are_hidden_and_covered_boxes_removed(
    tmp_path: Path, op: str, args: dict[str, Any]
) -> None:
    start = wb.read(poses(tmp_path), ltrb=True).decode().with_settings(batch_size=4)
    start = start.flip(horizontal=1)
    followed = getattr(start, op)(**{"anchor": (0.0, 0.0), **args} if op == "erase" else args)
    assert [fault.code for fault in check_warnings(followed)] == ["covered"]
    if "p" in args:  # random regions, in a block
        args = {**args, "anchor": wb.fn.random.uniform(range=[0.0, 0.5], shape=[2], seed=3)}
    graph = getattr(start, op)(**args)["follow_points"].set(covered="hide")
    if args.get("angle"):
        turned = graph["follow_boxes"].set(covered=MOST)
        assert "Reset angle" in check_graph(turned)[0].text
    else:
        graph = graph["follow_boxes"].set(covered=MOST)
    graph = with_nodes(graph, visible=Port("follow_points", "visible"))
    batch, whole = graph.batch(0), start.batch(0)
    some_hidden, some_removed = 0, 0
    for at, picture in enumerate(batch.images):
        hidden = (np.asarray(picture) == 0).all(axis=-1)
        x, y = np.floor(np.asarray(batch.vertices[at])).astype(int).T
        shown = ~hidden[y, x]
        assert np.array_equal(np.asarray(batch.visible[at]), shown)
        some_hidden += (~shown).sum()
        boxes = np.asarray(whole.boxes[at])
        shares = [hidden[y:v, x:u].mean() for x, y, u, v in boxes.round().astype(int)]
        kept = boxes[np.array(shares) <= MOST] if not args.get("angle") else boxes
        some_removed += len(boxes) - len(kept)
        np.testing.assert_allclose(np.asarray(batch.boxes[at]), kept, atol=1e-4)
    assert some_hidden
    assert some_removed or shares[0] < MOST


def test_overlapping_regions_count_once() -> None:
    chance = np.random.default_rng(0)
    regions = chance.integers(-10, 50, (64, 5, 4)).astype(np.float32)
    regions[..., 2:] = regions[..., :2] + chance.integers(0, 30, (64, 5, 2))
    boxes = chance.integers(0, 30, (64, 7, 4)).astype(np.float32)
    boxes[..., 2:] = boxes[..., :2] + chance.integers(1, 11, (64, 7, 2))
    boxes = [each[: at % 8] for at, each in enumerate(boxes)]

    @pipeline_def(batch_size=64, num_threads=1, device_id=None)
    def areas() -> Any:
        given = fn.external_source(lambda: [*boxes]), fn.external_source(lambda: [*regions])
        return object_helpers.regions_area(*given)

    pipe = areas()
    pipe.build()
    (found,) = pipe.run()
    for at, (own, table) in enumerate(zip(boxes, regions, strict=True)):
        mask = np.zeros((HEIGHT, WIDTH))
        for left, top, right, bottom in table.astype(int).clip(0):
            mask[top:bottom, left:right] = 1
        wanted = [[mask[y:v, x:u].sum()] for x, y, u, v in own.astype(int)]
        assert np.array_equal(np.asarray(found[at]), np.array(wanted).reshape(-1, 1))
