"""What the speed panel shows, in the way of ``payloads.py``."""

from __future__ import annotations

from typing import Literal, TypedDict, get_args

SpeedPart = Literal["compare", "stages", "rewrites", "tune", "scaling", "peers", "records"]
"""A part of the panel."""
Effort = Literal["quick", "usual"]
"""How carefully is measured: short rounds for a first look, or those of METHOD.md."""
PARTS: tuple[SpeedPart, ...] = get_args(SpeedPart)
EFFORTS: tuple[Effort, ...] = get_args(Effort)


class SpeedFact(TypedDict):
    """A name and a value, both for reading."""

    name: str
    value: str


class MeasuredOn(TypedDict):
    """What a record was measured on: the line under its figure, and the rest on demand."""

    id: str
    """The record's."""
    name: str
    line: str
    """Machine, data, settings, page cache, how it ended."""
    facts: list[SpeedFact]
    quality_flags: list[str]
    """Why figures are to be distrusted, each with the name of its row."""
    quick: str
    """That it was a quick look, and how wide its intervals are; empty where it was none."""
    partial: str
    """How far a run that goes on has come; empty of a record."""
    earlier: str
    """What has changed since it was measured: graph, settings, data; empty where nothing has."""


class SpeedBar(TypedDict):
    """One measured configuration."""

    kind: Literal["cpu", "mixed", "peer"]
    label: str
    group: str
    """``Decode alone``, ``Whole pipeline``."""
    source: str
    """The record's name where two are shown, else empty."""
    median: float | None
    """imgs/s; null where there is no figure."""
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""
    low: float | None
    high: float | None
    rounds: list[float]
    settings: str
    reason: str
    """Why there is no figure; empty where there is one."""
    flags: list[str]
    """Why the figure is to be distrusted."""
    notes: list[str]
    """What else is to be said of it: knobs without effect, for example."""
    facts: list[SpeedFact]
    """All of the row, for the table."""


class RatioEntry(TypedDict):
    """How many times as fast one is as the other, with the interval."""

    group: str
    text: str
    """``Mixed is 5.4 times as fast as CPU``."""
    median: float
    low: float
    high: float
    level: float


class PairEntry(TypedDict):
    """A configuration that two records have: the second over the first."""

    name: str
    first: float
    second: float
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""
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
    """What one of them alone has."""
    warnings: list[str]


class CompareView(TypedDict):
    """CPU against mixed decoding; also the peers. Without ``on`` nothing has been measured."""

    on: list[MeasuredOn]
    """The record, and the one beside it."""
    bars: list[SpeedBar]
    ratios: list[RatioEntry]
    notes: list[str]
    """Pixel differences, and how the two records differ."""


class StageEntry(TypedDict):
    """One stage; milliseconds for a batch, null where they were not measured."""

    name: str
    op: str
    """Its operator, where that is called otherwise than the stage; else empty."""
    kind: str
    device: str
    adds: float | None
    low: float | None
    high: float | None
    """The interval of ``adds``."""
    exclusive: float | None
    """``adds`` without its noise: not below zero, and all together are the whole."""
    alone: float | None
    node: str
    """Its node, or empty where the present graph has none of that id."""


class StagesView(TypedDict):
    """Where the time of a batch goes."""

    on: list[MeasuredOn]
    stages: list[StageEntry]
    total: float
    rate: float
    low: float
    high: float
    """imgs/s of the whole pipeline."""
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""
    remainder: float | None
    ceiling: float | None
    bottleneck: str
    """Empty where the run was too unstable to name one."""
    advice: str
    functions: list[str]
    """What each function of the user costs, against the rest."""
    path: list[str]
    """The critical path, what a cached source would bring, and the slowest files."""
    notes: list[str]
    """Why what is missing was not measured."""


class HeatCell(TypedDict):
    """One setting. ``rate`` is null where it failed (``reason``) or was not tried."""

    threads: int
    batch: int
    rate: float | None
    reason: str
    best: bool
    own: bool
    """Whether the graph has these settings now."""
    now: bool
    """Whether it is being measured."""


class HeatPanel(TypedDict):
    """Threads (rows) by batch size (columns) at one prefetch and one hw_decoder_load."""

    title: str
    threads: list[int]
    batches: list[int]
    cells: list[HeatCell]


