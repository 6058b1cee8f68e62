"""Last contact sheet as plain HTML, which a notebook shows without a running kernel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape

from IPython.display import HTML, DisplayHandle
from PIL import Image, ImageOps

from workbench.figures import webp_url
from workbench.preview import PreviewResult

CSS_CLASS = "wb-static-snapshot"
"""CSS class of the snapshot, which the live widget's stylesheet hides."""
WIDEST = 760
"""Maximum width in pixels, with which the notebook file grows by less than 100 kB."""
PAPER, GAP = (0, 0, 0, 0), 6
SNAPSHOT_DELAY = 0.4
"""Seconds without a change after which the saved picture is replaced: long enough to skip a drag,
short enough to precede saving the notebook."""
FIRST_PICTURE = 5.0
"""Seconds to wait for the first picture when a widget is shown; a later one fills the empty output.
"""
_EMPTY = f'<div class="{CSS_CLASS}"></div>'


class StaticSnapshot:
    """Saved picture of one workbench, below the last output that displays it.

    The picture below an earlier output is then removed, so the notebook file contains it once.
    """

    def __init__(self, preview: Callable[[], PreviewResult | None]) -> None:
        self.pictured = threading.Event()
        """Set once there is a picture."""
        self._preview = preview
        self._handle: DisplayHandle | None = None
        self._timer = threading.Timer(SNAPSHOT_DELAY, self._update)

    def show(self) -> None:
        """Add the output to the running cell, and the picture as soon as there is one.

        The picture cannot be part of the widget's output: JupyterLab prefers the widget even
        without a kernel.
        """
        in_time = self.pictured.wait(FIRST_PICTURE)
        earlier, handle = self._handle, DisplayHandle()
        if earlier is not None:
            earlier.update(HTML(_EMPTY))
        handle.display(self._html())
        self._handle = handle
        if not in_time and self.pictured.is_set():  # it arrived meanwhile
            self._update()

    def changed(self) -> None:
        """Update the picture after a delay."""
        self.pictured.set()
        self._timer.cancel()
        if self._handle is not None:
            self._timer = threading.Timer(SNAPSHOT_DELAY, self._update)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        self._timer.cancel()

    def _update(self) -> None:
        if self._handle is not None:
            self._handle.update(self._html())

    def _html(self) -> HTML:
        preview = self._preview()
        return HTML(_EMPTY if preview is None else snapshot_html(preview))


def snapshot_html(preview: PreviewResult) -> str:
    """Return the sheet as ``<img>`` in a ``div`` of ``CSS_CLASS``."""
    image = _on_paper(preview)
    image.thumbnail((WIDEST, 2 * WIDEST))
    count = f"{len(preview.tiles)} samples of batch {preview.batch}"
    files = escape(", ".join(dict.fromkeys(tile.sample.file for tile in preview.tiles)))
    return (
        f'<div class="{CSS_CLASS}"><img alt="{count}" title="{files}" '
        f'src="{webp_url(image)}">'
        f"<p>{count}. Run the cell to continue.</p></div>"
    )


def _on_paper(preview: PreviewResult) -> Image.Image:
    """Return the sheet without a background, with each picture centred in its cell."""
    sheet = preview.annotated().convert("RGBA")
    boxes = [box for tile in preview.tiles for box in (tile.original, *tile.augmented) if box]
    side = min((x for x, *_ in boxes if x), default=sheet.width)  # of a cell in the grid
    paper = Image.new("RGBA", sheet.size, PAPER)
    for x, y, width, height in boxes:
        picture = sheet.crop((x, y, x + width, y + height))
        room = max(1, side - GAP)
        paper.paste(ImageOps.pad(picture, (room, room), color=PAPER), (x, y))
    return paper
