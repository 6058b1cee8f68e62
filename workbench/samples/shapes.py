"""Draw shapes on the sample photos, and compute their exact annotations.

Coordinates are x, y in pixels; pixel i covers [i, i + 1]. A mask contains the pixels whose centres
are inside the outline of a shape. Shapes of a picture do not overlap, and neither do their boxes.
"""

from __future__ import annotations

import io
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Point = tuple[float, float]

SCENES = 24
SIZES = ((320, 240), (240, 320), (320, 320), (288, 216))
"""Width and height of the pictures in pixels. The sizes are used repeatedly, in this order."""
QUALITY = 88
_MOST, _TRIES = 4, 60
_SMALLEST, _LARGEST = 44, 110
"""Smallest and largest diameter of a shape, in pixels."""
_APART = 4
"""Minimum distance in pixels between two boxes, and between a box and the edge."""
_FINE = 4
"""Supersampling factor per axis, for antialiasing."""

KEY_POINTS = ("tip", "right", "tail", "left", "centre")
"""Names of the key points of every shape, in order. Mirroring swaps ``right`` and ``left``."""
SKELETON = ((1, 5), (2, 5), (3, 5), (4, 5))


def _polygon(count: int, *radii: float) -> list[Point]:
    """Return ``count`` corners, clockwise from the top, with alternating distances ``radii``."""
    turns = [2 * math.pi * index / count for index in range(count)]
    return [
        (radii[index % len(radii)] * math.sin(turn), -radii[index % len(radii)] * math.cos(turn))
        for index, turn in enumerate(turns)
    ]


_ARROW: list[Point] = [(0, -1), (0.8, -0.1), (0.3, -0.1), (0.3, 1)]
_ARROW += [(-0.3, 1), (-0.3, -0.1), (-0.8, -0.1)]
_TRIANGLE, _STAR, _HEXAGON = _polygon(3, 1), _polygon(10, 1, 0.45), _polygon(6, 1)
OUTLINES: dict[str, tuple[list[Point], list[Point]]] = {
    "triangle": (_TRIANGLE, [_TRIANGLE[0], _TRIANGLE[1], (0, 0.5), _TRIANGLE[2], (0, 0)]),
    "square": (
        [(-0.75, -0.75), (0.75, -0.75), (0.75, 0.75), (-0.75, 0.75)],
        [(0, -0.75), (0.75, 0), (0, 0.75), (-0.75, 0), (0, 0)],
    ),
    "star": (_STAR, [_STAR[0], _STAR[2], _STAR[5], _STAR[8], (0, 0)]),
    "arrow": (_ARROW, [(0, -1), (0.8, -0.1), (0, 1), (-0.8, -0.1), (0, -0.1)]),
    "hexagon": (_HEXAGON, [_HEXAGON[0], _HEXAGON[2], _HEXAGON[3], _HEXAGON[4], (0, 0)]),
}
"""Corners and key points of each class, by class name, with coordinates from -1 to 1."""
CLASSES = tuple(OUTLINES)


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape in a picture: ``corners`` of its polygon, and its key points ``points``."""

    name: str
    corners: tuple[Point, ...]
    points: tuple[Point, ...]
    colour: tuple[int, int, int]

    @property
    def label(self) -> int:
        """Class number, from 1. Class 0 is the background."""
        return CLASSES.index(self.name) + 1

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Bounding box of the polygon: left, top, right, bottom."""
        xs, ys = zip(*self.corners, strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    @property
    def area(self) -> float:
        """Area of the polygon in square pixels."""
        following = (*self.corners[1:], self.corners[0])
        pairs = zip(self.corners, following, strict=True)
        return abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in pairs)) / 2


@dataclass(frozen=True, slots=True)
class Scene:
    """A picture with shapes. ``pixels`` is uint8 of shape (h, w, 3)."""

    pixels: NDArray[np.uint8]
    shapes: tuple[Shape, ...]

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the picture in pixels."""
        return self.pixels.shape[1], self.pixels.shape[0]

    @property
    def label(self) -> int:
        """Class number of the largest shape, from 0."""
        return max(self.shapes, key=lambda shape: shape.area).label - 1

    def mask(self, number: Callable[[int, Shape], int]) -> NDArray[np.uint8]:
        """Return a mask (h, w) with ``number(index, shape)`` inside each shape, and 0 elsewhere."""
        found = np.zeros(self.pixels.shape[:2], np.uint8)
        for index, shape in enumerate(self.shapes):
            found[inside(shape.corners, *self.size)] = number(index, shape)
        return found

    @property
    def classes(self) -> NDArray[np.uint8]:
        """Mask (h, w) of class numbers."""
        return self.mask(lambda _, shape: shape.label)

    @property
    def instances(self) -> NDArray[np.uint8]:
        """Mask (h, w) of shape numbers, from 1."""
        return self.mask(lambda index, _: index + 1)

    @property
    def jpeg(self) -> bytes:
        return encoded(self.pixels, "JPEG", quality=QUALITY)


def encoded(pixels: NDArray[np.uint8], kind: str, **options: int) -> bytes:
    """Encode a picture (h, w) or (h, w, 3) in the image format ``kind``."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind, **options)
    return file.getvalue()


