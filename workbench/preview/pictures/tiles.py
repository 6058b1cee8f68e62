"""Convert any batch of images to 8-bit RGB tiles of one size, on the batch's device.

Used in the worker process only. The pipelines in this module only prepare images for display; their
inputs are computed by generated code.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.engine.resources.batch_store import Batch, Memory
from workbench.engine.resources.machine import usable_cores
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError
from workbench.preview.pictures.value_scaling import Scaling, per_channel, scale_on_host

_THREADS = min(8, usable_cores())
_KEPT_PIPELINES = 8
"""Maximum number of cached pipelines. Each has its own threads; building one takes 1.5 ms."""


@dataclass(frozen=True, slots=True, eq=False)
class Tiles:
    """Images fitted into squares of one size, on the device where they were created.

    ``pictures`` is uint8 (n, size, size, 3), an array or a DALI list on a GPU, with each image in
    the top left corner of its square (``on_host`` converts either to an array). ``sizes`` has the
    (width, height) of each image. ``note`` describes how values and channels are displayed.
    """

    pictures: Any
    sizes: list[tuple[int, int]]
    note: str
    device: Memory = "cpu"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of tiles, and side of a tile in pixels."""
        if self.device == "gpu":
            return len(self.pictures), self.pictures.shape()[0][0]
        return len(self.pictures), self.pictures.shape[1]

    @property
    def nbytes(self) -> int:
        count, size = self.shape
        return count * size * size * 3


def make_tiles(worker: Worker, batch: Batch, size: int, scaling: Scaling | None) -> Tiles:
    """Scale the values, convert to HWC and RGB, and fit each image into ``size`` x ``size`` pixels.

    Raises GraphError if the batch has no images.
    """
    layout = picture_layout(batch)
    height, width = layout.index("H"), layout.index("W")
    channels = [shape[layout.index("C")] if "C" in layout else 1 for shape in batch.shapes]
    notes = [
        "channels first" if layout == "CHW" else "",
        scaling.note if scaling else "",
        _channel_note(channels),
    ]
    note = ", ".join(filter(None, notes))
    fits = all(shape[height] == shape[width] == size for shape in batch.shapes)
    if batch.device == "cpu" and scaling is not None:
        batch = Batch([scale_on_host(array, layout, scaling) for array in batch.arrays()])
        layout, scaling = "HWC", None
    if batch.device == "cpu" and fits and set(channels) == {3} and layout == "HWC":
        return Tiles(np.stack(batch.arrays()), [(size, size)] * len(batch), note)
    look = _DisplayPipelineKey(
        size=size,
        count=len(batch),
        device=batch.device,
        layout=layout,
        channels=tuple(sorted(set(channels))),
        fits=fits,
        dtype=batch.dtype,
        scaled=scaling is not None,
    )
    pipelines: OrderedDict[_DisplayPipelineKey, Any] = worker.kept.setdefault(
        ("display",), OrderedDict()
    )
    if look not in pipelines:
        pipelines[look] = _build(look)
        while len(pipelines) > _KEPT_PIPELINES:
            pipelines.popitem(last=False)
    pipelines.move_to_end(look)
    pipe = pipelines[look]
    pipe.feed_input("batch", batch.data, None if batch.layout else layout)  # the same each time
    if scaling is not None:
        gain, offset = (np.asarray(v, np.float32) for v in (scaling.gain, scaling.offset))
        pipe.feed_input("mean", [per_channel(-offset / gain, n) for n in channels])
        pipe.feed_input("std", [per_channel(np.float32(1) / gain, n) for n in channels])
    pixels, shapes = pipe.run()
    sizes = [(int(w), int(h)) for h, w, _ in shapes.as_array()]
    on_gpu = batch.device == "gpu"
    return Tiles(pixels if on_gpu else pixels.as_array(), sizes, note, batch.device)


def on_host(tiles: Tiles) -> NDArray[np.uint8]:
    """Return the tiles as an array (n, size, size, 3)."""
    on_gpu = tiles.device == "gpu"
    pictures: NDArray[np.uint8] = tiles.pictures.as_cpu().as_array() if on_gpu else tiles.pictures
    return pictures


def picture_layout(batch: Batch) -> str:
    """Return the layout, such as ``HWC``, ``CHW`` or ``HW``.

    Raises GraphError if the batch has no images.
    """
    dims = len(batch.shapes[0])
    layout = batch.layout or {2: "HW", 3: "HWC"}.get(dims, "")
    if sorted(layout) not in (["H", "W"], ["C", "H", "W"]) or len(layout) != dims:
        named = f"layout {batch.layout}" if batch.layout else "no layout"
        raise GraphError(
            f"An output of shape {batch.shapes[0]} with {named} cannot be shown as an image. Use "
            "layout HWC, CHW or HW."
        )
    empty = next((shape for shape in batch.shapes if 0 in shape), None)
    if empty is not None:
        raise GraphError(f"An image of shape {empty} has no pixels to show.")
    return layout


def _channel_note(channels: Sequence[int]) -> str:
    """Return a text that says which channels are displayed, or "" if there are three."""
    least, most = min(channels), max(channels)
    if least == most == 3:
        return ""
    if least == most == 1:
        return "one channel shown as grey"
    if least == most:
        which = "the first three are shown" if most > 3 else "the first is shown as grey"
        return f"{most} channels: {which}"
    return f"{least} to {most} channels: the first three are shown, or the first as grey"


@dataclass(frozen=True, slots=True)
class _DisplayPipelineKey:
    size: int
    count: int
    device: str
    layout: str
    channels: tuple[int, ...]
    """Numbers of channels that occur in the batch."""
    fits: bool
    dtype: str
    scaled: bool
    """True if the pipeline scales the values, which it does only on a GPU."""


def _build(look: _DisplayPipelineKey) -> Any:
    from nvidia.dali import fn, pipeline_def, types

    def display() -> Any:
        image: Any = fn.external_source(name="batch", device=look.device, no_copy=True)
        if "C" not in look.layout:
            image = fn.expand_dims(image, axes=len(look.layout), new_axis_names="C")
        elif look.layout not in ("HWC", "CHW"):
            image = fn.transpose(image, perm=[look.layout.index(axis) for axis in "HWC"])
        if look.scaled:
            if look.dtype != "float32":
                image = fn.cast(image, dtype=types.FLOAT)
            image = fn.crop_mirror_normalize(
                image,
                mean=fn.external_source(name="mean"),
                std=fn.external_source(name="std"),
                dtype=types.UINT8,
                output_layout="HWC",
            )
        elif look.layout == "CHW":
            image = fn.transpose(image, perm=[1, 2, 0])
        if min(look.channels) < 3:  # grey, with or without alpha: the first channel three times
            in_color = fn.cast(image.shape()[2] >= 3, dtype=types.INT32)
            planes = [image[:, :, in_color * k : in_color * k + 1] for k in range(3)]
            image = fn.cat(*planes, axis=2)
        elif max(look.channels) > 3:
            image = image[:, :, 0:3]
        image = fn.reinterpret(image, layout="HWC")
        if not look.fits:
            image = fn.resize(image, size=[look.size, look.size], mode="not_larger")
        shapes = image.shape()
        if not look.fits:
            image = fn.pad(image, axes=[0, 1], shape=[look.size, look.size])
        return image, shapes

    pipe = pipeline_def(display)(
        batch_size=look.count,
        num_threads=_THREADS,
        device_id=0 if look.device == "gpu" else None,
        prefetch_queue_depth=1,
    )
    pipe.build()
    return pipe
