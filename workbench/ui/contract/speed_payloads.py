"""Payloads of the speed panel (see ``payloads.py``)."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

SpeedPart = Literal[
    "compare", "stages", "rewrites", "tune", "scaling", "peers", "memory", "records"
]
"""Name of a part of the Speed panel."""
Effort = Literal["quick", "usual"]
"""Precision of measurements: ``quick`` uses short rounds, ``usual`` uses the rounds of METHOD.md.
"""
PARTS: tuple[SpeedPart, ...] = get_args(SpeedPart)
EFFORTS: tuple[Effort, ...] = get_args(Effort)


class SpeedFact(TypedDict):
    """Name and value of a fact that is displayed."""

    name: str
    value: str


class MeasuredOn(TypedDict):
    """Conditions under which a record was measured, displayed below its chart."""

    id: str
    name: str
    line: str
    """Machine, data, settings, page cache, and why the measurement ended."""
    facts: list[SpeedFact]
    quality_flags: list[str]
    """Reasons why results are unreliable, each with the name of its row."""
    quick: str
    """Notice about the lower precision of a quick measurement; empty for other measurements."""
    partial: str
    """Progress of an unfinished run; empty for a complete record."""
    earlier: str
    """What has changed in graph, settings or data since the measurement; empty if nothing has."""


class SpeedBar(TypedDict):
    """Bar of one measured configuration."""

    kind: Literal["cpu", "mixed", "peer"]
    label: str
    group: str
    """Heading of the group: ``Decode alone``, ``Whole pipeline``."""
    source: str
    """Name of the record that the bar belongs to, if two records are shown; empty otherwise."""
    median: float | None
    """Median in imgs/s; null if there is no result."""
    figure: str
    """Rate without unit; a range if it is not known within 3 %."""
    frame_rate: str
    """Rate in frames/s for sequences; empty for images."""
    interval: str
    """Confidence interval and its level as text."""
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""
    low: float | None
    high: float | None
    rounds: list[float]
    settings: str
    reason: str
    """Reason why there is no result; empty if there is one."""
    flags: list[str]
    """Reasons why the result is unreliable."""
    uncertainty: str
    """Reason why the rate is a range, with the fix; empty if it is known within 3 %."""
    notes: list[str]
    """Other remarks, such as settings without effect."""
    facts: list[SpeedFact]
    """All facts about the configuration, for the table."""


class RatioEntry(TypedDict):
    """Speed ratio of two configurations, with its confidence interval."""

    group: str
    text: str
    """The ratio as a sentence, ``Mixed is 5.41 × CPU``, or with a range."""
    interval: str
    """Confidence interval and its level as text."""


class PairEntry(TypedDict):
    """Configuration that is in both records. ``ratio`` is the second rate divided by the first."""

    name: str
    first: str
    second: str
    """Rates without unit; ranges if they are not known within 3 %."""
    ratio: str
    """Ratio with its confidence interval, or only the interval."""
    verdict: str
    differs: list[str]


class ComparisonView(TypedDict):
    """Comparison of two records."""

    first: MeasuredOn
    second: MeasuredOn
    pairs: list[PairEntry]
    only: list[str]
    """Names of configurations that are in only one of the records."""
    warnings: list[str]


class CompareView(TypedDict):
    """Comparison of CPU and mixed decoding, or of peers. ``on`` is empty before a measurement."""

    on: list[MeasuredOn]
    """Conditions of the record, and of the record that it is compared with, if there is one."""
    bars: list[SpeedBar]
    ratios: list[RatioEntry]
    advice: list[str]
    """Exports to other libraries that are faster than DALI."""
    notes: list[str]
    """Notes on pixel differences, and on differences between the two records."""


class StageEntry(TypedDict):
    """One stage of the pipeline. Times are in milliseconds per batch, null if not measured."""

    name: str
    op: str
    """Name of the operator if it differs from the stage's name; empty otherwise."""
    kind: str
    device: str
    adds: float | None
    """Time that the stage adds to the pipeline."""
    low: float | None
    high: float | None
    """Upper end of the confidence interval of ``adds``; ``low`` is the lower end."""
    exclusive: float | None
    """``adds`` corrected for noise: not negative, and the sum over all stages is the
    pipeline's time.
    """
    alone: float | None
    node: str
    """Id of the stage's node; empty if the current graph has no node with this id."""


