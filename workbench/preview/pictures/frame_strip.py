"""Sequences and sounds as pictures: the frames of each side by side, in lines, or a curve.

Runs inside the worker process only.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import PortKind
from workbench.engine.resources.batch_store import Batch
from workbench.errors import GraphError
from workbench.preview.pictures.sound_pictures import is_sound, sound_pictures
from workbench.preview.pictures.tiles import picture_layout

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
