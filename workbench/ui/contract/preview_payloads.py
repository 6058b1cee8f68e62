"""What the preview and the cards show: the headers of their pictures, and what stands beside them.

A part of the contract that ``payloads.py`` begins.
"""

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
"""Dataclasses of other parts of the workbench that are sent as they are."""


class NameEntry(TypedDict):
    """A name on a mask, at a pixel of what it names: x and y as shares of the picture's sides."""

    text: str
    colour: int
    x: float
    y: float


class MarkEntry(TypedDict):
    """A box over a picture, or a point where its corners are one, or an outline, or a mask."""

    corners: list[float]
    """Left, top, right, bottom, as shares of the picture's sides."""
    text: str
    """The name of its class."""
    colour: int
    """The same number for the same class."""
    mask: str
    """The address of the mask's picture, which lies over all of it; empty for boxes and points."""
    outline: list[float]
    """x and y of one vertex after another, as such shares; empty for boxes, points and masks."""
    left: bool
    """Whether it is a point that has left the picture."""
    names: list[NameEntry]
    """Those that stand on a mask."""


class TileEntry(TypedDict):
    """One sample of the preview. Rectangles are [x, y, w, h] in pixels of the sheet."""

    index: int
    file: str
    label: str
    class_name: str
    """What the label stands for, or the label where it has no name."""
    shape: str
    """Of the augmented output: ``3×224×224 f32``."""
    draws: list[str]
    """``angle -7.2``, ``mirror yes``."""
    notes: list[str]
    """What else is to be known: that it is one draw of many, how large its difference is."""
    branches: list[str]
    """The scopes of the bodies of blocks that ran for it."""
    augmentations: list[str]
    """The keys of what it got where automatic augmentation chose."""
    applied: list[str]
    """The same in words: ``rotate -27, equalize``."""
    targets: list[str]
    """Those that have no place on a picture: ``image_ids 17``, ``labels cat 0.70, dog 0.30``."""
    error: str
    """Why this sample could not be shown; empty where it could."""
    warning: str
    """What is odd in its file though DALI decodes it, such as an early end; else empty."""
    original: list[int]
    augmented: list[list[int]]
    """One rectangle for each image output of the graph (two for two views)."""
    marks: list[list[MarkEntry]]
    """Boxes and points on ``original``, where it is there, and on each of ``augmented``; empty
    where there are none."""


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
    branches: list[Branch]
    """All bodies of the graph's blocks, those of a nested block behind its own."""
    augmentations: list[Augmentation]
    """All that the graph's automatic augmentations may choose."""
    memory: NotRequired[MemoryUse]


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


class ComparisonChoice(TypedDict):
    """A graph that the present one may be compared with."""

    id: str
    group: str
    """Empty: of no group."""
    label: str


class ComparisonEntry(TypedDict):
    """The other graph beside the present one."""

    name: str
    error: str
    """Why there are no pictures of it; empty where there are."""
    rows: list[GraphDifference]
    """What leads from the other graph to the present one."""
    more: int
    """Rows that are not listed."""
    remarks: list[str]
    """Where seeds were taken over, and where draws cannot be the same."""
    distances: list[str]
    """By tile, the mean absolute difference of the pixels as shown, of 255: ``Δ 3.2``."""
    pending: bool


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


class BodyShareEntry(TypedDict):
    """How often a body of a block ran."""

    body: str
    text: str
    """As of a ``Branch``."""
    count: int
    share: float | None
    """Share of the samples that reached the block; None without any."""
    low: float
    high: float
    """The ends of its 99 % interval."""
    asked: float | None
    """The probability with which it is to run; None where no written one decides."""
    agrees: bool
    """Whether the interval holds what was asked for."""


class BlockSharesEntry(TypedDict):
    """A block and the number of samples that reached it."""

    block: str
    scope: str
    """Of the body in which it stands; empty: of none."""
    samples: int
    bodies: list[BodyShareEntry]
    in_turns: bool
    """Whether a sample counts in each turn of the repetition around it."""


class InspectedSharesEntry(TypedDict):
    """How often each body of the inspected block ran."""

    shown: dict[str, int]
    """Of each body the samples of the shown batch that came to it."""
    shown_of: int
    """Samples of the shown batch that came to the block."""
    counted: list[BodyShareEntry]
    """Over many batches; empty while none were counted."""
    batches: int
    counting: bool


class BranchSharesEntry(TypedDict):
    """What was counted over many batches, from 0 on."""

    blocks: list[BlockSharesEntry]
    batches: int
    samples: int
    """In these batches."""
    wanted: int
    """Batches that are to be counted."""
    reads: bool
    """Whether data decide, so that each batch has to be read."""
    counting: bool
    error: str
    """Why they could not be counted; else empty."""


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
    frames: int
    """Of the sequence that the sample is; 0 where it is a picture."""
    frame: int
    """The one that is shown; -1: all, side by side."""
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
    frame: int
    """As of ``CloseupHeader``."""
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
    histogram: NotRequired[Histogram]


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


class CardEntry(TypedDict):
    """What one node gave for the chosen sample."""

    id: str
    """The node's."""
    box: list[int]
    """Its picture's place in the sheet, [x, y, w, h]; empty where it gives none."""
    text: str
    """A value, where it gives no picture; may be empty."""
    draws: list[str]
    """``angle -7.24``"""
    branches: list[str]
    """The bodies of a block that ran for the sample, in any turn."""


class CardsHeader(TypedDict):
    """The JSON header in front of the pictures of all cards: of one sample of the batch."""

    mime: str
    sheet: list[int]
    cards: list[CardEntry]
    index: int
    samples: int
    file: str
    error: str
    warning: str


class EffectEntry(TypedDict):
    """The sample with other values of the varied arguments."""

    values: list[Any]
    """One for each argument, as it would be set."""
    shown: list[Any]
    """What of it is varied: of a list an element, or the number that all of its elements are."""
    box: list[int]
    """[x, y, w, h] in pixels of the sheet; empty where there is no picture."""
    error: str
    """Why there is none."""


class EffectHeader(TypedDict):
    """The JSON header in front of the pictures of one sample with values of a node's arguments."""

    mime: str
    sheet: list[int]
    node: str
    args: list[str]
    """``angle``, of a list also an element: ``size.h``."""
    columns: int
    pictures: list[EffectEntry]
    """Row by row; the values of a second argument lead down."""
    note: str
    """Which of the arguments changes nothing here; else empty."""
    error: str
    """Why there are no pictures at all; else empty."""


class PolicyPicture(TypedDict):
    """The chosen sample after one sub-policy, each of its operations applied."""

    sub_policy: list[Any]
    box: list[int]
    """Its place in the sheet, [x, y, w, h]; empty where there is an ``error``."""
    error: str


class PolicyHeader(TypedDict):
    """The JSON header in front of the pictures of the sub-policies that are on the screen."""

    mime: str
    sheet: list[int]
    node: str
    pictures: list[PolicyPicture]
    error: str
    """Why there are no pictures at all; else empty."""


class DetailHeader(TypedDict):
    """The JSON header in front of the pictures of one node's outputs for one sample."""

    mime: str
    sheet: list[int]
    steps: list[StepEntry]
    """The one; none where there is an ``error``."""
    node: str
    file: str
    error: str
    samples: int
    """In the batch that was timed."""
    timing: str
    """What was measured, and how; empty while the time is not there yet."""
    floor: float | None
    """Milliseconds of a pipeline that does nothing."""
