"""What is drawn over pictures: boxes, points, outlines and masks, with the names of classes."""

from __future__ import annotations

import colorsys
import io
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

HUES = 12
_LETTERS = 11
"""Pixels of the names on a picture."""


class PlacedName(NamedTuple):
    """A name on a mask, at a pixel of what it names: x and y as shares of the picture's sides."""

    text: str
    colour: int
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class TargetMark:
    """A box, or a point where its corners are one, or an outline, or a mask.

    ``corners`` are left, top, right and bottom as shares of the picture's sides; ``colour`` is the
    same number for the same class. ``mask`` is a PNG that is clear where there is nothing, with
    ``names`` on it; ``outline`` has x and y of one vertex after another. What has ``left`` the
    picture, at any step, is drawn at its edge where it is outside.
    """

    corners: tuple[float, float, float, float]
    text: str
    colour: int
    mask: bytes = b""
    outline: tuple[float, ...] = ()
    left: bool = False
    names: tuple[PlacedName, ...] = ()


Marks = tuple[TargetMark, ...]


def draw_marks(picture: NDArray[np.uint8], marks: Marks, names: bool = False) -> NDArray[np.uint8]:
    """A picture (h, w, 3) with what is marked drawn into it, with its names where there is room."""
    if not marks:
        return picture
    image = Image.fromarray(picture)
    width, height = image.size
    pen = ImageDraw.Draw(image)
    for mark in marks:
        if mark.mask:
            with Image.open(io.BytesIO(mark.mask)) as mask:
                over = mask.convert("RGBA").resize(image.size, Image.Resampling.NEAREST)
            image.paste(over, mask=over.getchannel("A").point(lambda alpha: alpha * 3 // 5))
            continue
        colour = colour_of(mark.colour)
        left, top, right, bottom = (
            share * side for share, side in zip(mark.corners, (width, height) * 2, strict=True)
        )
        if mark.outline:
            across, down = mark.outline[::2], mark.outline[1::2]
            corners = [(x * width, y * height) for x, y in zip(across, down, strict=True)]
            pen.polygon(corners, outline=colour)
        elif (left, top) == (right, bottom):
            pen.ellipse(
                (left - 2, top - 2, left + 2, top + 2), None if mark.left else colour, colour
            )
        else:
            pen.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), outline=colour)
    for mark in marks if names else ():
        for name in mark.names:
            _write(pen, name, image.size, 0.5)
        if mark.text and not mark.mask:
            _write(pen, PlacedName(mark.text, mark.colour, *mark.corners[:2]), image.size)
    return np.asarray(image)


def _write(
    pen: ImageDraw.ImageDraw, name: PlacedName, sides: tuple[int, int], before: float = 0.0
) -> None:
    """Dark on the colour of the class, a share of it ``before`` its place, all in the picture."""
    font = ImageFont.load_default(_LETTERS)
    _, _, width, height = pen.textbbox((0, 0), name.text, font)
    left, top = (
        max(min(round(share * side - before * size), side - int(size) - 4), 0)
        for share, side, size in zip((name.x, name.y), sides, (width, height), strict=True)
    )
    pen.rectangle((left, top, left + width + 3, top + height + 3), fill=colour_of(name.colour))
    pen.text((left + 2, top + 1), name.text, (0, 0, 0), font)


def colour_of(number: int) -> tuple[int, ...]:
    """The colour of a class: the same as that of its boxes (``preview/marks.tsx``)."""
    shade = colorsys.hls_to_rgb(number * 5 % HUES / HUES, 0.62, 0.95)
    return tuple(round(255 * each) for each in shade)
