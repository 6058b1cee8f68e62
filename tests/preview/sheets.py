"""Contact sheets cut into their pictures, and a folder of pictures that are known exactly."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.helpers import with_settings
from workbench.engine import Engine
from workbench.graph import Graph
from workbench.preview import PreviewRequest, PreviewResult, preview_batch

SIZE = 48
COUNT = 5
Pixels = NDArray[np.uint8]
Box = tuple[int, int, int, int]


def pictures(mode: str = "RGB") -> list[Image.Image]:
    """Pictures whose longer side is a tile, so that nothing is resized; all different."""
    chance = np.random.default_rng(3)
    sizes = [(SIZE, SIZE), (SIZE, 30), (20, SIZE), (SIZE, 47), (SIZE, 1)][:COUNT]
    shapes = [(h, w, len(mode)) if len(mode) > 1 else (h, w) for w, h in sizes]
    return [Image.fromarray(chance.integers(0, 256, shape, np.uint8), mode) for shape in shapes]


def write(folder: Path, images: list[Image.Image]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number, image in enumerate(images):
        image.save(folder / f"{number}.png")
    return folder


def write_exact(folder: Path) -> Path:
    """Two classes of PNGs, which DALI and Pillow decode identically."""
    images = pictures()
    write(folder / "a", images[:3])
    write(folder / "b", images[3:])
    return folder


def show(engine: Engine, graph: Graph, data: Path, **options: object) -> PreviewResult:
    graph = with_settings(graph, batch_size=COUNT)
    request = PreviewRequest(graph, str(data), tile_size=SIZE, lossless=True)
    return preview_batch(engine, replace(request, **options))  # type: ignore[arg-type]


def pixels_of(preview: PreviewResult) -> Pixels:
    image = Image.open(io.BytesIO(preview.image))
    assert image.mode == "RGB"
    assert image.size == preview.size
    assert Image.MIME[str(image.format)] == preview.mime
    return np.asarray(image)


def cut(sheet: Pixels, box: Box | None) -> Pixels:
    assert box is not None
    x, y, width, height = box
    return sheet[y : y + height, x : x + width]


def originals(preview: PreviewResult) -> list[Pixels]:
    return [cut(pixels_of(preview), tile.original) for tile in preview.tiles]


def augmented(preview: PreviewResult, output: int = 0) -> list[Pixels]:
    return [cut(pixels_of(preview), tile.augmented[output]) for tile in preview.tiles]
