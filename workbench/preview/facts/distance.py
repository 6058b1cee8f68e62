"""How far the pictures of two graphs lie apart, tile by tile. Runs inside the worker process."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.engine.protocol.registry import task
from workbench.engine.run.worker import Worker
from workbench.preview.pictures.output_tiles import tiles_of
from workbench.preview.pictures.tiles import on_host
from workbench.preview.request import PreviewRequest, run_request


@dataclass(frozen=True, slots=True)
class TileDistance:
    """``means`` holds for each image output of the first graph the mean absolute difference.

    Of the pixels as they are shown, 0 to 255; None where the other graph has no such output or one
    of another size, or the file cannot be shown. ``same_photo``: whether both are of one
    file.
    """

    means: tuple[float | None, ...]
    same_photo: bool


@task
def tile_distances(
    worker: Worker, request: PreviewRequest, other: PreviewRequest
) -> tuple[TileDistance, ...]:
    """Task: for each sample of ``request`` how far ``other`` lies from it.

    Outputs are compared where their names are the same; where none are, by their places.
    Raises as ``render``.
    """
    run, beside = run_request(worker, request), run_request(worker, other)
    images, others = run.images, beside.images
    pairs = {name: others.get(name) for name in images}
    if not any(pairs.values()):
        pairs |= dict(zip(images, others.values(), strict=False))
    ours = [tiles_of(worker, run, port, request.tile_size) for port in images.values()]
    theirs = [
        tiles_of(worker, beside, port, request.tile_size) if port is not None else None
        for port in pairs.values()
    ]
    worker.check_interrupt()
    pictures = [on_host(tiles) for tiles in ours]
    other_pictures = [on_host(tiles) if tiles is not None else None for tiles in theirs]
    found = []
    for index, (here, there) in enumerate(
        zip(run.result.samples, beside.result.samples, strict=True)
    ):
        means: list[float | None] = []
        for tiles, other_tiles, picture, other_picture in zip(
            ours, theirs, pictures, other_pictures, strict=True
        ):
            size = tiles.sizes[index]
            fits = other_tiles is not None and other_tiles.sizes[index] == size
            if other_picture is None or not fits or here.error or there.error:
                means.append(None)
                continue
            width, height = size
            a = picture[index][:height, :width]
            b = other_picture[index][:height, :width]
            means.append(float((np.maximum(a, b) - np.minimum(a, b)).mean()))
        found.append(TileDistance(tuple(means), here.file == there.file))
    return tuple(found)
