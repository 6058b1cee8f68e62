"""Where aligned and distributed boxes stand."""

from __future__ import annotations

from tests.ui.frontend_module import run_module

BOXES = [
    {"id": "a", "x": 0, "y": 0, "width": 100, "height": 40},
    {"id": "b", "x": 30, "y": 60, "width": 200, "height": 40},
    {"id": "c", "x": 200, "y": 260, "width": 100, "height": 60},
]
SOURCE = """
import { alignedBoxes } from "./src/canvas/state/alignment";
const answer = ({ boxes, hows }) =>
  hows.map((how) => [...alignedBoxes(how, boxes).values()].map(({ x, y }) => [x, y]));
"""


def test_boxes_are_put_in_line_and_apart() -> None:
    hows = ["left", "centre", "right", "bottom", "down"]
    left, centre, right, bottom, down = run_module(SOURCE, {"boxes": BOXES, "hows": hows})
    assert left == [[0, 0], [0, 60], [0, 260]]
    assert centre == [[100, 0], [50, 60], [100, 260]]
    assert right == [[200, 0], [100, 60], [200, 260]]
    assert bottom == [[0, 280], [30, 280], [200, 260]]
    assert down == [[0, 0], [30, 130], [200, 260]]
