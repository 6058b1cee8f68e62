"""Payloads of the preview and the cards: headers of their pictures, and related data."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

from workbench.engine.resources.process_memory import MemoryUse
from workbench.graph.variants.difference import GraphDifference
from workbench.preview.requests.branches import Augmentation, Branch
from workbench.preview.requests.statistics import ChannelStatistics, Histogram, OutputStatistics

PAYLOADS = (
    Augmentation, Branch, ChannelStatistics, GraphDifference, Histogram, MemoryUse,
    OutputStatistics,
)  # fmt: skip
"""Dataclasses of other modules that are sent unchanged."""


class NameEntry(TypedDict):
    """Class name on a mask. ``x`` and ``y`` are fractions of the picture's sides."""

    text: str
    colour: int
    x: float
    y: float


class MarkEntry(TypedDict):
    """Box, point (both corners equal), outline, or mask on a picture."""

    corners: list[float]
    """Left, top, right, bottom, as fractions of the picture's sides."""
    text: str
    """Name of the annotation's class."""
    colour: int
    """Colour index, equal for equal classes."""
    mask: str
    """URL of the mask, which covers the whole picture; empty for boxes and points."""
    outline: list[float]
    """x and y of the vertices as fractions; empty for boxes, points and masks."""
    left: bool
    """True if the point is outside the picture."""
    names: list[NameEntry]


class TileEntry(TypedDict):
    """Sample of the preview. Rectangles are [x, y, w, h] in pixels of the sheet."""

    index: int
    file: str
    label: str
    class_name: str
    """Class name of the label, or the label itself if it has no name."""
    shape: str
    """Shape of the augmented output: ``3×224×224 f32``."""
    draws: list[str]
    """Random values as texts: ``angle -7.2``, ``mirror yes``."""
    notes: list[str]
    """Remarks, such as a random variant of a repeated photo, or the size of the difference."""
    branches: list[str]
    """Block bodies that ran for the sample, such as ``branch.then``."""
    augmentations: list[str]
    """Keys of the augmentations chosen by automatic augmentation."""
    applied: list[str]
    """Texts of the augmentations chosen by automatic augmentation: ``rotate -27, equalize``."""
    targets: list[str]
    """Annotations that cannot be drawn: ``image_ids 17``, ``labels cat 0.70, dog 0.30``."""
    error: str
    """Why this sample cannot be shown; empty if it can be."""
    warning: str
    """Warning about a file that DALI decodes, such as a truncated file; else empty."""
    original: list[int]
    augmented: list[list[int]]
    """Rectangle of each image output of the graph (two for a graph with two views)."""
    marks: list[list[MarkEntry]]
    """Annotations on ``original``, if it is displayed, and on each of ``augmented``; empty if there
    are none."""


class SheetHeader(TypedDict):
    """JSON header before the bytes of the picture."""

    mime: str
    sheet: list[int]
    """[width, height] in pixels."""
    tiles: list[TileEntry]
    outputs: list[str]
    """Names of the image outputs."""
    note: str
    """How values are displayed, such as ``shown de-normalised``; may be empty."""
    batch: int
    milliseconds: float
    of: int
    """Number of samples in the batch. The tiles are the first of these."""
    repeat: int
    """Index of the photo that is repeated in the whole batch, as requested; -1 for none."""
    baseline: list[str]
    """For a difference, the ``node.output`` that each output is compared with."""
    reran: list[str]
    """Ids of the nodes that had to run."""
    tile: int
    branches: list[Branch]
    """All bodies of the graph's blocks. Nested bodies follow the body that contains them."""
    augmentations: list[Augmentation]
    """All augmentations that automatic augmentation may choose."""
    memory: NotRequired[MemoryUse]


class VerifiedEntry(TypedDict):
    """Result of comparing the preview with the exported script, bit for bit."""

    state: Literal["none", "running", "identical", "different", "failed", "stopped"]
    text: str
    """Result as text: ``identical to export``, ``3 of 192 samples differ``, or why nothing was
    compared."""
    detail: list[str]
    """Description of what was compared; if there are differences, one line each."""
    share: float
    stale: bool
    """Whether the graph or the data has changed since the comparison."""


class ComparisonChoice(TypedDict):
    """Graph that the current one can be compared with."""

    id: str
    group: str
    """Group of the choice in the list; empty for none."""
    label: str


class ComparisonEntry(TypedDict):
    """Comparison with another graph."""

    name: str
    error: str
    """Why there are no pictures of the other graph; else empty."""
    rows: list[GraphDifference]
    """Differences from the other graph to the current one."""
    more: int
    remarks: list[str]
    """Remarks about changed seeds and different random values."""
    distances: list[str]
    """Mean absolute pixel difference of each tile, on a scale of 0 to 255: ``Δ 3.2``."""
    pending: bool


class SavedSampleEntry(TypedDict):
    """Saved sample."""

    text: str
    """Description of the sample, such as ``seed 42, batch 3, sample 5``."""
    note: str
    """File of the sample, or the user's note."""
    whole: bool
    """True for a whole batch."""
    shown: bool
    """True if the sample is currently shown."""


class BodyShareEntry(TypedDict):
    """How often a body of a block ran."""

    body: str
    text: str
    """Name of the body, such as ``branch: then``."""
    count: int
    share: float | None
    """Fraction of the samples that reached the block; None if there are none."""
    low: float
    high: float
    """Upper end of the 99 % confidence interval of ``share``; ``low`` is the lower end."""
    asked: float | None
    """Expected probability; None if it is not constant."""
    agrees: bool
    """Whether the confidence interval contains the expected probability."""


class BlockSharesEntry(TypedDict):
    """Block and the number of samples that reached it."""

    block: str
    scope: str
    """Body that contains the block, such as ``branch.then``; empty for the graph itself."""
    samples: int
    bodies: list[BodyShareEntry]
    in_turns: bool
    """Whether a sample is counted in each repetition of the surrounding block."""


