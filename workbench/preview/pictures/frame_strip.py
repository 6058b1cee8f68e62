"""Sequences and sounds as pictures: the frames of each side by side, in lines, or a curve.

Runs inside the worker process only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import SHOWN_KINDS, PortKind
from workbench.engine.resources.batch_store import Batch
from workbench.errors import GraphError
from workbench.preview.pictures.tiles import picture_layout
from workbench.preview.pictures.value_scaling import Scaling, stretch

# Sounds as pictures: waves as curves over time, spectrograms with time along and frequency up.
#
# Runs inside the worker process only.

_WIDTH, _HEIGHT = 256, 192
"""Of a wave's picture; a spectrogram has as many columns, and at least as many rows."""
_TICKS = 4
"""Parts into which ticks divide an axis."""
_TICK = 4
_MOST_CHANNELS = 8
_INK, _ZERO_LINE, _PAPER = 230, 90, 24


def is_sound(batch: Batch, kind: PortKind = "any") -> bool:
    """Whether each sample is a wave or a spectrogram.

    A layout of ``ft`` or ``tf`` says so. A wave has none: there it is the port's ``kind``, also
    where an operator on images gives a single axis.
    """
    axes = {len(shape) for shape in batch.shapes}
    if not batch.dtype.startswith(("float", "int", "uint")):
        return False
    if axes == {1}:
        return kind in SHOWN_KINDS
    return axes == {2} and (sorted(batch.layout) == ["f", "t"] or kind == "sound")


def sound_pictures(batch: Batch) -> list[NDArray[Any]]:
    """(rows, columns) for each sample: of waves grey values from 0 to 1, else the sample's own."""
    if len(batch.shapes[0]) == 2 and batch.layout:
        across = batch.layout == "tf"
        return [_spectrogram(np.asarray(a).T if across else np.asarray(a)) for a in batch.arrays()]
    return [_wave(np.asarray(a)) for a in batch.arrays()]


def sound_scaling(batch: Batch) -> Scaling:
    """How the pictures are shown: waves as they are drawn, spectrograms from dark to bright."""
    if len(batch.shapes[0]) == 2 and batch.layout:
        return replace(stretch(batch.arrays()), note=axes_note(batch))
    return Scaling((255.0,), (0.0,), axes_note(batch))


def axes_note(batch: Batch) -> str:
    """Labels on the axes of the pictures."""
    first = batch.shapes[0]
    if len(first) == 2 and batch.layout:
        windows = max(shape[batch.layout.index("t")] for shape in batch.shapes)
        bands = max(shape[batch.layout.index("f")] for shape in batch.shapes)
        return f"along: {_up_to(batch, windows)} windows of time, up: {bands:,} bands of frequency"
    longest = max(shape[0] for shape in batch.shapes)
    return f"along: {_up_to(batch, longest)} samples of time, up: amplitude"


def _up_to(batch: Batch, most: int) -> str:
    return f"{most:,}" if len({*batch.shapes}) == 1 else f"up to {most:,}"


