"""The last contact sheet as plain HTML: what a notebook shows where no kernel runs."""

from __future__ import annotations

import base64
import io

from workbench.preview import Preview
from workbench.preview.sheet import decode

WIDEST = 760
"""Pixels; the notebook file grows by about 100 kB."""


def still_html(preview: Preview) -> str:
    """An ``<img>`` in a ``div.wb-still``, which the live widget's stylesheet hides."""
    image = decode(preview.image, preview.mime, preview.size)
    image.thumbnail((WIDEST, 2 * WIDEST))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=70)
    data = base64.b64encode(buffer.getvalue()).decode()
    count = f"{len(preview.tiles)} samples of batch {preview.batch}"
    return (
        f'<div class="wb-still"><img alt="{count}" src="data:image/jpeg;base64,{data}">'
        f"<p>{count}, as last seen. Run the cell to go on.</p></div>"
    )
