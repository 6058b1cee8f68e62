"""Show the graph and the last pictures as HTML, which a notebook displays without a kernel."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from html import escape
from pathlib import PurePath

from IPython.display import HTML, DisplayHandle
from PIL import Image, ImageOps

from workbench.figures import MOST_SHOWN, webp_url
from workbench.graph.builder.graph_drawing import graph_svg
from workbench.graph.model import Graph
from workbench.preview import PreviewResult

CSS_CLASS = "wb-static-snapshot"
"""CSS class of the snapshot. The stylesheet of the live widget hides it."""
WIDEST = 760
"""Maximum width in pixels, chosen so that the notebook file grows by less than 100 kB."""
NARROWEST = 160, 190
"""Minimum width of a sample in pixels, for more than eight samples and for up to eight."""
PAPER, GAP = (0, 0, 0, 0), 6
SNAPSHOT_DELAY = 0.4
"""Seconds without a change until the snapshot is updated: long enough to skip the pictures of a
drag, short enough to be done before the notebook is saved.
"""
FIRST_PICTURE = 5.0
"""Seconds to wait for the first picture when a widget is displayed. A later picture is inserted
into the empty output.
"""
_EMPTY = f'<div class="{CSS_CLASS}"></div>'


class StaticSnapshot:
    """Snapshot of one workbench, shown below the last output that displays the workbench.

    The snapshot below an earlier output is removed, so the notebook file contains only one.
    """

    def __init__(
        self, graph: Callable[[], Graph], preview: Callable[[], PreviewResult | None]
    ) -> None:
        self.pictured = threading.Event()
        """Event that is set once there is a picture."""
        self._graph, self._preview = graph, preview
        self._handle: DisplayHandle | None = None
        self._timer = threading.Timer(SNAPSHOT_DELAY, self._update)

    def show(self) -> None:
        """Add the snapshot as an output of the running cell; it is empty until there is a picture.

        The snapshot cannot be part of the widget's output: JupyterLab prefers the widget even
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
        """Update the snapshot after a delay."""
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
        return HTML(_EMPTY if preview is None else snapshot_html(self._graph(), preview))


def snapshot_html(graph: Graph, preview: PreviewResult) -> str:
    """Return a ``div`` with the graph, and with each sample's pictures, class and file name."""
    drawing = base64.b64encode(graph_svg(graph).encode()).decode()
    pictures = _sample_pictures(preview)
    shown = [*(["original"] if preview.tiles[0].original else []), *preview.outputs]
    narrowest = min(NARROWEST[len(pictures) <= 8], *(picture.width for picture in pictures))
    figures = []
    for tile, picture in zip(preview.tiles, pictures, strict=True):
        names = dict.fromkeys((tile.class_name, PurePath(tile.sample.file).name))
        figures.append(
            f'<figure style="margin:0;max-width:{picture.width}px">'
            f'<img style="display:block;margin:0;width:100%" alt="" '
            f'src="{webp_url(picture, MOST_SHOWN // len(pictures))}">'
            f'<figcaption title="{escape(tile.sample.file)}" style="font-size:12px;'
            f'line-height:1.3;margin:0;overflow-wrap:anywhere">'
            f"{escape(' · '.join(filter(None, names)))}</figcaption></figure>"
        )
    return (
        f'<div class="{CSS_CLASS}"><p>{len(pictures)} samples of batch {preview.batch}: '
        f"{escape(', '.join(shown))}. Run the cell to continue.</p>"
        '<div style="display:flex;flex-wrap:wrap;gap:16px">'
        f'<img alt="{escape(graph.name)}" src="data:image/svg+xml;base64,{drawing}" '
        f'style="max-width:100%;align-self:flex-start">'
        f'<div style="flex:1 1 400px;display:grid;gap:{GAP}px;align-content:start;'
        f'grid-template-columns:repeat(auto-fill,minmax({narrowest}px,1fr))">'
        f"{''.join(figures)}</div></div></div>"
    )


def _sample_pictures(preview: PreviewResult) -> list[Image.Image]:
    """Return a picture per sample: original and outputs side by side, each centred in a square."""
    sheet = preview.annotated().convert("RGBA")
    samples = [[box for box in (t.original, *t.augmented) if box] for t in preview.tiles]
    side = min((x for boxes in samples for x, *_ in boxes if x), default=sheet.width)
    room = max(1, min(side, WIDEST * side // sheet.width) - GAP)
    pictures = []
    for boxes in samples:
        paper = Image.new("RGBA", (len(boxes) * (room + GAP) - GAP, room), PAPER)
        for place, (x, y, width, height) in enumerate(boxes):
            picture = sheet.crop((x, y, x + width, y + height))
            padded = ImageOps.pad(picture, (room, room), color=PAPER)
            paper.paste(padded, (place * (room + GAP), 0))
        pictures.append(paper)
    return pictures