def inside(corners: Sequence[Point], width: int, height: int, fine: int = 1) -> NDArray[np.bool_]:
    """Return the mask of the pixels inside a polygon, at ``fine`` times the resolution."""
    ys, xs = ((np.arange(side * fine) + 0.5) / fine for side in (height, width))
    found = np.zeros((height * fine, width * fine), np.bool_)
    for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
        crossed = (y0 <= ys) != (y1 <= ys)
        if crossed.any():
            at = x0 + (ys[crossed] - y0) * (x1 - x0) / (y1 - y0)
            found[crossed] ^= xs > at[:, None]
    return found


def shape_at(name: str, centre: Point, radius: float, turn: float, colour: str) -> Shape:
    """Return a shape, rotated clockwise by ``turn`` radians. Coordinates have two decimals."""
    sine, cosine = math.sin(turn), math.cos(turn)

    def placed(points: Sequence[Point]) -> tuple[Point, ...]:
        return tuple(
            (
                round(centre[0] + radius * (x * cosine - y * sine), 2),
                round(centre[1] + radius * (x * sine + y * cosine), 2),
            )
            for x, y in points
        )

    red, green, blue = Image.new("RGB", (1, 1), colour).getpixel((0, 0))  # type: ignore[misc]
    corners, points = map(placed, OUTLINES[name])
    return Shape(name, corners, points, (red, green, blue))


def draw(pixels: NDArray[np.uint8], shape: Shape) -> NDArray[np.uint8]:
    """Draw an antialiased shape on a picture, and return the new picture."""
    height, width = pixels.shape[:2]
    fine = inside(shape.corners, width, height, _FINE)
    share = fine.reshape(height, _FINE, width, _FINE).mean(axis=(1, 3))[..., None]
    mixed = pixels * (1 - share) + np.array(shape.colour) * share
    return np.asarray(mixed.round(), np.uint8)


def colour_of(chance: random.Random) -> str:
    """Return a random bright colour as a CSS string."""
    return f"hsl({chance.randrange(360)}, {chance.randint(60, 95)}%, {chance.randint(40, 70)}%)"


@cache
def scenes(photos: Callable[[str], Image.Image], names: tuple[str, ...]) -> tuple[Scene, ...]:
    """Return all pictures. The named photographs are used as backgrounds in turn."""
    return tuple(_scene(photos(names[n % len(names)]), n) for n in range(SCENES))


def _scene(photo: Image.Image, number: int) -> Scene:
    chance = random.Random(f"scene {number}")
    width, height = SIZES[number % len(SIZES)]
    pixels = background(photo, width, height, chance)
    shapes: list[Shape] = []
    for index in range(1 + number % _MOST):
        name = CLASSES[(number + index) % len(CLASSES)]
        for _ in range(_TRIES):
            radius = chance.uniform(_SMALLEST, _LARGEST) / 2
            centre = chance.uniform(0, width), chance.uniform(0, height)
            turn = chance.uniform(0, 2 * math.pi)
            made = shape_at(name, centre, radius, turn, colour_of(chance))
            if _fits(made, shapes, width, height):
                shapes.append(made)
                break
    for shape in shapes:
        pixels = draw(pixels, shape)
    return Scene(pixels, tuple(shapes))


def background(
    photo: Image.Image, width: int, height: int, chance: random.Random
) -> NDArray[np.uint8]:
    """Return a random crop of a photograph, resized to (height, width, 3)."""
    scale = min(photo.width / width, photo.height / height) * chance.uniform(0.7, 1)
    left = chance.uniform(0, photo.width - width * scale)
    top = chance.uniform(0, photo.height - height * scale)
    box = (left, top, left + width * scale, top + height * scale)
    return np.asarray(photo.resize((width, height), Image.Resampling.LANCZOS, box=box))


def _fits(shape: Shape, others: Sequence[Shape], width: int, height: int) -> bool:
    left, top, right, bottom = shape.box
    if min(left, top, width - right, height - bottom) < _APART:
        return False
    return all(
        right + _APART < other.box[0]
        or other.box[2] + _APART < left
        or bottom + _APART < other.box[1]
        or other.box[3] + _APART < top
        for other in others
    )
