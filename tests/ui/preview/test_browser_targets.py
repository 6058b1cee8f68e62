"""COCO in both hosts: boxes follow a slider, masks are drawn, hidden and shown; the code runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import expect

from tests.helpers import chain_graph, with_settings
from tests.sources.written import read_photos, write_coco
from tests.ui.app.test_browser import argument, slide, tab
from tests.ui.hosts import PATIENCE, Host, await_python, open_page, part, small
from workbench.graph import Graph

pytestmark = pytest.mark.browser

_CORNERS = "[m.corners for t in model.state.preview.tiles for m in t.marks[-1] if not m.mask]"
_ANGLE = "model.graph.node('rotate').args['angle']"

_BOXES = """
import json, runpy, sys
import numpy as np
pipe = runpy.run_path(sys.argv[1])["build_pipeline"](sys.argv[2])
images, _, boxes = pipe.run()
found = []
for image, (box,) in zip(map(np.asarray, images), map(np.asarray, boxes)):
    left, top, width, height = (box / (*image.shape[1::-1], *image.shape[1::-1])).tolist()
    found.append([left, top, left + width, top + height])
print(json.dumps(found))
"""
"""A program that prints the boxes of a saved script's first batch, as shares of the images."""


_SHARES = """
import json, runpy, sys
import numpy as np
pipe = runpy.run_path(sys.argv[1])["build_pipeline"](sys.argv[2])
_, boxes, _ = pipe.run()
print(json.dumps([box for each in map(np.asarray, boxes) for box in each.tolist()]))
"""
"""The same where boxes are corners as shares already."""


def turned() -> Graph:
    """Photos of one size, turned by an angle."""
    return with_settings(chain_graph("resize", "rotate"), batch_size=4, num_threads=2)


def annotated(photos: Path, folder: Path) -> Path:
    """Photos with a box and its outline in the middle of each."""
    path = write_coco(read_photos(photos)[::9][:8], folder)
    document = json.loads(path.read_text())
    left, top, right, bottom = 70, 60, 190, 230
    classes = [category["id"] for category in document["categories"]]
    document["annotations"] = [
        {
            "id": image["id"] + 1,
            "image_id": image["id"],
            "category_id": classes[image["id"] % len(classes)],
            "bbox": [left, top, right - left, bottom - top],
            "segmentation": [[left, top, right, top, (left + right) / 2, bottom]],
            "area": 10000,
            "iscrowd": 0,
        }
        for image in document["images"]
    ]
    for image in document["images"]:
        with Image.open(path.parent / "images" / image["file_name"]) as photo:
            image["width"], image["height"] = photo.size
    path.write_text(json.dumps(document))
    return path


@pytest.mark.thorough
def test_boxes_follow_a_slider_and_go_out_with_the_code(
    host: Host, photos: Path, tmp_path: Path
) -> None:
    annotations = annotated(photos, tmp_path / "coco")
    page = open_page(host, annotations, turned())
    preview, canvas = part(page, "preview"), part(page, "canvas")
    marks = preview.locator("[data-wb=marks]")
    expect(marks).to_have_count(8, timeout=PATIENCE)  # four photos, before and after
    before = host.python(_CORNERS)

    # Turn: the boxes follow.
    canvas.locator("[data-node=rotate]").click()
    slider = argument(page, "angle").get_by_role("slider")
    slide(slider, 0.54, 0.75)
    await_python(host, _ANGLE, lambda angle: angle > 60)
    await_python(host, _CORNERS, lambda corners: len(corners) == 4 and corners != before)

    # Masks are an option of the reader, and are drawn then.
    canvas.locator("[data-node=reader]").click()
    argument(page, "pixelwise_masks").locator("label").first.click()
    expect(preview.locator("[data-wb=mask]").first).to_be_visible(timeout=PATIENCE)

    # Hidden, and shown again; closely too.
    preview.locator("[data-wb=tile] button").first.focus()
    page.keyboard.press("b")
    expect(marks).to_have_count(0)
    page.keyboard.press("b")
    expect(marks).to_have_count(8)
    preview.locator("[data-wb=tile] button").first.click()
    closely = preview.locator("[data-wb=closeup] [data-wb=marks]")
    expect(closely).to_be_visible(timeout=PATIENCE)
    page.keyboard.press("b")
    expect(closely).to_have_count(0)
    page.keyboard.press("b")
    page.keyboard.press("Escape")

    found = boxes_of_the_saved_code(host, annotations, _BOXES)
    np.testing.assert_allclose(found, host.python(_CORNERS), atol=1e-4)


def boxes_of_the_saved_code(host: Host, annotations: Path, program: str) -> list[list[float]]:
    """Export, and run: what the program prints of the saved code's first batch."""
    tab(host.page, "Code")
    code = part(host.page, "code")
    script = host.work / ("shares.py" if program is _SHARES else "boxes.py")  # of each test one
    code.locator("[data-wb=path]").fill(script.name)
    code.locator("[data-wb=save]").click()
    expect(code.locator("[data-wb=message]")).to_contain_text(str(script))
    run = subprocess.run(
        [sys.executable, str(script), "--data", str(annotations), "--batches", "2"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, run.stderr
    # In a process of its own: the server of the app runs in this one.
    command = [sys.executable, "-c", program, str(script), str(annotations)]
    done = subprocess.run(command, capture_output=True, timeout=120)
    found: list[list[float]] = json.loads(done.stdout)
    return found


@pytest.mark.thorough
def test_the_recipe_for_detection_takes_a_turn(host: Host, shapes: Path) -> None:
    """On the sample targets: an operator is put among the recipe's, and the boxes follow it."""
    annotations = shapes / "coco" / "annotations.json"
    page = open_page(host, annotations, small("ssd"))
    preview, canvas = part(page, "preview"), part(page, "canvas")
    marks = preview.locator("[data-wb=marks]")
    expect(marks).to_have_count(8, timeout=PATIENCE)  # four photos, before and after
    names = host.python("[m.text for t in model.state.preview.tiles for m in t.marks[-1]]")
    assert set(names) <= {"triangle", "square", "star", "arrow", "hexagon"}
    before = host.python(_CORNERS)

    canvas.locator("[data-node=bright]").press("Enter")  # its toolbar may lie over it
    page.keyboard.press("/")
    expect(canvas.locator("[data-wb=search]")).to_be_focused()
    page.keyboard.type("rotate")
    page.keyboard.press("Enter")
    await_python(host, "[n.op for n in model.graph.nodes]", lambda ops: "rotate" in ops)
    slide(argument(page, "angle").get_by_role("slider"), 0.54, 0.75)
    await_python(host, _ANGLE, lambda angle: angle > 60)
    await_python(host, _CORNERS, lambda corners: len(corners) == len(before) and corners != before)
    expect(marks).to_have_count(8)
    found = boxes_of_the_saved_code(host, annotations, _SHARES)
    np.testing.assert_allclose(found, host.python(_CORNERS), atol=1e-4)
