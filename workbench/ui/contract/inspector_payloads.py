"""What the inspector shows of the selected node (see ``payloads.py``)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.ui.contract.payloads import BodyEntry, Json


class RandomView(TypedDict):
    """A random argument."""

    op: str
    """``random.uniform``, ``random.normal``, ``random.coin_flip``, ``random.choice``."""
    args: dict[str, Json]
    """``{"range": [-10, 10]}``, ``{"mean": 0, "stddev": 1}``, ``{"probability": 0.5}``."""
    node: str
    """Id of the generator."""
    shared: list[str]
    """What else it feeds: ``node.arg``, or ``output name``."""


class ArgRow(TypedDict):
    """One argument in the inspector."""

    name: str
    label: str
    unit: str
    doc: str
    kind: str
    """``ArgSpec.kind``."""
    editor: Literal[
        "check",
        "choice",
        "number",
        "text",
        "texts",
        "numbers",
        "fields",
        "each",
        "colour",
        "range",
        "matrix",
        "shown",
        "policy",
    ]
    """The control for a fixed value. ``shown`` is read only: ``locked`` says why."""
    parts: list[str]
    """Names of a list's elements, or of a matrix' columns; may be empty."""
    mode: Literal["fixed", "random", "linked"]
    value: Json
    """The fixed value: what is set, else the default, else null."""
    random: NotRequired[RandomView]
    link: NotRequired[str]
    """``node.port`` that feeds it."""
    links: list[str]
    """The ``node.output`` that may feed it, but for its own generator."""
    low: float | None
    high: float | None
    step: float | None
    minimum: float | None
    """Least value that is accepted; a slider may begin higher."""
    maximum: float | None
    choices: list[Json]
    default: Json
    changed: bool
    tensor: bool
    """Whether a value for each sample can come from another node."""
    fixed_only: str
    """Why it can be neither; empty where it can be one."""
    distributions: list[str]
    """The generators it may be drawn from, the usual one first; empty where it cannot be random."""
    off: str
    """Why it has no effect now, such as a rival that is given; else empty."""
    locked: str
    """Why it cannot be edited, or empty."""
    required: bool
    advanced: bool
    deprecated: str
    error: str
    """What is wrong with the value, or empty."""


class ConditionEntry(TypedDict):
    """What an ``if`` asks of each sample."""

    kind: str
    """``chance``, ``label``, ``size``, ``comparison``, ``other``; empty where nothing decides."""
    classes: list[int]
    measure: str
    comparison: str
    value: float | None
    source: str
    """The port of which it is asked; empty of a draw."""
    sources: dict[str, list[str]]
    """For each kind the ports of which it may be asked; none: the kind cannot be had here."""
    fused: str
    """The operator that does the same without the ``if``; empty where there is none."""


class InspectorView(TypedDict):
    """The selected node; ``id`` is empty where none is."""

    id: str
    op: str
    label: str
    doc: str
    device: str
    """Where it runs: cpu, gpu, mixed."""
    devices: list[str]
    """Where it could be told to run."""
    device_set: str
    """Where it was told to run; empty: it follows its inputs, a decoder the graph's setting."""
    follows: str
    """What it follows unless told otherwise, in words."""
    known: bool
    """False for an operator that the installed DALI lacks."""
    feeds: list[str]
    """What a generator feeds: ``node.arg``."""
    caution: str
    """Why pictures of it are not those of the script; empty where they are."""
    selected: int
    """How many nodes are; this is the last."""
    errors: list[str]
    """What is wrong with it and stands at none of its rows."""
    muted: bool
    """Whether it is left out of what runs."""
    augments: bool
    """Whether it changes images, so that it may run for some samples only."""
    ports: dict[str, str]
    """Words for what rows name in ``links``: ``the draw of rotate.angle``."""
    rows: list[ArgRow]
    condition: str
    """Of a block what decides: ``0.5 yes``; else empty."""
    control: str
    """The input of a block that decides: ``condition``."""
    condition_node: str
    """The node that feeds it; empty where nothing does."""
    asks: ConditionEntry | None
    """Of an ``if``; else null."""
    probability: float | None
    """Of an ``if`` that a coin flip decides; else null."""
    numbered: bool
    """Whether it has options: bodies that can be added, removed and moved."""
    weights: list[float]
    """The probability of each body, where a draw chooses one of several; else empty."""
    bodies: list[BodyEntry]
    """Of a block, each to be opened."""