class TuneView(TypedDict):
    """What a sweep or the tuner found."""

    on: list[MeasuredOn]
    panels: list[HeatPanel]
    most: float
    """The highest imgs/s in the panels."""
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""
    best: str
    """The best setting in words; empty where none could be measured."""
    median: float
    low: float
    high: float
    gain: str
    """Against the graph's own settings, with the interval."""
    tried: str
    notes: list[str]
    adopted: bool
    """Whether the graph has the best setting now."""
    running: bool
    """Whether it goes on: then the best is that so far, and there is no record yet."""


class ScalingPoint(TypedDict):
    """So many threads or processes; rates in imgs/s, null where they were not measured."""

    count: int
    pipelines: int
    """Of each process, where several numbers of them were measured; else 0."""
    median: float | None
    low: float | None
    high: float | None
    speedup: float | None
    efficiency: float | None
    """1 where it grows in proportion."""
    reason: str
    flags: list[str]


class ScalingView(TypedDict):
    """How imgs/s grow."""

    on: list[MeasuredOn]
    unit: str
    """``threads``, ``pipelines``, ``processes`` or ``GPUs``."""
    kind: Literal["cpu", "mixed"]
    points: list[ScalingPoint]
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""


class RecordEntry(TypedDict):
    """One run that was made or opened."""

    id: str
    name: str
    kind: str
    """In words: ``CPU against mixed``."""
    part: str
    """Which part of the panel shows it."""
    graph: str
    when: str
    machine: str
    best: float | None
    """``Report.best``."""
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""
    shown: bool
    elsewhere: bool
    """Whether it was made on another machine."""


class SpeedLimits(TypedDict):
    """What this machine cannot do, and what may be tried."""

    mixed: str
    """Why there is no mixed decoding; empty where there is."""
    command: str
    """What to run on a machine that has a GPU; empty where this has one."""
    hint: str
    """What has to be done before the command can run there, or empty."""
    workers: str
    """Why scaling over GPUs cannot be measured, or empty."""
    peers: list[SpeedFact]
    """Each peer, and why it cannot be measured (empty: it can)."""
    peer_seconds: dict[str, float]
    """The most that each takes which is compared, by how carefully: ``usual`` and ``quick``."""
    grid: dict[str, str]
    """The usual values of each knob: ``1, 2, 4``."""
    now: str
    """The graph's own settings in words."""
    estimates: dict[str, dict[str, str]]
    """Precision -> measurement -> estimated duration, shown before the start."""


class FileHeader(TypedDict):
    """Before the bytes of a file that ``export`` made, for the browser to offer."""

    name: str
    mime: str
    view: str
    """The view that asked for it."""
    n: int


class FusedRow(TypedDict):
    """imgs/s of one of both, with its interval."""

    name: str
    median: float
    low: float
    high: float
    frames: int
    """Of each sample, where rates are sequences/s; 0: they are imgs/s."""


class FusedSpeedEntry(TypedDict):
    """An ``if`` measured against the one operator that does the same."""

    state: str
    """none, running, done, failed, stopped."""
    block: str
    text: str
    share: float
    rows: list[FusedRow]
    ratio: list[float]
    """Of the speed of the operator over that of the ``if``: median, low and high."""
    stale: bool
    """Whether it is of another graph or other data than those that are shown."""


# What the speed panel shows of the optimiser, in the way of ``payloads.py``.


class WorstSampleEntry(TypedDict):
    """A sample far from the original: both as data URLs."""

    name: str
    before: str
    after: str


class RewriteEntry(TypedDict):
    """One rewrite that is proposed, or why it is not."""

    name: str
    title: str
    kind: Literal["exact", "near"]
    law: str
    """What is put in the place of what, and why the pixels stay."""
    gain: str
    low: str
    """The interval of the gain in words; empty where nothing was measured."""
    pixels: str
    """The difference in words."""
    nodes: list[str]
    """Ids that can be selected on the canvas."""
    needs: list[str]
    """Titles of what is done with it."""
    worst: list[WorstSampleEntry]
    taken: bool
    """Whether there is no more place for it in the present graph."""
    rejected: str
    """Why it is not proposed; empty where it is."""


class RewritesView(TypedDict):
    """What the optimiser found."""

    on: list[MeasuredOn]
    rewrites: list[RewriteEntry]
    control: str
    """The graph over itself in the same run."""
    total: str
    """All together over the graph; empty where nothing is proposed."""
