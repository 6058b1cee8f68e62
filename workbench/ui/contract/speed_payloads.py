"""Payloads of the speed panel (see ``payloads.py``)."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

SpeedPart = Literal["compare", "stages", "rewrites", "tune", "scaling", "peers", "records"]
"""Part of the speed panel."""
Effort = Literal["quick", "usual"]
"""Precision of measurements: short rounds for a quick result, or the rounds of METHOD.md."""
PARTS: tuple[SpeedPart, ...] = get_args(SpeedPart)
EFFORTS: tuple[Effort, ...] = get_args(Effort)


class SpeedFact(TypedDict):
    """Name and value for display."""

    name: str
    value: str


class MeasuredOn(TypedDict):
    """Conditions of a record: the line below its chart, and details."""

    id: str
    name: str
    line: str
    """Machine, data, settings, page cache, and why measuring stopped."""
    facts: list[SpeedFact]
    quality_flags: list[str]
    """Reasons to distrust results, each with the name of its row."""
    quick: str
    """Remark that the measurement was quick, with its interval width; else empty."""
    partial: str
    """Progress of an unfinished run; empty for a complete record."""
    earlier: str
    """What has changed since the measurement: graph, settings or data; else empty."""


class SpeedBar(TypedDict):
    """One measured configuration."""

    kind: Literal["cpu", "mixed", "peer"]
    label: str
    group: str
    """Heading of the group: ``Decode alone``, ``Whole pipeline``."""
    source: str
    """Name of the bar's record if two records are shown, else empty."""
    median: float | None
    """imgs/s; null if there is no value."""
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""
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
    """Speed ratio of two configurations, with its confidence interval."""

    group: str
    text: str
    """The ratio as a sentence: ``Mixed is 5.4 times as fast as CPU``."""
    median: float
    low: float
    high: float
    level: float


class PairEntry(TypedDict):
    """Configuration in both records. ``ratio`` is the second rate divided by the first."""

    name: str
    first: float
    second: float
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""
    ratio: float
    low: float
    high: float
    verdict: str
    differs: list[str]


class ComparisonView(TypedDict):
    """Two records compared with each other."""

    first: MeasuredOn
    second: MeasuredOn
    pairs: list[PairEntry]
    only: list[str]
    """Names of configurations in only one of the records."""
    warnings: list[str]


class CompareView(TypedDict):
    """CPU and mixed decoding, or peers. If ``on`` is empty, nothing was measured."""

    on: list[MeasuredOn]
    """Conditions of the record, and of the record that it is compared with."""
    bars: list[SpeedBar]
    ratios: list[RatioEntry]
    notes: list[str]
    """Texts about pixel differences, and about differences between the two records."""


class StageEntry(TypedDict):
    """One stage. Times are milliseconds per batch, null if not measured."""

    name: str
    op: str
    """Operator, if its name differs from the stage's; else empty."""
    kind: str
    device: str
    adds: float | None
    """Time that the stage adds to the pipeline."""
    low: float | None
    high: float | None
    """Upper end of the confidence interval of ``adds``; ``low`` is the lower end."""
    exclusive: float | None
    """``adds`` corrected for noise: never negative; all stages add up to the pipeline's time."""
    alone: float | None
    node: str
    """Id of the node; empty if the current graph has none with this id."""


class StagesView(TypedDict):
    """Time of a batch, divided into stages."""

    on: list[MeasuredOn]
    stages: list[StageEntry]
    total: float
    rate: float
    low: float
    high: float
    """Upper end of the confidence interval of ``rate``, the imgs/s of the whole pipeline."""
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""
    remainder: float | None
    ceiling: float | None
    bottleneck: str
    """Name of the slowest stage; empty if the run was too unstable to name one."""
    advice: str
    functions: list[str]
    """Texts on the cost of each user function."""
    path: list[str]
    """Texts on the critical path, the gain of a cached source, and the slowest files."""
    notes: list[str]
    """Reasons why values were not measured."""


class HeatCell(TypedDict):
    """One setting. ``rate`` is null if the setting failed (see ``reason``) or was not tried."""

    threads: int
    batch: int
    rate: float | None
    reason: str
    best: bool
    own: bool
    """True for the current setting of the graph."""
    now: bool


class HeatPanel(TypedDict):
    """Heat map of threads (rows) by batch size (columns), for one value of each other setting."""

    title: str
    threads: list[int]
    batches: list[int]
    cells: list[HeatCell]


