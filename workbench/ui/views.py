"""What each component shows and takes: the contract between Python and the browser.

``frontend/src/views.ts`` is written from these types by ``python -m workbench.ui.typescript``;
a test fails when the two differ. All of it is JSON, but for the one picture.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Json = Any
"""A JSON value: an argument's fixed value, a graph file."""


class DeviceChoice(TypedDict):
    """One side of the CPU / mixed switch."""

    id: str
    label: str
    """``CPU`` or ``Mixed · H200``."""
    disabled: str
    """Why it cannot be chosen; empty where it can."""


class Status(TypedDict):
    """The chip at the top right."""

    state: Literal["ready", "busy", "fault", "dead"]
    text: str
    """``ready · 12 ms``, ``computing``, ``2 faults``."""


class RecipeEntry(TypedDict):
    name: str
    line: str
    """One line on what it is for."""


class FaultEntry(TypedDict):
    """One reason why the graph cannot run."""

    node: str
    """Node id, or empty where the fault is the whole graph's."""
    arg: str
    message: str
    remedy: str


class NodeEntry(TypedDict):
    """One row of the node list (one box of the canvas)."""

    id: str
    op: str
    label: str
    device: Literal["cpu", "gpu", "mixed"]
    output: str
    """``224×224×3 u8``, ``jpeg, label``; ``?`` where only the data tell."""
    draws: list[str]
    """Its random arguments: ``angle ~ uniform -10 … 10``."""
    fault: str
    """First fault's message, or empty."""
    movable: bool
    """Whether it may be reordered or removed (the reader and the decoder may not)."""


class OperatorEntry(TypedDict):
    """One operator in the search."""

    name: str
    label: str
    category: str
    summary: str
    devices: list[str]
    unusable: str
    """Why it is greyed; empty where it can be added."""


class RandomView(TypedDict):
    """A random argument."""

    op: str
    """``random.uniform``, ``random.normal``, ``random.coin_flip``, ``random.choice``."""
    args: dict[str, Json]
    """``{"range": [-10, 10]}``, ``{"mean": 0, "stddev": 1}``, ``{"probability": 0.5}``."""


class ArgRow(TypedDict):
    """One argument in the inspector."""

    name: str
    label: str
    unit: str
    doc: str
    kind: str
    """``ArgSpec.kind``."""
    mode: Literal["fixed", "random", "linked"]
    value: Json
    """The fixed value: what is set, else the default, else null."""
    random: NotRequired[RandomView]
    link: NotRequired[str]
    """``node.port`` that feeds it."""
    low: float | None
    high: float | None
    step: float | None
    choices: list[Json]
    default: Json
    changed: bool
    tensor: bool
    """Whether it can be random."""
    distributions: list[str]
    """The generators it may be drawn from, the usual one first; empty where it cannot be random."""
    required: bool
    advanced: bool
    deprecated: str
    error: str
    """What is wrong with the value, or empty."""


class InspectorView(TypedDict):
    """The selected node; ``id`` is empty where none is."""

    id: str
    op: str
    label: str
    doc: str
    device: str
    rows: list[ArgRow]


class TileEntry(TypedDict):
    """One sample of the preview. Rectangles are [x, y, w, h] in pixels of the sheet."""

    index: int
    file: str
    label: str
    shape: str
    """Of the augmented output: ``3×224×224 f32``."""
    draws: list[str]
    """``angle -7.2``, ``mirror yes``."""
    error: str
    """Why this sample could not be shown; empty where it could."""
    warning: str
    """What is odd in its file though DALI decodes it, such as an early end; else empty."""
    original: list[int]
    augmented: list[list[int]]
    """One rectangle for each image output of the graph (two for two views)."""


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


class SpeedRow(TypedDict):
    """One measured configuration."""

    device: Literal["cpu", "mixed"]
    label: str
    median: float | None
    """imgs/s; null where there is no figure."""
    low: float | None
    high: float | None
    rounds: list[float]
    settings: str
    """``batch 64 · 4 threads · prefetch 2``."""
    machine: str
    reason: str
    """Why there is no figure; empty where there is one."""


class UnreadableFile(TypedDict):
    file: str
    reason: str


class DataView(TypedDict):
    """The data folder."""

    root: str
    error: str
    count: int
    classes: list[str]
    megabytes: float
    formats: dict[str, int]
    sizes: str
    """``300×225 … 1200×900``; empty until known."""
    checked: bool
    """Whether the unreadable files have been looked for yet."""
    unreadable: list[UnreadableFile]
