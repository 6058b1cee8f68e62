"""A small picture of every recipe: what the engine makes of four of the sample photos.

``python -m workbench.ui.thumbnails`` draws them anew, into ``workbench/ui/pictures``; a test fails
when one is missing or no longer shows what its recipe does.
"""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from PIL import Image, ImageOps

from workbench.engine import Engine
from workbench.graph.edit import set_setting
from workbench.graph.model import Graph
from workbench.graph.recipes import load_recipes
from workbench.preview import PreviewRequest, PreviewResult, preview_batch
from workbench.samples import write_samples
from workbench.sources import open_datasets

SHOWN = ("flower", "cat", "temple", "retina")
"""Classes of the sample photos, one tile each; of a recipe with several outputs, fewer photos."""
TILE = 96
"""Pixels; the menu shows them at about half, sharp on a fine screen too."""
QUALITY = 60
FOLDER = Path(str(files("workbench.ui"))) / "pictures"


def picture_url(recipe: str) -> str:
    """The picture as a ``data:`` URL, or empty where there is none."""
    path = FOLDER / f"{recipe}.webp"
    if not path.is_file():
        return ""
    return "data:image/webp;base64," + base64.b64encode(path.read_bytes()).decode()


@contextmanager
def photos_shown() -> Iterator[Path]:
    """A folder with the photos of ``SHOWN``, in that order."""
    with tempfile.TemporaryDirectory() as folder:
        samples, shown = Path(folder, "samples"), Path(folder, "shown")
        write_samples(samples)
        shown.mkdir()
        for number, name in enumerate(SHOWN):
            first = min((samples / name).iterdir())
            (shown / f"{number}{first.suffix}").write_bytes(first.read_bytes())
        yield shown


def draw_thumbnail(engine: Engine, graph: Graph, photos: Path) -> Image.Image:
    """Four tiles side by side, RGB: the augmented photos, those of one photo together.

    Raises as ``preview_batch`` does.
    """
    request = PreviewRequest(
        set_setting(_in_order(graph), batch_size=len(SHOWN)),
        open_datasets(photos),
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


def _in_order(graph: Graph) -> Graph:
    nodes = []
    for node in graph.nodes:
        args = {name: value for name, value in node.args.items() if name != "random_shuffle"}
        nodes.append(replace(node, args=args))
    return replace(graph, nodes=tuple(nodes))


def _tiles(preview: PreviewResult) -> list[Image.Image]:
    with Image.open(io.BytesIO(preview.image)) as sheet:
        return [
            sheet.crop((x, y, x + width, y + height))
            for tile in preview.tiles
            for x, y, width, height in tile.augmented
        ]


def main() -> None:
    """Draw the picture of every recipe."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.webp"):
        old.unlink()
    with Engine() as engine, photos_shown() as photos:
        for name, graph in load_recipes().items():
            picture = draw_thumbnail(engine, graph, photos)
            picture.save(FOLDER / f"{name}.webp", quality=QUALITY, method=6)


if __name__ == "__main__":
    main()
