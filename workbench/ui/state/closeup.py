"""Build payloads of the close-up of one sample: its picture and its pixel values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from workbench.errors import WorkbenchError
from workbench.graph.model import Source
from workbench.graph.types.devices import decodes
from workbench.graph.types.typed_graph import TypedGraph
from workbench.preview import Picture, Pixels
from workbench.sources import load_source
from workbench.ui.contract.encoding import empty, pack_payload
from workbench.ui.contract.preview_payloads import CloseupHeader, ValuesHeader

REGION = 256
"""Side in pixels of the region whose pixel values are sent. It covers a typical output and takes
0.8 MB as floats.
"""
NARROW_REGION = 32
"""Side in pixels of the region for images with many channels."""
_STORES = ("u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8")


@dataclass(frozen=True, slots=True)
class CloseupSample:
    """Sample and output that a close-up shows. ``of`` is ``original`` or the name of an output."""

    index: int
    of: str
    frame: int | None = None
    """Index of the frame of a sequence; None to show all frames next to each other."""


def closeup_choices(typed: TypedGraph) -> list[str]:
    """Return the pictures that a close-up can show: the image outputs, then ``original``."""
    original = any(
        (node.op in typed.catalog and decodes(typed.spec(node)))
        or (isinstance(node, Source) and "frames" in load_source(node.kind).outputs)
        for node in typed.graph.nodes
    )
    return [*typed.images, *(["original"] if original else [])]


def closeup_bytes(
    closeup: CloseupSample, choices: list[str], outcome: Picture | WorkbenchError
) -> bytes:
    """Return a ``CloseupHeader`` followed by the PNG (empty after an error), as bytes."""
    picture = outcome if isinstance(outcome, Picture) else None
    error = picture.sample.error if picture else str(outcome)
    header: CloseupHeader = {
        "index": closeup.index,
        "of": closeup.of,
        "choices": choices,
        "size": list(picture.size) if picture else [0, 0],
        "full": list(picture.full) if picture else [0, 0],
        "note": picture.note if picture else "",
        "frames": picture.frames if picture else 0,
        "frame": -1 if closeup.frame is None else closeup.frame,
        "error": error,
    }
    return pack_payload(header, picture.image if picture and not error else b"")


def region_around(x: int, y: int, side: int) -> tuple[int, int]:
    """Return the upper-left corner of a square centred on a pixel, clamped to (0, 0)."""
    return max(0, x - side // 2), max(0, y - side // 2)


def values_bytes(closeup: CloseupSample, pixels: Pixels) -> bytes:
    """Return a ``ValuesHeader`` followed by the pixel values, as bytes.

    Half floats, booleans and 64-bit integers are converted to types that browsers support.
    """
    values = pixels.values
    if values.dtype == np.float16:
        values = values.astype(np.float32)
    elif values.dtype == np.bool_:
        values = values.astype(np.uint8)
    elif values.dtype.kind in "iu" and values.dtype.itemsize == 8:
        values = values.astype(np.float64)
    store = values.dtype.str[1:]
    assert store in _STORES, store
    header: ValuesHeader = {
        "index": closeup.index,
        "of": closeup.of,
        "frame": -1 if closeup.frame is None else closeup.frame,
        "x": pixels.x,
        "y": pixels.y,
        "region": [values.shape[1], values.shape[0]],
        "channels": values.shape[2],
        "store": cast(Any, store),
        "dtype": pixels.dtype,
        "error": "",
    }
    little = values.astype(values.dtype.newbyteorder("<"), copy=False)
    return pack_payload(header, little.tobytes())


def no_values_bytes(closeup: CloseupSample, pixel: tuple[int, int], reason: str) -> bytes:
    """Return a ``ValuesHeader`` with the reason why pixel ``pixel`` has no values, as bytes."""
    frame = -1 if closeup.frame is None else closeup.frame
    header = empty(
        ValuesHeader,
        index=closeup.index,
        of=closeup.of,
        frame=frame,
        x=pixel[0],
        y=pixel[1],
        region=[0, 0],
        error=reason,
    )
    return pack_payload(header, b"")
