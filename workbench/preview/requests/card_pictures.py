"""Render one sample at every node, as thumbnails for the node cards of the canvas.

Used in the worker process only.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from workbench.catalog.spec import SHOWN_KINDS
from workbench.emit.core.naming import is_batch_generator
from workbench.engine.protocol.registry import task
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.resources.batch_store import Batch, Memory
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError
from workbench.graph.model import Node, Port
from workbench.graph.model.ports import outputs_of
from workbench.preview.pictures.annotation_overlays import with_overlays
from workbench.preview.pictures.contact_sheet import encode, grid_of
from workbench.preview.pictures.output_tiles import pictures_of, scaling_for
from workbench.preview.pictures.tiles import Tiles, picture_layout
from workbench.preview.pictures.value_scaling import Scaling, scale_on_host
from workbench.preview.request import GraphRun, PreviewRequest, run_steps
from workbench.preview.requests.render import Box
from workbench.preview.requests.texts import random_argument_texts, short_values, target_text

_FEW = 2
"""Maximum number of values displayed for an output that is not an image."""
_IDENTITY = Scaling((1.0,), (0.0,))


@dataclass(frozen=True, slots=True)
class CardPicture:
    """A node's output for the sample.

    ``box`` is the rectangle of the node's first image in the sheet, or None if it outputs no image.
    Without an image, ``text`` has the values of the first output, if there are only a few.
    ``draws`` are the random values of the node's arguments. ``branches`` names the bodies of a
    block that ran for the sample, in any iteration.
    """

    node: str
    box: Box | None
    text: str
    draws: tuple[str, ...]
    branches: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CardPictures:
    """Cards of the nodes that the outputs depend on and that ran for the sample.

    The cards are in topological order, followed by nodes inside blocks. ``image`` is a JPEG of
    ``size`` (width, height), or empty if no node outputs an image. ``index`` is the sample's index
    in the batch, and ``samples`` is the number of displayed samples. Samples with errors have no
    cards.
    """

    index: int
    samples: int
    sample: Sample
    cards: tuple[CardPicture, ...]
    image: bytes
    mime: str
    size: tuple[int, int]
    milliseconds: float


@task
def render_card_pictures(
    worker: Worker,
    request: PreviewRequest,
    index: int,
    targets: bool = True,
    between: bool = True,
) -> CardPictures:
    """Task: render sample ``index`` of the request's batch at each node.

    Images have at most ``tile_size`` pixels per side. Cached outputs are used. If ``targets``,
    annotations are drawn; if ``between``, also on images between the original and the outputs.
    Raises the errors of ``render``.
    """
    start = time.perf_counter()
    run = run_steps(worker, request, targets, between)
    run.require_sample(index)
    sample = run.result.samples[index]
    found = [] if sample.error else _cards(worker, run, index)
    pictures = [picture for _, picture in found if picture is not None]
    cards: list[CardPicture] = []
    mime, image, size = "image/jpeg", b"", (0, 0)
    if pictures:
        sheet, places, size = _sheet(pictures, request.tile_size)
        image = encode(sheet, mime)
    for card, picture in found:
        box = None
        if picture is not None:
            height, width = picture.shape[:2]
            box = (*places[len([each for each in cards if each.box])], width, height)
        cards.append(replace(card, box=box))
    return CardPictures(
        index=index,
        samples=len(run.result.samples),
        sample=sample,
        cards=tuple(cards),
        image=image,
        mime=mime,
        size=size,
        milliseconds=(time.perf_counter() - start) * 1000,
    )


def _sheet(
    pictures: Sequence[NDArray[np.uint8]], side: int
) -> tuple[NDArray[np.uint8], list[tuple[int, int]], tuple[int, int]]:
    """Return a sheet with all images, each image's position, and the sheet's width and height."""
    squares = np.zeros((len(pictures), side, side, 3), np.uint8)
    grid = grid_of([Tiles(squares, [], "")])
    width, height = grid.extent
    sheet = np.zeros((height, width, 3), np.uint8)
    for picture, (x, y) in zip(pictures, grid.places, strict=True):
        tall, wide = picture.shape[:2]
        sheet[y : y + tall, x : x + wide] = picture
    return sheet, grid.places, grid.extent


def _cards(
    worker: Worker, run: GraphRun, index: int
) -> list[tuple[CardPicture, NDArray[np.uint8] | None]]:
    nodes = (*run.nodes, *run.inner_nodes)
    places = [(node, run.place(run.graph.scope_of(node.id), index)) for node in nodes]
    return [_card(worker, run, node, index, at) for node, at in places if at is not None]


def _card(
    worker: Worker, run: GraphRun, node: Node, index: int, output_index: int
) -> tuple[CardPicture, NDArray[np.uint8] | None]:
    text, picture = "", None
    output_index = index if is_batch_generator(node, run.resolved.catalog) else output_index
    outputs = outputs_of(node, run.resolved.spec(node))
    for output in outputs:
        port = Port(node.id, output.name)
        kind = run.resolved.kind(port)
        if kind == "encoded":
            continue
        batch = run.result.batches[port]
        if kind in (*SHOWN_KINDS, "mask") or (kind == "any" and batch.layout):
            picture = _picture(worker, run, port, batch, output_index)
            if picture is not None:
                break
        array = batch.sample(output_index).arrays()[0]
        text = text or target_text(worker, run, port, array)
        if not text and output is outputs[0] and array.size <= _FEW and array.dtype.kind in "biuf":
            text = short_values(array)
    draws = tuple(random_argument_texts(run, node, index))
    return CardPicture(node.id, None, text, draws, _branches(run, node, index)), picture


def _branches(run: GraphRun, node: Node, index: int) -> tuple[str, ...]:
    reached = run.result.reached
    return tuple(name for name in node.bodies if index in reached.get(node.scope(name), ()))


def _picture(
    worker: Worker, run: GraphRun, port: Port, batch: Batch, index: int
) -> NDArray[np.uint8] | None:
    side = run.request.tile_size
    key = f"card {index} {side} {port.output} {run.key(port)}"
    cached = worker.runner.store.get(key)
    if cached is None:
        one = pictures_of(run, port, batch.sample(index))
        try:
            layout = picture_layout(one)
        except GraphError:
            small = None
        else:
            small = _thumbnail(one.arrays()[0], layout, scaling_for(worker, run, port), side)
        cached = (_CachedImage(small),)
        worker.runner.store.put(key, cached)
    picture: NDArray[np.uint8] | None = cached[0].pixels
    return picture if picture is None else with_overlays(worker, run, port, index, picture)


@dataclass(frozen=True, slots=True)
class _CachedImage:
    """Cache entry for an output's image. ``pixels`` is None if the output is not an image."""

    pixels: NDArray[np.uint8] | None
    device: Memory = "cpu"

    @property
    def nbytes(self) -> int:
        return self.pixels.nbytes if self.pixels is not None else 0


def _thumbnail(
    array: NDArray[np.generic], layout: str, scaling: Scaling | None, side: int
) -> NDArray[np.uint8]:
    """Convert an image of any layout and type to RGB with at most ``side`` pixels per side."""
    if scaling is not None or layout != "HWC":
        array = scale_on_host(_subsampled(array, layout, side), layout, scaling or _IDENTITY)
    else:
        array = _subsampled(array, layout, side)
    channels = array.shape[2]
    rgb = array[..., :3] if channels >= 3 else np.repeat(array[..., :1], 3, axis=2)
    image = Image.fromarray(np.ascontiguousarray(rgb))
    image.thumbnail((side, side), Image.Resampling.BILINEAR, reducing_gap=1.5)
    return np.asarray(image)


def _subsampled(array: NDArray[np.generic], layout: str, side: int) -> NDArray[np.generic]:
    """Reduce an image that is much larger than its displayed size by skipping rows and columns."""
    step = max(1, min(array.shape[layout.index(axis)] for axis in "HW") // (4 * side))
    return array[tuple(slice(None, None, step if axis in "HW" else None) for axis in layout)]
