"""Payloads of the preview and the node cards: headers of pictures, and related data."""

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
"""Dataclasses of other modules that are sent to the browser unchanged."""


class NameEntry(TypedDict):
    """Class name drawn on a mask at ``x`` and ``y``, as fractions of the picture's sides."""

    text: str
    colour: int
    x: float
    y: float


class MarkEntry(TypedDict):
    """Annotation drawn on a picture: box, point (corners are equal), outline or mask."""

    corners: list[float]
    """Left, top, right, bottom, as fractions of the picture's sides."""
    text: str
    """Class name of the annotation."""
    colour: int
    """Index of the colour. Annotations of the same class have the same colour."""
    mask: str
    """URL of the mask, which covers the whole picture; empty for boxes and points."""
    outline: list[float]
    """x and y of each vertex as fractions of the picture's sides; empty for other annotations."""
    left: bool
    """True if the point is outside the picture."""
    names: list[NameEntry]


class TileEntry(TypedDict):
    """Sample in the preview. Rectangles are [x, y, w, h] in pixels of the contact sheet."""

    index: int
    file: str
    label: str
    class_name: str
    """Class name of the sample's label, or the label itself if it has no name."""
    shape: str
    """Shape and type of the augmented output: ``3×224×224 f32``."""
    draws: list[str]
    """Random values of the sample as texts: ``angle -7.2``, ``mirror yes``."""
    notes: list[str]
    """Remarks on the sample, such as the size of the difference."""
    branches: list[str]
    """Block bodies that ran for the sample, such as ``branch.then``."""
    augmentations: list[str]
    """Keys (``node.name``) of the augmentations that automatic augmentation chose."""
    applied: list[str]
    """Descriptions of the augmentations that automatic augmentation chose: ``rotate -27,
    equalize``.
    """
    targets: list[str]
    """Values of annotations that cannot be drawn: ``image_ids 17``, ``labels cat 0.70, dog
    0.30``.
    """
    error: str
    """Reason why the sample cannot be shown; empty if it can."""
    warning: str
    """Warning about a damaged file that DALI decodes, such as a truncated one; empty if
    there is none.
    """
    original: list[int]
    augmented: list[list[int]]
    """Rectangle of each image output, for example of both views for contrastive learning."""
    marks: list[list[MarkEntry]]
    """Annotations on the original, if it is displayed, followed by the annotations on each
    augmented image.
    """


class SheetHeader(TypedDict):
    """JSON header before the bytes of a contact sheet."""

    mime: str
    sheet: list[int]
    """[width, height] of the contact sheet in pixels."""
    tiles: list[TileEntry]
    outputs: list[str]
    """Names of the graph's image outputs."""
    note: str
    """Note on how values are displayed, such as ``shown de-normalised``; empty if there is none."""
    batch: int
    milliseconds: float
    of: int
    """Number of samples in the batch. The sheet may show only the first samples."""
    repeat: int
    """Index of the photo that is repeated in the whole batch; -1 if no photo is repeated."""
    baseline: list[str]
    """Port (``node.output``) that each image output is compared with, if differences are shown."""
    reran: list[str]
    """Ids of the nodes that ran for this picture; the outputs of all other nodes were cached."""
    tile: int
    branches: list[Branch]
    """All bodies of the graph's blocks; a nested body follows the body that contains it."""
    augmentations: list[Augmentation]
    """All augmentations that automatic augmentation may choose."""
    memory: NotRequired[MemoryUse]


class VerifiedEntry(TypedDict):
    """Result of comparing the preview with the exported script, bit for bit."""

    state: Literal["none", "running", "identical", "different", "failed", "stopped"]
    text: str
    """``identical to export``, ``3 of 192 samples differ``, or the reason why nothing was
    compared.
    """
    detail: list[str]
    """Lines that describe what was compared, and each difference."""
    share: float
    stale: bool
    """True if the graph or its data changed after the comparison."""


class ComparisonChoice(TypedDict):
    """Graph that the current graph can be compared with."""

    id: str
    group: str
    """Heading of the choice in the list; empty for none."""
    label: str


class ComparisonEntry(TypedDict):
    """Comparison of the current graph with another graph."""

    name: str
    error: str
    """Reason why there are no pictures of the other graph; empty if there are."""
    rows: list[GraphDifference]
    """Differences between the other graph (old) and the current graph (new)."""
    more: int
    remarks: list[str]
    """Remarks on changed seeds and on random values that differ."""
    distances: list[str]
    """Mean absolute pixel difference of each tile, on a scale of 0 to 255: ``Δ 3.2``."""
    pending: bool


class SavedSampleEntry(TypedDict):
    """Sample or batch that the user saved in the graph's file."""

    text: str
    """Description of the sample, such as ``seed 42, batch 3, sample 5``."""
    note: str
    """The user's note, by default the file name of the sample."""
    whole: bool
    """True if a whole batch was saved."""
    shown: bool
    """True if the preview currently shows the sample."""


class BodyShareEntry(TypedDict):
    """How often a body of a block ran."""

    body: str
    text: str
    """Name of the body, such as ``branch: then``."""
    count: int
    share: float | None
    """Fraction of the samples in the block that ran this body; None if no sample reached the block.
    """
    low: float
    high: float
    """Upper end of the 99 % confidence interval of ``share``; ``low`` is the lower end."""
    asked: float | None
    """Expected probability of the body; None if it is not constant."""
    agrees: bool
    """True if the confidence interval contains the expected probability."""


class BlockSharesEntry(TypedDict):
    """How often each body of a block ran, and the number of samples that reached the block."""

    block: str
    scope: str
    """Body that contains the block, such as ``branch.then``; empty for the top level."""
    samples: int
    bodies: list[BodyShareEntry]
    in_turns: bool
    """True if the block is in a ``repeat``; a sample is then counted once per repetition."""


