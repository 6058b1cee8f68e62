"""What the preview and the steps show: the headers of their pictures, and what stands beside them.

A part of the contract that ``views.py`` begins.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class TileEntry(TypedDict):
    """One sample of the preview. Rectangles are [x, y, w, h] in pixels of the sheet."""

    index: int
    file: str
    label: str
    shape: str
    """Of the augmented output: ``3×224×224 f32``."""
    draws: list[str]
    """``angle -7.2``, ``mirror yes``."""
    notes: list[str]
    """What else is to be known: that it is one draw of many, how large its difference is."""
    error: str
    """Why this sample could not be shown; empty where it could."""
    warning: str
    """What is odd in its file though DALI decodes it, such as an early end; else empty."""
    original: list[int]
    augmented: list[list[int]]
    """One rectangle for each image output of the graph (two for two views)."""


class MemoryEntry(TypedDict):
    """Bytes that the worker keeps between changes, and may keep; ``resident`` is all it takes."""

    host: int
    host_budget: int
    gpu: int
    gpu_budget: int
    resident: int


class SheetHeader(TypedDict):
    """The JSON header in front of the picture's bytes."""

    mime: str
    sheet: list[int]
    """[width, height] in pixels."""
    tiles: list[TileEntry]
    outputs: list[str]
    """Names of the image outputs."""
    note: str
    """``shown de-normalised``, or empty."""
    batch: int
    milliseconds: float
    of: int
    """Samples in the batch, of which the tiles are the first."""
    repeat: int
    """The photo at this place stands at every place, as it was asked for; -1: each at its own."""
    baseline: list[str]
    """For a difference, what each output is compared with: ``node.output``."""
    reran: list[str]
    """The nodes that had to run."""
    tile: int
    """Side of a tile in pixels."""
    memory: NotRequired[MemoryEntry]


class VerifiedEntry(TypedDict):
    """Whether the preview is what the exported script gives, bit for bit."""

    state: Literal["none", "running", "identical", "different", "failed", "stopped"]
    text: str
    """``identical to export``, ``3 of 192 samples differ``, why it could not be found out."""
    detail: list[str]
    """What was compared; where it differs, one line for each place."""
    share: float
    """What is done of it, 0 to 1."""
    stale: bool
    """Whether the graph or the data have changed since."""


class SavedDrawEntry(TypedDict):
    """A draw that was kept."""

    text: str
    """``seed 42, batch 3, sample 5``."""
    note: str
    """The file, or what was written."""
    whole: bool
    """Whether it is a whole batch, not one sample of it."""
    shown: bool
    """Whether it is the one on the screen."""


class ChannelStatistics(TypedDict):
    """One channel of a batch: the bins of its histogram, and figures of its finite values."""

    counts: list[int]
    mean: float | None
    deviation: float | None
    smallest: float | None
    largest: float | None
    not_finite: int


class StatisticsEntry(TypedDict):
    """The values of one image output of a batch; ``low`` and ``high`` are the axis' ends."""

    output: str
    dtype: str
    low: float
    high: float
    channels: list[ChannelStatistics]
    samples: int
    hint: str
    """What looks wrong, or empty."""


class CloseupHeader(TypedDict):
    """The JSON header in front of one sample's picture at its own size, a PNG."""

    index: int
    of: str
    """``original`` or an output's name."""
    choices: list[str]
    """What may be looked at in its place."""
    size: list[int]
    """[width, height] of the picture."""
    full: list[int]
    """[width, height] of the sample: the picture may be smaller."""
    note: str
    error: str
    """Why there is no picture; empty where there is one."""


class ValuesHeader(TypedDict):
    """The JSON header in front of the values of a region, row by row, channels last.

    ``store`` says how they are written, little-endian: ``f4``, ``u1``, ...; ``dtype`` what they
    are in the pipeline. ``x``, ``y`` and ``region`` ([width, height]) are in pixels of the sample.
    Where there is an ``error``, the region is empty and ``x``, ``y`` the pixel that was asked for.
    """

    index: int
    of: str
    x: int
    y: int
    region: list[int]
    channels: int
    store: Literal["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"]
    dtype: str
    error: str
    """Why there are no values; empty where there are."""


class StepOutputEntry(TypedDict):
    """What one output of a node holds for the sample."""

    name: str
    kind: str
    shape: str
    """``224×224×3``."""
    dtype: str
    layout: str
    device: Literal["cpu", "gpu"]
    values: str
    """``0 … 255``; empty where there is nothing to say."""
    box: list[int]
    """Its place in the sheet, [x, y, w, h]; empty where it is no picture."""
    note: str
    text: str
    """What it holds, where it is no picture."""


class StepEntry(TypedDict):
    """One node."""

    node: str
    op: str
    device: Literal["cpu", "gpu", "mixed"]
    outputs: list[StepOutputEntry]
    draws: list[str]
    drawn: bool
    """Whether it draws by itself too, with DALI showing no value."""
    milliseconds: float | None
    untimed: str
    """Why it has no time; empty where it has one, or will have one soon."""


class StepsHeader(TypedDict):
    """The JSON header in front of the pictures of one sample's way through the graph."""

    mime: str
    sheet: list[int]
    steps: list[StepEntry]
    index: int
    samples: int
    batch: int
    file: str
    error: str
    warning: str
    timing: str
    """What was measured, and how; empty while the times are not there yet."""
    floor: float | None
    """Milliseconds of a pipeline that does nothing."""
