"""Arrays in a cell of JupyterLab."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.ui.hosts import await_picture, part
from tests.ui.labserver import LabServer

CELL = """
import numpy as np
import workbench as wb
from pathlib import Path
from PIL import Image

files = sorted(Path({photos!r}).rglob("*.jpg"))
images = [np.asarray(Image.open(file).convert("RGB")) for file in files]
w = wb.Workbench([(image, number % 3) for number, image in enumerate(images)], "rotate-jitter")
w
"""


@pytest.mark.thorough
def test_arrays_of_a_cell_are_shown(page: Page, lab_server: LabServer, photos: Path) -> None:
    lab_server.open(page, [CELL.format(photos=str(photos))])
    await_picture(page)
    count = len(list(photos.rglob("*.jpg")))
    expect(part(page, "bar")).to_contain_text(f"{count} images")
    asked = "(lambda model: model.data_panel.view['count'])(w._model)"
    assert lab_server.evaluate(asked) == count
    page.get_by_role("tab", name="Data").click()
    expect(part(page, "data")).to_contain_text("PNM")
    page.get_by_role("tab", name="Code").click()
    expect(part(page, "code")).to_contain_text("read_images")
    expect(part(page, "code")).to_contain_text("--data module:factory")