def _wave(samples: NDArray[Any]) -> NDArray[np.float32]:
    """Smallest and largest value of each column's samples, a line for each channel, and 0 marked.

    The height is that of the element type's range, of fractions -1 to 1, or what they come to.
    """
    channels = samples.reshape(len(samples), -1).T[:_MOST_CHANNELS]
    finite = channels[np.isfinite(channels)] if channels.dtype.kind == "f" else channels
    top = float(np.iinfo(channels.dtype).max) if channels.dtype.kind in "iu" else 1.0
    top = max(top, float(np.abs(finite).max(initial=0))) if channels.dtype.kind == "f" else top
    band = _HEIGHT // max(1, len(channels))
    picture = np.full((_HEIGHT, _WIDTH), _PAPER, np.float32)
    rows = np.arange(band)[:, None]
    for at, channel in enumerate(channels):
        values = np.nan_to_num(channel.astype(np.float64) / top)
        part = picture[at * band : (at + 1) * band]
        part[band // 2] = _ZERO_LINE
        if not len(values):
            continue
        starts = np.arange(_WIDTH) * len(values) // _WIDTH
        ends = np.maximum(starts + 1, np.append(starts[1:], len(values)))
        low = np.array([values[a:b].min() for a, b in zip(starts, ends, strict=True)])
        high = np.array([values[a:b].max() for a, b in zip(starts, ends, strict=True)])
        above, below = ((1 - v) / 2 * (band - 1) for v in (high, low))
        part[(rows >= np.floor(above)) & (rows <= np.ceil(below))] = _INK
    _draw_ticks(picture, _INK)
    return picture / np.float32(255)


def _spectrogram(bands: NDArray[Any]) -> NDArray[Any]:
    """Low frequencies below. Windows, and few bands, are repeated or picked to fit the picture."""
    count, windows = bands.shape
    if not count or not windows:
        return bands
    rows = max(count, _HEIGHT)
    up = np.arange(rows)[::-1] * count // rows
    along = np.arange(_WIDTH) * windows // _WIDTH
    picture = np.array(bands[up][:, along])
    finite = picture[np.isfinite(picture)] if picture.dtype.kind == "f" else picture
    if finite.size:
        _draw_ticks(picture, finite.max())
    return picture


def _draw_ticks(picture: NDArray[Any], ink: Any) -> None:
    """Ticks at the left and the lower edge, at quarters of the axes."""
    height, width = picture.shape
    for part in range(1, _TICKS):
        picture[height * part // _TICKS, :_TICK] = ink
        picture[-_TICK:, width * part // _TICKS] = ink


# Sequences and sounds as pictures: the frames of each side by side, in lines, or a curve.
#
# Runs inside the worker process only.

MOST_FRAMES = 16
"""Shown of one sequence on a tile: of longer ones frames at equal distances."""


def is_sequence(batch: Batch) -> bool:
    """Whether each sample is a sequence of pictures: FHWC, FCHW or FHW."""
    return sorted(batch.layout) in (sorted("FHWC"), sorted("FHW")) and batch.layout[0] == "F"


def as_pictures(batch: Batch, kind: PortKind = "any") -> Batch:
    """Of sequences one picture each, on the host, in the order of axes that a frame has.

    Of sounds their pictures, in grey: ``kind`` is that of the port.

    Other batches are given back as they are. A sequence without a frame stays as it is, which is no
    picture.
    """
    if is_sound(batch, kind):
        return _batch(sound_pictures(batch), "HW")
    if not is_sequence(batch) or any(0 in shape for shape in batch.shapes):
        return batch
    return _batch([_strip(array, batch.layout[1:]) for array in batch.arrays()], batch.layout[1:])


def one_frame(batch: Batch, frame: int) -> Batch:
    """Frame ``frame`` (from 0) of each sequence, on the host. Raises GraphError with their number.

    Batches of pictures are given back as they are.
    """
    if not is_sequence(batch):
        return batch
    count = min(shape[0] for shape in batch.shapes)
    if not 0 <= frame < count:
        raise GraphError(f"There is no frame {frame}. Give 0 to {count - 1}.")
    return _batch([array[frame] for array in batch.arrays()], batch.layout[1:])


def value_layout(batch: Batch) -> str:
    """What each axis is, frames included. Raises GraphError for what is no picture."""
    return batch.layout if is_sequence(batch) else picture_layout(batch)


def shown_frames(count: int) -> list[int]:
    """The frames that stand in the picture of a sequence of so many."""
    if count <= MOST_FRAMES:
        return list(range(count))
    return [round(i * (count - 1) / (MOST_FRAMES - 1)) for i in range(MOST_FRAMES)]


def _strip(sequence: NDArray[Any], layout: str) -> NDArray[Any]:
    """The frames in lines that come nearest to a square; what is left over of it is 0."""
    frames = sequence[shown_frames(len(sequence))]
    at = {axis: 1 + layout.index(axis) for axis in layout}
    height, width = frames.shape[at["H"]], frames.shape[at["W"]]
    count = len(frames)
    in_line = min(range(1, count + 1), key=lambda n: max(n * width, math.ceil(count / n) * height))
    lines = math.ceil(count / in_line)
    rows = frames.transpose([0, at["H"], at["W"], *([at["C"]] if "C" in at else [])])
    sheet = np.zeros((lines * in_line, *rows.shape[1:]), frames.dtype)
    sheet[:count] = rows
    sheet = sheet.reshape(lines, in_line, *rows.shape[1:]).swapaxes(1, 2)
    picture = sheet.reshape(lines * height, in_line * width, *rows.shape[3:])
    order = [("HWC" if "C" in at else "HW").index(axis) for axis in layout]
    return np.ascontiguousarray(picture.transpose(order))


def _batch(arrays: list[NDArray[Any]], layout: str) -> Batch:
    from nvidia.dali.tensors import TensorCPU, TensorListCPU

    return Batch(
        TensorListCPU([TensorCPU(np.ascontiguousarray(a), layout) for a in arrays], layout)
    )
