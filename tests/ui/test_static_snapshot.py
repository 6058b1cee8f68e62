"""What a saved notebook shows where no kernel runs."""

import base64
import io
import re
from pathlib import Path

import numpy as np
from PIL import Image

from tests.helpers import with_settings
from workbench.engine import Engine
from workbench.graph import load_recipe
from workbench.preview import PreviewRequest, preview_batch
from workbench.ui.static_snapshot import snapshot_html


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
