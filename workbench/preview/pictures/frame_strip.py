"""Convert sequences and sounds to images: frames in a grid, waveforms, or spectrograms.

Used in the worker process only.
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
from workbench.preview.pictures.value_scaling import Scaling, min_max_scaling

# Sounds as images: waveforms over time; spectrograms with time on the x axis, frequency on y.
#
# Used in the worker process only.

_WIDTH, _HEIGHT = 256, 192
"""Size of a waveform image in pixels. Spectrograms have this width and at least this height."""
_TICKS = 4
"""Number of intervals into which ticks divide an axis."""
_TICK = 4
_MOST_CHANNELS = 8
_INK, _ZERO_LINE, _PAPER = 230, 90, 24


def is_sound(batch: Batch, kind: PortKind = "any") -> bool:
    """Return True if each sample is a waveform or a spectrogram.

    Spectrograms have the layout ``ft`` or ``tf``. Waveforms have no layout and are recognised by
    the port's ``kind``, because image operators can also produce samples with a single axis.
    """
    axes = {len(shape) for shape in batch.shapes}
    if not batch.dtype.startswith(("float", "int", "uint")):
        return False
    if axes == {1}:
        return kind in SHOWN_KINDS
    return axes == {2} and (sorted(batch.layout) == ["f", "t"] or kind == "sound")


def sound_pictures(batch: Batch) -> list[NDArray[Any]]:
    """Return an array (rows, columns) per sample: grey from 0 to 1, or spectrogram values."""
    if len(batch.shapes[0]) == 2 and batch.layout:
        across = batch.layout == "tf"
        return [_spectrogram(np.asarray(a).T if across else np.asarray(a)) for a in batch.arrays()]
    return [_wave(np.asarray(a)) for a in batch.arrays()]


def sound_scaling(batch: Batch) -> Scaling:
    """Return the display scaling: the fixed range of waveforms, or a spectrogram's own range."""
    if len(batch.shapes[0]) == 2 and batch.layout:
        return replace(min_max_scaling(batch.arrays()), note=axes_note(batch))
    return Scaling((255.0,), (0.0,), axes_note(batch))


def axes_note(batch: Batch) -> str:
    """Return a text that describes the axes of waveform or spectrogram images."""
    first = batch.shapes[0]
    if len(first) == 2 and batch.layout:
        windows = max(shape[batch.layout.index("t")] for shape in batch.shapes)
        bands = max(shape[batch.layout.index("f")] for shape in batch.shapes)
        return (
            f"along: {_maximum_text(batch, windows)} windows of time, up: {bands:,} bands of "
            "frequency"
        )
    longest = max(shape[0] for shape in batch.shapes)
    return f"along: {_maximum_text(batch, longest)} samples of time, up: amplitude"


def _maximum_text(batch: Batch, maximum: int) -> str:
    return f"{maximum:,}" if len({*batch.shapes}) == 1 else f"up to {maximum:,}"


def _wave(samples: NDArray[Any]) -> NDArray[np.float32]:
    """Draw a waveform, one band per channel. Each pixel column shows the range of its samples.

    The vertical range is that of the element type. For floats it is -1 to 1 or larger.
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
    """Draw a spectrogram with low frequencies at the bottom."""
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
    height, width = picture.shape
    for part in range(1, _TICKS):
        picture[height * part // _TICKS, :_TICK] = ink
        picture[-_TICK:, width * part // _TICKS] = ink


# Sequences and sounds as images: frames side by side in rows, or curves.
#
# Used in the worker process only.

MOST_FRAMES = 16
"""Maximum number of frames per tile. From longer sequences, frames at equal intervals are shown."""


def is_sequence(batch: Batch) -> bool:
    """Return True if each sample is an image sequence: FHWC, FCHW or FHW."""
    return sorted(batch.layout) in (sorted("FHWC"), sorted("FHW")) and batch.layout[0] == "F"


def as_pictures(batch: Batch, kind: PortKind = "any") -> Batch:
    """Convert each sequence to one image on the host, with its frames in a grid.

    Sounds become grey images; ``kind`` is the port's kind. Other batches are returned unchanged,
    and so are sequences without frames, which cannot be shown.
    """
    if is_sound(batch, kind):
        return _batch(sound_pictures(batch), "HW")
    if not is_sequence(batch) or any(0 in shape for shape in batch.shapes):
        return batch
    return _batch([_strip(array, batch.layout[1:]) for array in batch.arrays()], batch.layout[1:])


def one_frame(batch: Batch, frame: int) -> Batch:
    """Return frame ``frame`` (from 0) of each sequence, on the host.

    Batches of images are returned unchanged. Raises GraphError if there is no such frame.
    """
    if not is_sequence(batch):
        return batch
    count = min(shape[0] for shape in batch.shapes)
    if not 0 <= frame < count:
        raise GraphError(f"There is no frame {frame}. Use 0 to {count - 1}.")
    return _batch([array[frame] for array in batch.arrays()], batch.layout[1:])


def value_layout(batch: Batch) -> str:
    """Return the layout, such as ``HWC`` or ``FHWC``. Raises GraphError if there are no images."""
    return batch.layout if is_sequence(batch) else picture_layout(batch)


def shown_frames(count: int) -> list[int]:
    """Return the indices of the frames to show from a sequence of ``count`` frames."""
    if count <= MOST_FRAMES:
        return list(range(count))
    return [round(i * (count - 1) / (MOST_FRAMES - 1)) for i in range(MOST_FRAMES)]


def _strip(sequence: NDArray[Any], layout: str) -> NDArray[Any]:
    """Arrange the frames in a nearly square grid. Empty cells are 0."""
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