class InspectedSharesEntry(TypedDict):
    """How often each body of the inspected block ran."""

    shown: dict[str, int]
    """Number of samples of the current batch that reached each body, by body."""
    shown_of: int
    """Number of samples of the current batch that reached the block."""
    counted: list[BodyShareEntry]
    """Counts over many batches; empty if none were counted."""
    batches: int
    counting: bool


class BranchSharesEntry(TypedDict):
    """Counts over many batches, starting with batch 0."""

    blocks: list[BlockSharesEntry]
    batches: int
    samples: int
    """Number of samples in the counted batches."""
    wanted: int
    """Number of batches to count."""
    reads: bool
    """Whether the condition depends on the data, so that each batch has to be read."""
    counting: bool
    error: str
    """Why the samples could not be counted; else empty."""


class CloseupHeader(TypedDict):
    """JSON header before the PNG of a sample in its own size."""

    index: int
    of: str
    """Output that the picture shows: ``original`` or the name of an output."""
    choices: list[str]
    """Names of the other pictures that can be shown."""
    size: list[int]
    """[width, height] of the picture in pixels."""
    full: list[int]
    """[width, height] of the sample in pixels; the picture may be smaller."""
    note: str
    frames: int
    """Number of frames of a sequence; 0 for an image."""
    frame: int
    """Index of the displayed frame; -1 for all frames, next to each other."""
    error: str
    """Why there is no picture; else empty."""


class ValuesHeader(TypedDict):
    """JSON header before the values of a region, row by row, channels last.

    ``store`` is the little-endian type in which they are sent (``f4``, ``u1``, ...), ``dtype``
    their type in the pipeline. ``x``, ``y`` and ``region`` ([width, height]) are in pixels of the
    sample. If there is an ``error``, the region is empty, and ``x``, ``y`` are the requested pixel.
    """

    index: int
    of: str
    frame: int
    """Index of the frame; -1 for all frames, next to each other."""
    x: int
    y: int
    region: list[int]
    channels: int
    store: Literal["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"]
    dtype: str
    error: str
    """Why there are no values; else empty."""


class StepOutputEntry(TypedDict):
    """Value of one output of a node for the sample."""

    name: str
    kind: str
    shape: str
    """Shape of the output: ``224×224×3``."""
    dtype: str
    layout: str
    device: Literal["cpu", "gpu"]
    values: str
    """Minimum and maximum, ``0 … 255``; may be empty."""
    box: list[int]
    """Rectangle in the sheet, [x, y, w, h]; empty if the output is not an image."""
    note: str
    text: str
    """Value of the output, if it is not an image."""
    histogram: NotRequired[Histogram]


class StepEntry(TypedDict):
    """One node with its outputs for the sample."""

    node: str
    op: str
    device: Literal["cpu", "gpu", "mixed"]
    outputs: list[StepOutputEntry]
    draws: list[str]
    drawn: bool
    """True if the node also uses internal random values, which DALI does not expose."""
    milliseconds: float | None
    untimed: str
    """Why the node has no time; empty if it has one or is being measured."""


class CardEntry(TypedDict):
    """Output of a node for the selected sample."""

    id: str
    box: list[int]
    """Rectangle of the node's picture in the sheet, [x, y, w, h]; empty if there is none."""
    text: str
    """Value of the node's output, if it has no picture; may be empty."""
    draws: list[str]
    """Random values of its arguments as texts, such as ``angle -7.24``."""
    branches: list[str]
    """Bodies of a block that ran for the sample, in any repetition."""


class CardsHeader(TypedDict):
    """JSON header before the pictures of all cards for one sample of the batch."""

    mime: str
    sheet: list[int]
    cards: list[CardEntry]
    index: int
    samples: int
    file: str
    error: str
    warning: str


class EffectEntry(TypedDict):
    """Picture of the sample with other values of the varied arguments."""

    values: list[Any]
    """Complete value of each argument."""
    shown: list[Any]
    """Varied part of each value: one element of a list, or the number that all elements have."""
    box: list[int]
    """[x, y, w, h] in pixels of the sheet; empty if there is no picture."""
    error: str
    """Why there is no picture; else empty."""


class EffectHeader(TypedDict):
    """JSON header before the pictures of one sample with other values of a node's arguments."""

    mime: str
    sheet: list[int]
    node: str
    args: list[str]
    """Names of the varied arguments: ``angle``, or an element of a list, ``size.h``."""
    columns: int
    pictures: list[EffectEntry]
    """Pictures row by row. The values of the first argument change by column, of the second by row.
    """
    note: str
    """Text that names arguments without effect; else empty."""
    error: str
    """Why there are no pictures; else empty."""


class PolicyPicture(TypedDict):
    """The selected sample after one sub-policy, with all its operations applied."""

    sub_policy: list[Any]
    box: list[int]
    """Rectangle in the sheet, [x, y, w, h]; empty if there is an ``error``."""
    error: str


class PolicyHeader(TypedDict):
    """JSON header before the pictures of the visible sub-policies."""

    mime: str
    sheet: list[int]
    node: str
    pictures: list[PolicyPicture]
    error: str
    """Why there are no pictures; else empty."""


class DetailHeader(TypedDict):
    """JSON header before the pictures of one node's outputs for one sample."""

    mime: str
    sheet: list[int]
    steps: list[StepEntry]
    """Entry of the node; empty if there is an ``error``."""
    node: str
    file: str
    error: str
    samples: int
    """Number of samples in the timed batch."""
    timing: str
    """Description of what was measured and how; empty until the time is known."""
    floor: float | None
    """Milliseconds that an empty pipeline takes."""
