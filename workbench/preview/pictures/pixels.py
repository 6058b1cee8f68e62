"""Return the exact values of one sample, or its image in full size.

Used in the worker process only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.engine.protocol.registry import task
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError
from workbench.preview.pictures.contact_sheet import encode
from workbench.preview.pictures.frame_strip import is_sequence, one_frame
from workbench.preview.pictures.output_tiles import pictures_of, scaling_for
from workbench.preview.pictures.tiles import make_tiles, picture_layout
from workbench.preview.request import PreviewRequest, run_request

MOST_VALUES = 2**20
"""Maximum number of values per call, which is enough for 590 x 590 pixels with three channels."""
LARGEST_SIDE = 4096
"""Maximum side of an image in pixels. Larger images are scaled down."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """Values of a region of an image.

    ``values`` has the shape (height, width, channels), whatever the output's layout, and the
    output's element type. ``x`` and ``y`` are the top left corner of the region, and ``size`` is
    the (width, height) of the whole image.
    """

    values: NDArray[Any]
    x: int
    y: int
    size: tuple[int, int]
    dtype: str
    layout: str


@dataclass(frozen=True, slots=True)
class Picture:
    """One sample of an output as a PNG, in original size up to a limit.

    ``size`` is the (width, height) of the PNG, and ``full`` is that of the sample. ``note``
    describes how values and channels are displayed.
    """

    image: bytes
    size: tuple[int, int]
    full: tuple[int, int]
    note: str
    sample: Sample
    frames: int = 0
    """Number of frames of the sample, or 0 if it is not a sequence."""


@task
def read_pixels(
    worker: Worker,
    request: PreviewRequest,
    index: int,
    of: str,
    x: int = 0,
    y: int = 0,
    width: int | None = None,
    height: int | None = None,
    frame: int | None = None,
) -> Pixels:
    """Task: return the values in a region of sample ``index``, by default in the whole image.

    ``of`` is ``original``, an output's name, or ``node.output``. For sequences, ``frame`` (from 0)
    selects a frame; without it the frames are arranged as on a tile. The region is clipped to the
    image. Raises GraphError if the image does not exist, or if the region has more than a million
    values.
    """
    run = run_request(worker, request)
    run.require_sample(index)
    port = run.port(of)
    one = run.result.batches[port].sample(index)
    one = pictures_of(run, port, one) if frame is None else one_frame(one, frame)
    layout = picture_layout(one)
    array = one.arrays()[0]
    if "C" not in layout:
        array, layout = array[..., np.newaxis], f"{layout}C"
    image = array.transpose([layout.index(axis) for axis in "HWC"])
    full_height, full_width = image.shape[:2]
    left, top = min(max(x, 0), full_width), min(max(y, 0), full_height)
    right = full_width if width is None else min(max(x + width, left), full_width)
    bottom = full_height if height is None else min(max(y + height, top), full_height)
    region = image[top:bottom, left:right]
    if region.size > MOST_VALUES:
        raise GraphError(
            f"A region of {right - left}×{bottom - top} pixels has {region.size} values. "
            f"Use a smaller one: the limit is {MOST_VALUES}."
        )
    return Pixels(
        np.ascontiguousarray(region),
        left,
        top,
        (full_width, full_height),
        one.dtype,
        picture_layout(one),
    )


@task
def read_picture(
    worker: Worker,
    request: PreviewRequest,
    index: int,
    of: str,
    frame: int | None = None,
) -> Picture:
    """Task: return sample ``index`` of an output as PNG, at most ``LARGEST_SIDE`` pixels a side.

    See ``read_pixels`` for ``of`` and ``frame``. Raises GraphError if the image does not exist.
    """
    run = run_request(worker, request)
    run.require_sample(index)
    port = run.port(of)
    whole = run.result.batches[port].sample(index)
    frames = whole.shapes[0][0] if is_sequence(whole) else 0
    one = pictures_of(run, port, whole) if frame is None else one_frame(whole, frame)
    layout = picture_layout(one)
    shape = one.shapes[0]
    full = shape[layout.index("W")], shape[layout.index("H")]
    side = min(max(full), LARGEST_SIDE)
    tiles = make_tiles(worker, one, side, scaling_for(worker, run, port))
    width, height = tiles.sizes[0]
    return Picture(
        encode(np.ascontiguousarray(tiles.pictures[0, :height, :width]), "image/png"),
        (width, height),
        full,
        tiles.note,
        run.result.samples[index],
        frames,
    )
