"""Payloads of the speed panel (see ``payloads.py``)."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

SpeedPart = Literal["compare", "stages", "rewrites", "tune", "scaling", "peers", "records"]
"""Part of the panel."""
Effort = Literal["quick", "usual"]
"""Precision of measurements: short rounds for a quick result, or those of METHOD.md."""
PARTS: tuple[SpeedPart, ...] = get_args(SpeedPart)
EFFORTS: tuple[Effort, ...] = get_args(Effort)


class SpeedFact(TypedDict):
    """Name and value for display."""

    name: str
    value: str


class MeasuredOn(TypedDict):
    """Conditions of a record: the line below its figure, and details."""

    id: str
    """Id of the record."""
    name: str
    line: str
    """Machine, data, settings, page cache, reason for the end."""
    facts: list[SpeedFact]
    quality_flags: list[str]
    """Reasons to distrust figures, each with the name of its row."""
    quick: str
    """Remark that it was a quick measurement, with its interval width; else empty."""
    partial: str
    """Progress of an unfinished run; empty for a record."""
    earlier: str
    """What has changed since: graph, settings, data; else empty."""


class SpeedBar(TypedDict):
    """One measured configuration."""

    kind: Literal["cpu", "mixed", "peer"]
    label: str
    group: str
    """``Decode alone``, ``Whole pipeline``."""
    source: str
    """Name of the record if two are shown, else empty."""
    median: float | None
    """imgs/s; null if there is no value."""
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""
    low: float | None
    high: float | None
    rounds: list[float]
    settings: str
    reason: str
    """Why there is no value; else empty."""
    flags: list[str]
    """Reasons to distrust the value."""
    notes: list[str]
    """Other remarks, such as settings without effect."""
    facts: list[SpeedFact]
    """All facts of the row, for the table."""


class RatioEntry(TypedDict):
    """Speed ratio of two configurations, with its interval."""

    group: str
    text: str
    """``Mixed is 5.4 times as fast as CPU``."""
    median: float
    low: float
    high: float
    level: float


class PairEntry(TypedDict):
    """Configuration in both records: the second over the first."""

    name: str
    first: float
    second: float
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""
    ratio: float
    low: float
    high: float
    verdict: str
    differs: list[str]


class ComparisonView(TypedDict):
    """Two records side by side."""

    first: MeasuredOn
    second: MeasuredOn
    pairs: list[PairEntry]
    only: list[str]
    """Configurations that only one of them has."""
    warnings: list[str]


class CompareView(TypedDict):
    """CPU and mixed decoding, or peers. Without ``on`` nothing was measured."""

    on: list[MeasuredOn]
    """The record, and the one it is compared with."""
    bars: list[SpeedBar]
    ratios: list[RatioEntry]
    notes: list[str]
    """Pixel differences, and differences of the two records."""


class StageEntry(TypedDict):
    """One stage; milliseconds per batch, null if not measured."""

    name: str
    op: str
    """Operator, if its name differs from that of the stage; else empty."""
    kind: str
    device: str
    adds: float | None
    """Time that the stage adds to the pipeline."""
    low: float | None
    high: float | None
    """Interval of ``adds``."""
    exclusive: float | None
    """``adds`` corrected for noise: never negative; all stages add up to the pipeline's time."""
    alone: float | None
    node: str
    """Node, or empty if the current graph has none with this id."""


class StagesView(TypedDict):
    """Time of a batch by stage."""

    on: list[MeasuredOn]
    stages: list[StageEntry]
    total: float
    rate: float
    low: float
    high: float
    """imgs/s of the whole pipeline."""
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""
    remainder: float | None
    ceiling: float | None
    bottleneck: str
    """Empty if the run was too unstable to name one."""
    advice: str
    functions: list[str]
    """Cost of each function of the user, compared with the rest."""
    path: list[str]
    """Critical path, gain of a cached source, and slowest files."""
    notes: list[str]
    """Why values were not measured."""


class HeatCell(TypedDict):
    """One setting. ``rate`` is null if it failed (``reason``) or was not tried."""

    threads: int
    batch: int
    rate: float | None
    reason: str
    best: bool
    own: bool
    """True if this is the current setting of the graph."""
    now: bool
    """True if the setting is being measured."""


class HeatPanel(TypedDict):
    """Threads (rows) by batch size (columns) at one prefetch and one hw_decoder_load."""

    title: str
    threads: list[int]
    batches: list[int]
    cells: list[HeatCell]