class StagesView(TypedDict):
    """Time of a batch by stage."""

    on: list[MeasuredOn]
    stages: list[StageEntry]
    total: float
    rate: str
    """Rate of the whole pipeline with its unit; a range if it is not known within 3 %."""
    interval: str
    """Confidence interval of ``rate`` and its level as text."""
    remainder: float | None
    ceiling: str
    """Rate with reading and decoding cached, with its unit; empty if not measured."""
    bottleneck: str
    """Name of the slowest stage; empty if the measurement was too unstable to name one."""
    advice: str
    functions: list[str]
    """Notes on the cost of each user function."""
    path: list[str]
    """Notes on the critical path, the speed-up by a cached source, and the slowest files."""
    notes: list[str]
    """Reasons why values were not measured."""


class HeatCell(TypedDict):
    """One setting in a heat map. ``rate`` is null if the setting was not tried or failed."""

    threads: int
    batch: int
    rate: float | None
    figure: str
    """``rate`` as text, a range if it is not known within 3 %; empty without a rate."""
    reason: str
    best: bool
    own: bool
    """True if the graph currently has this setting."""
    now: bool


class HeatPanel(TypedDict):
    """Heat map of threads (rows) by batch size (columns), with all other settings fixed."""

    title: str
    threads: list[int]
    batches: list[int]
    cells: list[HeatCell]


class TuneView(TypedDict):
    """Result of a sweep or of the tuner."""

    on: list[MeasuredOn]
    panels: list[HeatPanel]
    most: float
    """Highest imgs/s in all heat maps."""
    best: str
    """Best setting as text; empty if no setting could be measured."""
    figure: str
    """Rate of the best setting with its unit; a range if it is not known within 3 %."""
    interval: str
    """Confidence interval of the best setting's rate and its level as text."""
    gain: str
    """Speed-up of the best setting over the graph's setting, with its interval, as text."""
    tried: str
    notes: list[str]
    adopted: bool
    """True if the graph currently has the best setting."""
    running: bool
    """True during a measurement. ``best`` is then the best setting so far, and there is no
    record yet.
    """


class ScalingPoint(TypedDict):
    """Result for one number of threads or processes. Rates are in imgs/s, null if not measured."""

    count: int
    pipelines: int
    """Number of pipelines per process if several numbers were measured; 0 otherwise."""
    median: float | None
    low: float | None
    high: float | None
    figure: str
    """``median`` as text, a range if it is not known within 3 %."""
    interval: str
    """Confidence interval and its level as text."""
    speedup: str
    efficiency: str
    """Measured speed divided by the speed of linear scaling, as text."""
    reason: str
    flags: list[str]


class ScalingView(TypedDict):
    """Speed in imgs/s by number of threads, pipelines, processes or GPUs."""

    on: list[MeasuredOn]
    unit: str
    """What is scaled: ``threads``, ``pipelines``, ``processes`` or ``GPUs``."""
    kind: Literal["cpu", "mixed"]
    points: list[ScalingPoint]
    frames: int
    """Number of frames per sample if rates are in sequences/s; 0 if they are in imgs/s."""


class RecordEntry(TypedDict):
    """Record of a measurement, made in this session or opened from a file."""

    id: str
    name: str
    kind: str
    part: str
    graph: str
    when: str
    machine: str
    best: str
    """Highest rate of the record with its unit, as in ``Report.best``; empty if there is none."""
    shown: bool
    elsewhere: bool
    """True if the record was made on another machine."""