class TuneView(TypedDict):
    """Result of a sweep or the tuner."""

    on: list[MeasuredOn]
    panels: list[HeatPanel]
    most: float
    """Highest imgs/s in the panels."""
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""
    best: str
    """Best setting as text; empty if none could be measured."""
    median: float
    low: float
    high: float
    gain: str
    """Speed-up over the graph's setting, with its interval, as text."""
    tried: str
    notes: list[str]
    adopted: bool
    """Whether the graph currently has the best setting."""
    running: bool
    """True during a measurement, when the best is the best so far and there is no record yet."""


class ScalingPoint(TypedDict):
    """Result for a number of threads or processes. Rates are in imgs/s, null if not measured."""

    count: int
    pipelines: int
    """Pipelines per process if several numbers were measured; else 0."""
    median: float | None
    low: float | None
    high: float | None
    speedup: float | None
    efficiency: float | None
    """Speed-up relative to linear scaling, which is 1."""
    reason: str
    flags: list[str]


class ScalingView(TypedDict):
    """Speed in imgs/s by number of threads, pipelines, processes or GPUs."""

    on: list[MeasuredOn]
    unit: str
    """Unit that is counted: ``threads``, ``pipelines``, ``processes`` or ``GPUs``."""
    kind: Literal["cpu", "mixed"]
    points: list[ScalingPoint]
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""


class RecordEntry(TypedDict):
    """Record of a run, measured here or opened from a file."""

    id: str
    name: str
    kind: str
    part: str
    graph: str
    when: str
    machine: str
    best: float | None
    """Best imgs/s, as in ``Report.best``."""
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""
    shown: bool
    elsewhere: bool
    """True if the record was made on another machine."""


class SpeedLimits(TypedDict):
    """Measurements that this machine does not support, and allowed values of settings."""

    mixed: str
    """Why mixed decoding is not available; empty if it is."""
    command: str
    """Command to run on a machine with a GPU; empty if this machine has one."""
    hint: str
    """Hint on preparing that machine for the command; may be empty."""
    workers: str
    """Why scaling across GPUs cannot be measured; empty if it can be."""
    peers: list[SpeedFact]
    """Name of each peer, with the reason why it cannot be measured (empty if it can be)."""
    peer_seconds: dict[str, float]
    """Time limit in seconds per library, by precision (``usual`` and ``quick``)."""
    grid: dict[str, str]
    """Default values of each setting as text, such as ``1, 2, 4``."""
    now: str
    """Current settings of the graph as text."""
    estimates: dict[str, dict[str, str]]
    """Estimated duration as text, shown before the start, by precision and measurement."""


class FileHeader(TypedDict):
    """Header of a file created by ``export`` for download."""

    name: str
    mime: str
    view: str
    """Id of the view that requested the file."""
    n: int


class FusedRow(TypedDict):
    """imgs/s of the ``if`` block or of the operator, with the confidence interval."""

    name: str
    median: float
    low: float
    high: float
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""


class FusedSpeedEntry(TypedDict):
    """Speed of an ``if`` block and of an equivalent operator."""

    state: str
    """State of the measurement: none, running, done, failed or stopped."""
    block: str
    text: str
    share: float
    rows: list[FusedRow]
    ratio: list[float]
    """Speed of the operator divided by that of the ``if``: median, low and high."""
    stale: bool
    """True if the record belongs to another graph or other data."""


# Payloads of the optimiser


class WorstSampleEntry(TypedDict):
    """Sample with a large difference. Its pictures before and after are data URLs."""

    name: str
    before: str
    after: str


class RewriteEntry(TypedDict):
    """Rewrite that is proposed or rejected."""

    name: str
    title: str
    kind: Literal["exact", "near"]
    law: str
    """Description of the replacement, and why the pixels stay the same."""
    gain: str
    low: str
    """Confidence interval of the speed-up as text; empty if it was not measured."""
    pixels: str
    """Pixel difference as text."""
    nodes: list[str]
    """Ids of the nodes to select on the canvas."""
    needs: list[str]
    """Titles of the rewrites that are applied with it."""
    worst: list[WorstSampleEntry]
    taken: bool
    """True if the rewrite can no longer be applied to the current graph."""
    rejected: str
    """Why the rewrite is rejected; empty if it is proposed."""


class RewritesView(TypedDict):
    """Result of the optimiser."""

    on: list[MeasuredOn]
    rewrites: list[RewriteEntry]
    control: str
    """Speed of the unchanged graph relative to a copy of it in the same run, as text."""
    total: str
    """Speed-up of all rewrites together, as text; empty if none is proposed."""