class TuneView(TypedDict):
    """Result of a sweep or the tuner."""

    on: list[MeasuredOn]
    panels: list[HeatPanel]
    most: float
    """The highest imgs/s in the panels."""
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""
    best: str
    """Best setting in words; empty if none could be measured."""
    median: float
    low: float
    high: float
    gain: str
    """Gain over the graph's setting, with its interval."""
    tried: str
    notes: list[str]
    adopted: bool
    """Whether the graph currently has the best setting."""
    running: bool
    """True while running: the best is the best so far, and there is no record yet."""


class ScalingPoint(TypedDict):
    """Number of threads or processes; rates in imgs/s, null if not measured."""

    count: int
    pipelines: int
    """Pipelines per process if several numbers were measured; else 0."""
    median: float | None
    low: float | None
    high: float | None
    speedup: float | None
    efficiency: float | None
    """1 for linear scaling."""
    reason: str
    flags: list[str]


class ScalingView(TypedDict):
    """Scaling of imgs/s."""

    on: list[MeasuredOn]
    unit: str
    """``threads``, ``pipelines``, ``processes`` or ``GPUs``."""
    kind: Literal["cpu", "mixed"]
    points: list[ScalingPoint]
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""


class RecordEntry(TypedDict):
    """Run that was made or opened."""

    id: str
    name: str
    kind: str
    """In words: ``CPU and mixed``."""
    part: str
    """Part of the panel that shows it."""
    graph: str
    when: str
    machine: str
    best: float | None
    """``Report.best``."""
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""
    shown: bool
    elsewhere: bool
    """True if the record was made on another machine."""


class SpeedLimits(TypedDict):
    """Measurements that this machine does not support, and allowed values."""

    mixed: str
    """Why mixed decoding is not available; empty if it is."""
    command: str
    """Command for a machine with a GPU; empty if this one has a GPU."""
    hint: str
    """Preparation for the command there, or empty."""
    workers: str
    """Why scaling over GPUs cannot be measured, or empty."""
    peers: list[SpeedFact]
    """Each peer, and why it cannot be measured (empty: it can)."""
    peer_seconds: dict[str, float]
    """Time limit per library by precision: ``usual`` and ``quick``."""
    grid: dict[str, str]
    """Default values of each setting: ``1, 2, 4``."""
    now: str
    """Current settings of the graph in words."""
    estimates: dict[str, dict[str, str]]
    """Precision -> measurement -> estimated duration, shown before the start."""


class FileHeader(TypedDict):
    """Header of a file created by ``export`` for download."""

    name: str
    mime: str
    view: str
    """Id of the requesting view."""
    n: int


class FusedRow(TypedDict):
    """imgs/s of one of the two, with its interval."""

    name: str
    median: float
    low: float
    high: float
    frames: int
    """Frames per sample if rates are sequences/s; 0: they are imgs/s."""


class FusedSpeedEntry(TypedDict):
    """Speed of an ``if`` and of an equivalent operator."""

    state: str
    """none, running, done, failed, stopped."""
    block: str
    text: str
    share: float
    rows: list[FusedRow]
    ratio: list[float]
    """Speed of the operator over that of the ``if``: median, low and high."""
    stale: bool
    """True if the record belongs to another graph or other data."""


# Payloads of the optimiser


class WorstSampleEntry(TypedDict):
    """Sample with a large difference: both pictures as data URLs."""

    name: str
    before: str
    after: str


class RewriteEntry(TypedDict):
    """Rewrite that is proposed, or why it is not."""

    name: str
    title: str
    kind: Literal["exact", "near"]
    law: str
    """What is replaced by what, and why the pixels stay the same."""
    gain: str
    low: str
    """Interval of the gain in words; empty if it was not measured."""
    pixels: str
    """Pixel difference in words."""
    nodes: list[str]
    """Ids that can be selected on the canvas."""
    needs: list[str]
    """Titles of rewrites that are applied with it."""
    worst: list[WorstSampleEntry]
    taken: bool
    """True if the rewrite can no longer be applied to the current graph."""
    rejected: str
    """Why it is not proposed; else empty."""


class RewritesView(TypedDict):
    """Result of the optimiser."""

    on: list[MeasuredOn]
    rewrites: list[RewriteEntry]
    control: str
    """Unchanged graph compared with itself in the same run."""
    total: str
    """Gain of all rewrites together; empty if none is proposed."""