class InspectedSharesEntry(TypedDict):
    """How often each body of the inspected block ran."""

    shown: dict[str, int]
    """Number of samples of the current batch that ran each body, by body name."""
    shown_of: int
    """Number of samples of the current batch that reached the block."""
    counted: list[BodyShareEntry]
    """How often each body ran in many batches; empty if this was not counted."""
    batches: int
    counting: bool


class BranchSharesEntry(TypedDict):
    """How often the bodies of all blocks ran in many batches, starting with batch 0."""

    blocks: list[BlockSharesEntry]
    batches: int
    samples: int
    """Number of samples in the counted batches."""
    wanted: int
    """Number of batches to count."""
    reads: bool
    """True if a condition depends on the data, so that each batch has to be read."""
    counting: bool
    error: str
    """Reason why the samples could not be counted; empty if they could."""


class CloseupHeader(TypedDict):
    """JSON header before the PNG of one sample in its original size."""

    index: int
    of: str
    """Picture that is shown: ``original`` or the name of an output."""
    choices: list[str]
    """Pictures that can be shown."""
    size: list[int]
    """[width, height] of the picture in pixels."""
    full: list[int]
    """[width, height] of the sample in pixels; the picture may be smaller."""
    note: str
    frames: int
    """Number of frames of a video sample; 0 for an image."""
    frame: int
    """Index of the displayed frame; -1 if all frames are shown next to each other."""
    error: str
    """Reason why there is no picture; empty if there is one."""


class ValuesHeader(TypedDict):
    """JSON header before the pixel values of a region, row by row, channels last.

    ``dtype`` is the type of the values in the pipeline, and ``store`` the little-endian type in
    which they are sent (``f4``, ``u1``, ...). ``x``, ``y`` and ``region`` ([width, height]) are in
    pixels of the sample. If there is an ``error``, the region is empty, and ``x``, ``y`` is the
    requested pixel.
    """

    index: int
    of: str
    frame: int
    """Index of the frame; -1 if all frames are next to each other."""
    x: int
    y: int
    region: list[int]
    channels: int
    store: Literal["u1", "i1", "u2", "i2", "u4", "i4", "f4", "f8"]
    dtype: str
    error: str
    """Reason why there are no values; empty if there are."""


class StepOutputEntry(TypedDict):
    """One output of a node for the sample: its picture or value, with shape and type."""

    name: str
    kind: str
    shape: str
    """Shape of the output: ``224×224×3``."""
    dtype: str
    layout: str
    device: Literal["cpu", "gpu"]
    values: str
    """Minimum and maximum of the output, ``0 … 255``; empty if unknown."""
    box: list[int]
    """Rectangle of the image in the sheet, [x, y, w, h]; empty if the output is not an image."""
    note: str
    text: str
    """Value of the output as text, if it is not an image."""
    histogram: NotRequired[Histogram]


class StepEntry(TypedDict):
    """A node and its outputs for the sample."""

    node: str
    op: str
    device: Literal["cpu", "gpu", "mixed"]
    outputs: list[StepOutputEntry]
    draws: list[str]
    drawn: bool
    """True if the node also uses random values that DALI does not return."""
    milliseconds: float | None
    untimed: str
    """Reason why the node was not timed; empty if it was or is being timed."""


class CardEntry(TypedDict):
    """Output of one node for the sample on the cards."""

    id: str
    box: list[int]
    """Rectangle of the node's picture in the sheet, [x, y, w, h]; empty if there is none."""
    text: str
    """Value of the node's output as text, if it has no picture."""
    draws: list[str]
    """Random values of the node's arguments as texts, such as ``angle -7.24``."""
    branches: list[str]
    """Bodies of the block that ran for the sample, in any repetition."""


class CardsHeader(TypedDict):
    """JSON header before the pictures of all cards, for one sample of the batch."""

    mime: str
    sheet: list[int]
    cards: list[CardEntry]
    index: int
    samples: int
    file: str
    error: str
    warning: str


class EffectEntry(TypedDict):
    """Picture of the sample for one combination of argument values."""

    values: list[Any]
    """Complete value of each varied argument."""
    shown: list[Any]
    """Part of each value that varies: a number, or one element of a list."""
    box: list[int]
    """Rectangle in the sheet, [x, y, w, h], in pixels; empty if there is no picture."""
    error: str
    """Reason why there is no picture; empty if there is one."""


class EffectHeader(TypedDict):
    """JSON header before the effect sheet: one sample with several values of a node's arguments."""

    mime: str
    sheet: list[int]
    node: str
    args: list[str]
    """Names of the varied arguments, such as ``angle``, or ``size.h`` for an element of a list."""
    columns: int
    pictures: list[EffectEntry]
    """Pictures row by row. Columns differ in the first argument, rows in the second."""
    note: str
    """Text that names the arguments without an effect; empty if every argument has an effect."""
    error: str
    """Reason why there are no pictures; empty if there are."""


class PolicyPicture(TypedDict):
    """Picture that shows the effect of one sub-policy on the sample on the cards."""

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
    """Reason why there are no pictures; empty if there are."""


class DetailHeader(TypedDict):
    """JSON header before the pictures of one node's outputs for one sample."""

    mime: str
    sheet: list[int]
    steps: list[StepEntry]
    """List with one entry, for the node; empty if there is an ``error``."""
    node: str
    file: str
    error: str
    samples: int
    """Number of samples in the batch that was timed."""
    timing: str
    """Description of how the time was measured; empty until it is known."""
    floor: float | None
    """Time of an empty pipeline in milliseconds."""
