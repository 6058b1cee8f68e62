"""Render a thumbnail of each recipe on four sample photos.

``python -m workbench.ui.preview.thumbnails`` writes the thumbnails to ``pictures``; a test fails if
one is missing or outdated.
"""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from workbench.engine import Engine
from workbench.graph.edits.edit import set_setting
from workbench.graph.model import Graph
from workbench.graph.storage.recipes import load_recipes
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.preview.pictures.annotation_overlays import Overlays, draw_overlays
from workbench.samples import write_samples
from workbench.sources import ORDER_OPTIONS, load_source, open_datasets

SHOWN = ("flower", "cat", "temple", "retina")
"""Classes of the sample photos, one photo each. Recipes with several outputs show fewer photos."""
TILE = 96
"""Side of a tile in pixels. The menu shows tiles at about half size, for high-resolution
displays.
"""
QUALITY = 60
FOLDER = Path(str(files("workbench.ui"))) / "preview" / "pictures"


def picture_url(recipe: str) -> str:
    """Return the thumbnail of a recipe as a ``data:`` URL; "" if there is none."""
    path = FOLDER / f"{recipe}.webp"
    if not path.is_file():
        return ""
    return "data:image/webp;base64," + base64.b64encode(path.read_bytes()).decode()


@contextmanager
def samples_shown() -> Iterator[Callable[[Graph], Path]]:
    """Yield a function that returns the data to use for a graph's thumbnail.

    The function returns the photos of ``SHOWN`` in order, or annotated samples if the graph reads
    annotations.
    """
    with tempfile.TemporaryDirectory() as folder:
        samples, shown, shapes = (Path(folder, name) for name in ("samples", "shown", "shapes"))
        write_samples(samples)
        write_samples(shapes, annotations=True)
        shown.mkdir()
        for number, name in enumerate(SHOWN):
            first = min((samples / name).iterdir())
            (shown / f"{number}{first.suffix}").write_bytes(first.read_bytes())

        def data_of(graph: Graph) -> Path:
            sample = load_source(graph.sources[0].kind).sample
            return shapes / sample if sample else shown

        yield data_of


def draw_thumbnail(engine: Engine, graph: Graph, data: Path) -> Image.Image:
    """Render a thumbnail: four RGB tiles in a row, with all outputs of a photo next to each other.

    Boxes and masks that are transformed with the images are drawn. Raises the errors of
    ``preview_batch``.
    """
    request = PreviewRequest(
        set_setting(_without_shuffle(graph), batch_size=len(SHOWN)),
        open_datasets(data),
        tiles=len(SHOWN),
        tile_size=TILE,
        shown="augmented",
        lossless=True,
    )
    preview = preview_batch(engine, request)
    strip = Image.new("RGB", (len(SHOWN) * TILE, TILE))
    for place, tile in enumerate(_tiles(preview)[: len(SHOWN)]):
        strip.paste(ImageOps.pad(tile, (TILE, TILE)), (place * TILE, 0))
    return strip


def _without_shuffle(graph: Graph) -> Graph:
    nodes = []
    for node in graph.nodes:
        args = {name: value for name, value in node.args.items() if name not in ORDER_OPTIONS}
        nodes.append(replace(node, args=args))
    return replace(graph, nodes=tuple(nodes))


def _tiles(preview: PreviewResult) -> list[Image.Image]:
    with Image.open(io.BytesIO(preview.image)) as sheet:
        return [
            _drawn(sheet.crop((x, y, x + width, y + height)), marks)
            for tile in preview.tiles
            for (x, y, width, height), marks in zip(
                tile.augmented, tile.marks or ((),) * len(tile.augmented), strict=True
            )
        ]


def _drawn(tile: Image.Image, marks: Overlays) -> Image.Image:
    return Image.fromarray(draw_overlays(np.asarray(tile), marks))


def main() -> None:
    """Render and write the thumbnail of every recipe."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.webp"):
        old.unlink()
    with Engine() as engine, samples_shown() as data_of:
        for name, graph in load_recipes().items():
            picture = draw_thumbnail(engine, graph, data_of(graph))
            picture.save(FOLDER / f"{name}.webp", quality=QUALITY, method=6)


if __name__ == "__main__":
    main()