class SpeedLimits(TypedDict):
    """Measurements that are not possible on this machine, and allowed values of settings."""

    mixed: str
    """Reason why mixed decoding is not available; empty if it is."""
    command: str
    """Command to run on a machine with a GPU; empty if this machine has a GPU."""
    hint: str
    """Text that explains how to prepare a machine for ``command``; empty if there is none."""
    workers: str
    """Reason why scaling across GPUs cannot be measured; empty if it can."""
    peers: list[SpeedFact]
    """Name of each peer library, with the reason why it cannot be measured; empty if it can."""
    peer_seconds: dict[str, float]
    """Time limit in seconds per peer library, by precision (``usual`` and ``quick``)."""
    grid: dict[str, str]
    """Default values of each setting in a sweep, as text, such as ``1, 2, 4``."""
    now: str
    """Current settings of the graph as text."""
    estimates: dict[str, dict[str, str]]
    """Estimated duration as text, by precision and measurement."""


class PredictionRow(TypedDict):
    """Row of a predicted table."""

    cells: list[str]
    node: str
    """Id of the node that the row describes; empty if it describes none."""


class PredictionView(TypedDict):
    """Memory or decoders, predicted from the headers of the data."""

    state: Literal["running", "done", "failed"]
    text: str
    """Progress, or the reason of a failure."""
    stale: bool
    """True if the prediction is about another graph or other data."""
    heads: list[str]
    rows: list[PredictionRow]
    notes: list[str]
    warning: str
    """Sentence that the memory of this machine may not suffice; empty if it does."""


class FileHeader(TypedDict):
    """JSON header before a file created by ``export`` for download."""

    name: str
    mime: str
    view: str
    """Id of the view that requested the file."""
    n: int


class FusedRow(TypedDict):
    """Speed of the ``if`` block or of the operator that could replace it, in imgs/s."""

    name: str
    figure: str
    """Rate with its unit; a range if it is not known within 3 %."""
    interval: str
    """Confidence interval and its level as text."""


class FusedSpeedEntry(TypedDict):
    """Speed of an ``if`` block, and of the single operator that could replace it."""

    state: str
    """State of the measurement: none, running, done, failed or stopped."""
    block: str
    text: str
    share: float
    rows: list[FusedRow]
    ratio: str
    """Speed of the operator divided by the speed of the ``if``, with its interval; empty if not
    measured.
    """
    stale: bool
    """True if the record is about another graph or other data."""


# Payloads of the optimiser


class WorstSampleEntry(TypedDict):
    """Sample with a large pixel difference, and ``data:`` URLs of its pictures before and after."""

    name: str
    before: str
    after: str


class RewriteEntry(TypedDict):
    """Rewrite that the optimiser proposes or rejects."""

    name: str
    title: str
    kind: Literal["exact", "near"]
    law: str
    """Description of the rewrite, and why the pixels stay the same."""
    gain: str
    low: str
    """Confidence interval of the speed-up as text; empty if it was not measured."""
    pixels: str
    """Pixel difference as text."""
    nodes: list[str]
    """Ids of the nodes that the rewrite replaces, to be selected on the canvas."""
    needs: list[str]
    """Titles of other rewrites that must be applied with this one."""
    worst: list[WorstSampleEntry]
    taken: bool
    """True if the rewrite cannot be applied to the current graph, for example because it was
    applied.
    """
    rejected: str
    """Reason why the rewrite is rejected; empty if it is proposed."""


class RewritesView(TypedDict):
    """Result of the optimiser."""

    on: list[MeasuredOn]
    rewrites: list[RewriteEntry]
    control: str
    """Measured speed-up of an identical copy of the graph, as text; it shows the noise."""
    total: str
    """Speed-up of all proposed rewrites together, as text; empty if no rewrite is proposed."""
    notes: list[str]
    """Peak memory, other measured orders, and the sampling error of the graph."""
