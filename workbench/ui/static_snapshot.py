"""The last contact sheet as plain HTML: what a notebook shows where no kernel runs."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Callable
from html import escape

from IPython.display import HTML, DisplayHandle
from PIL import Image, ImageOps

from workbench.preview import Preview
from workbench.preview.sheet import decode

WIDEST = 760
"""Pixels; the notebook file grows by about 100 kB."""
PAPER, GAP = (255, 255, 255), 6
SNAPSHOT_DELAY = 0.4
"""Seconds without a change after which the saved picture is replaced: not at each step of a drag,
and before anyone who sees a picture has saved it."""
FIRST_PICTURE = 5.0
"""Seconds that showing a widget waits for the first picture, to save it in the notebook."""


class StaticSnapshot:
    """The saved picture of one workbench, beside each output that shows it or its preview.

    All have one display id, so that a notebook replaces all at once.
    """

    def __init__(self, preview: Callable[[], Preview | None]) -> None:
        self.pictured = threading.Event()
        """Whether there is a picture."""
        self._preview = preview
        self._handle = DisplayHandle()
        self._shown = False
        self._timer = threading.Timer(SNAPSHOT_DELAY, self._update)

    def show(self) -> None:
        """Put it into an output of the cell that runs, once there is a picture.

        One output with the widget would not do: JupyterLab prefers the widget where it is dead too.
        """
        if self.pictured.wait(FIRST_PICTURE):
            self._shown = True
            self._handle.display(self._html())

    def changed(self) -> None:
        """There is another picture."""
        self.pictured.set()
        self._timer.cancel()
        if self._shown:
            self._timer = threading.Timer(SNAPSHOT_DELAY, self._update)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Replace it no more."""
        self._timer.cancel()

    def _update(self) -> None:
        self._handle.update(self._html())

    def _html(self) -> HTML:
        preview = self._preview()
        return HTML("" if preview is None else snapshot_html(preview))


def snapshot_html(preview: Preview) -> str:
    """An ``<img>`` in a ``div.wb-static-snapshot``, which the live widget's stylesheet hides."""
    image = _on_paper(preview)
    image.thumbnail((WIDEST, 2 * WIDEST))
    buffer = io.BytesIO()
    image.save(buffer, "JPEG", quality=70)
    data = base64.b64encode(buffer.getvalue()).decode()
    count = f"{len(preview.tiles)} samples of batch {preview.batch}"
    files = escape(", ".join(dict.fromkeys(tile.sample.file for tile in preview.tiles)))
    return (
        f'<div class="wb-static-snapshot"><img alt="{count}" title="{files}" '
        f'src="data:image/jpeg;base64,{data}">'
        f"<p>{count}. Run the cell to go on.</p></div>"
    )


def _on_paper(preview: Preview) -> Image.Image:
    """The sheet on white, each picture in the middle of its place: not in a corner, on black."""
    sheet = decode(preview.image, preview.mime, preview.size).convert("RGB")
    boxes = [box for tile in preview.tiles for box in (tile.original, *tile.augmented) if box]
    side = min((x for x, *_ in boxes if x), default=sheet.width)  # of a place in the grid
    paper = Image.new("RGB", sheet.size, PAPER)
    for x, y, width, height in boxes:
        picture = sheet.crop((x, y, x + width, y + height))
        room = max(1, side - GAP)
        paper.paste(ImageOps.pad(picture, (room, room), color=PAPER), (x, y))
    return paper
