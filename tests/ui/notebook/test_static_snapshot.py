"""What a saved notebook shows where no kernel runs."""

import base64
import io
import queue
import re
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from IPython.display import HTML
from PIL import Image

from tests.helpers import with_settings
from workbench.engine import Engine
from workbench.graph import load_recipe
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.ui.notebook.static_snapshot import StaticSnapshot, snapshot_html


def test_pictures_stand_in_the_middle_on_white(engine: Engine, photos: Path) -> None:
    graph = with_settings(load_recipe("rotate-jitter"), batch_size=4)
    request = PreviewRequest(graph, str(photos), batch=1, tiles=4, lossless=True, raw=True)
    preview = preview_batch(engine, request)
    html = snapshot_html(preview)
    assert "<p>4 samples of batch 1. Run the cell to go on.</p>" in html
    assert preview.tiles[0].sample.file in html
    found = re.search(r"base64,([^\"]+)", html)
    assert found
    image = Image.open(io.BytesIO(base64.b64decode(found[1]))).convert("L")
    scale = image.width / preview.size[0]
    for tile in preview.tiles:
        assert tile.original is not None
        x, y, width, height = (round(side * scale) for side in tile.original)
        side = round(request.tile_size * scale)
        place = np.asarray(image.crop((x, y, x + side, y + side)), float)
        if width < side:
            assert place[:, :4].mean() > 240 < place[:, -4:].mean()
        if height < side:
            assert place[:4].mean() > 240 < place[-4:].mean()


def test_a_first_picture_that_comes_late_fills_the_empty_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: queue.Queue[str] = queue.Queue()

    class Output:
        def display(self, html: HTML) -> None:
            told.put(f"display {html.data}")

        def update(self, html: HTML) -> None:
            told.put(f"update {html.data}")

    module = "workbench.ui.notebook.static_snapshot"
    monkeypatch.setattr(f"{module}.FIRST_PICTURE", 0.0)
    monkeypatch.setattr(f"{module}.DisplayHandle", Output)
    monkeypatch.setattr(f"{module}.snapshot_html", lambda preview: "the picture")
    previews: list[PreviewResult] = []
    snapshot = StaticSnapshot(lambda: previews[-1] if previews else None)
    snapshot.show()
    assert told.get(timeout=60) == 'display <div class="wb-static-snapshot"></div>'
    previews.append(cast(PreviewResult, object()))
    snapshot.changed()
    assert told.get(timeout=60) == "update the picture"
    snapshot.close()
    assert told.empty()
