"""Payloads of the inspector (see ``payloads.py``)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.ui.contract.payloads import BodyEntry, Json


class RandomView(TypedDict):
    """Random argument."""

    op: str
    """``random.uniform``, ``random.normal``, ``random.coin_flip``, ``random.choice``."""
    args: dict[str, Json]
    """``{"range": [-10, 10]}``, ``{"mean": 0, "stddev": 1}``, ``{"probability": 0.5}``."""
    node: str
    """Id of the generator."""
    shared: list[str]
    """Other inputs that the generator feeds: ``node.arg``, or ``output name``."""


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
    """Control for a fixed value. ``shown`` is read only, with the reason in ``locked``."""
    parts: list[str]
    """Names of a list's elements, or of a matrix' columns; may be empty."""
    mode: Literal["fixed", "random", "linked"]
    value: Json
    """Fixed value: the set value, else the default, else null."""
    random: NotRequired[RandomView]
    link: NotRequired[str]
    """``node.port`` that it is connected to."""
    links: list[str]
    """``node.output`` that it can be connected to, except its own generator."""
    low: float | None
    high: float | None
    step: float | None
    minimum: float | None
    """Minimum accepted value; a slider may start higher."""
    maximum: float | None
    choices: list[Json]
    default: Json
    changed: bool
    tensor: bool
    """Whether another node can provide a value per sample."""
    fixed_only: str
    """Why the value cannot be random or connected; empty if it can."""
    distributions: list[str]
    """Generators that can feed it, the default first; empty if it cannot be random."""
    off: str
    """Why it currently has no effect, such as a conflicting argument; else empty."""
    locked: str
    """Why it cannot be edited, or empty."""
    required: bool
    advanced: bool
    deprecated: str
    error: str
    """Error of the value, or empty."""


class ConditionEntry(TypedDict):
    """Condition of an ``if``."""

    kind: str
    """``chance``, ``label``, ``size``, ``comparison``, ``other``; empty if not connected."""
    classes: list[int]
    measure: str
    comparison: str
    value: float | None
    source: str
    """Port that is compared; empty for a random condition."""
    sources: dict[str, list[str]]
    """Ports that can be compared, by kind; empty: the kind is not available here."""
    fused: str
    """Operator that does the same without the ``if``; empty if there is none."""


class InspectorView(TypedDict):
    """The selected node; ``id`` is empty if there is none."""

    id: str
    op: str
    label: str
    doc: str
    device: str
    """Device: cpu, gpu or mixed."""
    devices: list[str]
    """Devices that can be selected."""
    device_set: str
    """Device set by the user; empty: that of its inputs, for a decoder the graph's setting."""
    follows: str
    """Text for the default device."""
    known: bool
    """False for an operator that the installed DALI does not have."""
    feeds: list[str]
    """Inputs that a generator feeds: ``node.arg``."""
    caution: str
    """Why its preview differs from the script; empty if it does not."""
    selected: int
    """Number of selected nodes; this is the last."""
    errors: list[str]
    """Errors of the node that belong to no row."""
    muted: bool
    """True if the node is excluded from the run."""
    augments: bool
    """True if the node changes images, so it can be applied to some samples only."""
    ports: dict[str, str]
    """Names of the ports in ``links``: ``the random value of rotate.angle``."""
    rows: list[ArgRow]
    condition: str
    """Condition of a block: ``p = 0.5``; else empty."""
    control: str
    """Input of the condition: ``condition``."""
    condition_node: str
    """Node that feeds the condition; empty if not connected."""
    asks: ConditionEntry | None
    """Condition of an ``if``; else null."""
    probability: float | None
    """Probability of an ``if`` with a coin flip; else null."""
    numbered: bool
    """True if the block has options: bodies that can be added, removed and moved."""
    weights: list[float]
    """Probability of each body if one of several is chosen at random; else empty."""
    bodies: list[BodyEntry]
    """Bodies of a block."""
