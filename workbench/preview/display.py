"""Any image batch -> 8-bit RGB tiles of one size, on the device where the batch is.

Runs inside the worker process only. The pipelines here only prepare pictures for the screen; what
they are given comes out of emitted source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import Catalog, Value
from workbench.engine.values import Batch
from workbench.engine.worker import Worker
from workbench.graph.model import Graph, Port

_THREADS = 2


@dataclass(frozen=True, slots=True)
class Scaling:
    """How element values become 0..255: ``value * gain + offset``, per channel or for all."""

    gain: tuple[float, ...]
    offset: tuple[float, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """``pixels``: uint8 (n, size, size, 3), each picture in the top left corner of its square;
    ``sizes``: (width, height) of each picture; ``note`` says how values were scaled."""

    pixels: NDArray[np.uint8]
    sizes: list[tuple[int, int]]
    note: str


def scaling_of(graph: Graph, catalog: Catalog, port: Port, batch: Batch) -> Scaling | None:
    """How to show an output's values; None where they are 8-bit already.

    Undoes ``crop_mirror_normalize`` (out = (in - mean) / std * scale + shift); any other element
    type is stretched from its smallest to its largest value in the batch.
    """
    if batch.dtype == "uint8":
        return None
    node = graph.node(port.node)
    if node.op == "crop_mirror_normalize" and not {"mean", "std"} & set(node.inputs):
        spec = catalog[node.op].args
        given = {name: node.args.get(name, spec[name].default) for name in _NORMALISE}
        mean, std, scale, shift = (_numbers(given[name]) for name in _NORMALISE)
        channels = max(len(mean), len(std))
        mean, std = (v if len(v) == channels else v * channels for v in (mean, std))
        gain = tuple(s / scale[0] for s in std)
        offset = tuple(m - shift[0] * g for m, g in zip(mean, gain, strict=True))
        return Scaling(gain, offset, "shown de-normalised")
    arrays = batch.arrays()
    low = float(min(a.min() for a in arrays))
    high = float(max(a.max() for a in arrays))
    gain_all = 255.0 / (high - low) if high > low else 1.0
    note = f"values {low:.3g} … {high:.3g} shown as black … white"
    return Scaling((gain_all,), (-low * gain_all,), note)


_NORMALISE = ("mean", "std", "scale", "shift")


def _numbers(value: Value | None) -> tuple[float, ...]:
    items: Sequence[Any] = value if isinstance(value, tuple) else (value,)
    return tuple(float(item) for item in items)


def make_tiles(worker: Worker, batch: Batch, size: int, scaling: Scaling | None) -> Tiles:
    """Scale, order channels last, make RGB, fit each picture into ``size`` x ``size`` pixels."""
    layout = batch.layout or ("HWC" if len(batch.shapes[0]) == 3 else "HW")
    channels = {shape[layout.index("C")] for shape in batch.shapes} if "C" in layout else {1}
    fits = all(
        shape[layout.index("H")] == shape[layout.index("W")] == size for shape in batch.shapes
    )
    key = ("display", size, len(batch), batch.device, layout, *channels, fits, scaling)
    pipe = worker.kept.get(key)
    if pipe is None:
        pipe = _build(size, len(batch), batch.device, layout, max(channels), fits, scaling)
        for stale in [k for k in worker.kept if k[0] == "display"][:-16]:
            del worker.kept[stale]
        worker.kept[key] = pipe
    pipe.feed_input("batch", batch.data)
    pixels, shapes = pipe.run()
    if batch.device == "gpu":
        pixels = pixels.as_cpu()
    sizes = [(int(w), int(h)) for h, w, _ in shapes.as_array()]
    return Tiles(pixels.as_array(), sizes, scaling.note if scaling else "")


def _build(
    size: int,
    count: int,
    device: str,
    layout: str,
    channels: int,
    fits: bool,
    scaling: Scaling | None,
) -> Any:
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(
        batch_size=count,
        num_threads=_THREADS,
        device_id=0 if device == "gpu" else None,
        prefetch_queue_depth=1,
    )
    def display() -> Any:
        image = fn.external_source(name="batch", device=device, no_copy=True)
        if "C" not in layout:
            image = fn.expand_dims(image, axes=len(layout), new_axis_names="C")
        if scaling is not None:
            gain = np.asarray(scaling.gain, np.float32)
            image = fn.crop_mirror_normalize(
                fn.cast(image, dtype=types.FLOAT),
                mean=(-np.asarray(scaling.offset, np.float32) / gain).tolist(),
                std=(1 / gain).tolist(),
                dtype=types.UINT8,
                output_layout="HWC",
            )
        elif layout == "CHW":
            image = fn.transpose(image, perm=[1, 2, 0])
        if channels < 3:
            image = fn.cat(*[image[:, :, 0:1]] * 3, axis=2)
        elif channels > 3:
            image = image[:, :, 0:3]
        image = fn.reinterpret(image, layout="HWC")
        if not fits:
            image = fn.resize(image, size=[size, size], mode="not_larger")
        shapes = image.shape()
        return fn.pad(image, axes=[0, 1], shape=[size, size]), shapes

    pipe = display()
    pipe.build()
    return pipe
