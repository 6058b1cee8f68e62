"""Write a contact sheet as a PNG that contains its graph.

The graph file's text is in an ``iTXt`` chunk before the pixels (PNG, third edition, 11.3.3.4), so
that only the start of the PNG needs to be read. It is untrusted, and checked like any graph.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PIL import (
    Image,
    ImageDraw,
    ImageFont,
    ImageOps,
    PngImagePlugin,
    UnidentifiedImageError,
)

from workbench.engine.protocol.call_handle import Caller
from workbench.errors import GraphFormatError, SaveError
from workbench.graph.model import Graph
from workbench.graph.storage.io import load_graph
from workbench.preview.request import PreviewRequest
from workbench.preview.requests.render import Box, PreviewResult

KEY = "dali-workbench-graph"
LONGEST = 1_000_000
"""Maximum number of characters of a graph in a PNG. This is Pillow's limit for reading text."""

WIDTH, MARGIN, GAP = 1200, 28, 6
"""Width of the sheet, its margin, and the gap between tiles, in pixels."""
TILES, TILE = 32, 192
"""Maximum number of tiles, and side of a tile in pixels."""
PAPER, FRAME, INK, QUIET = (255, 255, 255), (246, 247, 249), (29, 36, 51), (92, 102, 120)
HINT = "Drop this picture on a DALI Workbench to open its graph."
_HEAD = 8_000_000
"""Maximum number of bytes that are read from a file, because the graph precedes the pixels."""
_BROKEN = (OSError, ValueError, SyntaxError, EOFError, KeyError, IndexError, OverflowError)
"""Exceptions that Pillow raises for files that are not PNGs, are truncated or are damaged."""


def share_sheet(engine: Caller, request: PreviewRequest, text: str) -> bytes:
    """Render a batch, and return the sheet as a PNG that contains ``text``, the graph's file.

    Raises the errors of ``preview_batch`` and ``write_shared``.
    """
    from workbench.preview import preview_batch

    request = replace(request, tile_size=TILE, shown="both", lossless=True, raw=False)
    shown = preview_batch(engine, request)
    graph = request.graph
    line = graph.about or f"Batch {shown.batch}, seed {graph.settings.seed}"
    pictures = _pictures(shown)
    return write_shared(
        compose_sheet(graph.name, line, pictures[: TILES // len(pictures[0])]), text
    )


def compose_sheet(
    name: str, line: str, pictures: Sequence[Sequence[Image.Image]] = ()
) -> Image.Image:
    """Draw a sheet in RGB with a title, a subtitle, and the images of each sample side by side."""
    each = max((len(group) for group in pictures), default=1)
    columns = _columns(len(pictures), each)
    inner = WIDTH - 2 * MARGIN
    wide = (inner - (columns - 1) * 3 * GAP) // columns
    side = (wide - (each - 1) * GAP) // each
    rows = math.ceil(len(pictures) / columns)
    top, step = MARGIN + 74, side + 3 * GAP
    height = top + rows * step + MARGIN + 8
    sheet = Image.new("RGB", (WIDTH, height), PAPER)
    draw = ImageDraw.Draw(sheet)
    _write(draw, (MARGIN, MARGIN - 6), name or "untitled", 30, INK)
    _write(draw, (MARGIN, MARGIN + 36), line, 17, QUIET)
    for place, group in enumerate(pictures):
        row, column = divmod(place, columns)
        for number, picture in enumerate(group):
            x = MARGIN + column * (wide + 3 * GAP) + number * (side + GAP)
            tile = ImageOps.pad(picture, (side, side), Image.Resampling.LANCZOS, FRAME)
            sheet.paste(tile, (x, top + row * step))
    _write(draw, (MARGIN, height - MARGIN - 8), HINT, 14, QUIET)
    return sheet


def write_shared(sheet: Image.Image, text: str) -> bytes:
    """Encode the sheet as a PNG that contains ``text``, the graph's file.

    Raises SaveError if the text is too long.
    """
    if len(text) > LONGEST:
        raise SaveError(
            f"The graph has {len(text):,} characters, more than the {LONGEST:,} that a picture "
            "can contain. Save the graph as a file instead."
        )
    carried = PngImagePlugin.PngInfo()
    carried.add_itxt(KEY, text, zip=True)
    buffer = io.BytesIO()
    sheet.save(buffer, "PNG", pnginfo=carried, compress_level=6)
    return buffer.getvalue()


def read_shared(picture: bytes) -> str:
    """Return the text of the graph file in a PNG. Only the part before the pixels is needed.

    Raises GraphFormatError if it is not a PNG, is damaged, or contains no graph.
    """
    try:
        with Image.open(io.BytesIO(picture), formats=["PNG"]) as image:
            text = image.info.get(KEY)
    except _BROKEN as error:
        reason = "" if isinstance(error, UnidentifiedImageError) else f" ({error})"
        raise GraphFormatError(
            f"This file is not a readable PNG{reason}. Use the PNG as it was downloaded."
        ) from None
    if not isinstance(text, str):
        raise GraphFormatError(
            "This picture contains no graph; messengers and image editors often remove it. Ask "
            "for the original file or for the graph as JSON."
        )
    return str(text)


def read_picture(path: str | Path) -> Graph:
    """Load the graph in a shared picture. Raises GraphFormatError with the name of the file."""
    try:
        with open(path, "rb") as file:
            return load_graph(read_shared(file.read(_HEAD)))
    except OSError as error:
        raise GraphFormatError(f"{path} cannot be read: {error.strerror}.") from None
    except GraphFormatError as error:
        raise GraphFormatError(f"{path}: {error}") from None


def _columns(count: int, each: int) -> int:
    """Return how many samples to show per row: about eight tiles, with few gaps in the last row."""
    most = max(1, min(count, 8 // each)) if count else 1
    return min(range(max(1, most - 1), most + 1), key=lambda n: (-count % n, -n))


def _pictures(preview: PreviewResult) -> list[list[Image.Image]]:
    sheet = preview.annotated()

    def cut(box: Box) -> Image.Image:
        x, y, width, height = box
        return sheet.crop((x, y, x + width, y + height))

    return [[cut(box) for box in (tile.original, *tile.augmented) if box] for tile in preview.tiles]


def _write(
    draw: ImageDraw.ImageDraw, position: tuple[int, int], text: str, size: int, ink: tuple[int, ...]
) -> None:
    font = ImageFont.load_default(size)
    line = " ".join(text[:500].encode("utf-8", "replace").decode().split())
    room = WIDTH - 2 * MARGIN
    if draw.textlength(line, font) > room:
        while line and draw.textlength(line + "...", font) > room:
            line = line[: -max(1, len(line) // 20)]
        line += "..."
    draw.text(position, line, ink, font)
