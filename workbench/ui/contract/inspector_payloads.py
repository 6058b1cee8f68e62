"""Payloads of the inspector (see ``payloads.py``)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.ui.contract.payloads import BodyEntry, Json


class RandomView(TypedDict):
    """Distribution of a random argument."""

    op: str
    """Operator of the generator: ``random.uniform``, ``random.normal``, ``random.coin_flip`` or
    ``random.choice``."""
    args: dict[str, Json]
    """Arguments of the generator, such as ``{"range": [-10, 10]}`` or ``{"probability": 0.5}``."""
    node: str
    shared: list[str]
    """Other inputs that use the generator: ``node.arg``, or ``output name``."""


class ArgRow(TypedDict):
    """One argument in the inspector."""

    name: str
    label: str
    unit: str
    doc: str
    kind: str
    """Kind of the argument, as in ``ArgSpec.kind``."""
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
    """Control for a fixed value. ``shown`` is read-only, with the reason in ``locked``."""
    parts: list[str]
    """Names of a list's elements or of a matrix' columns; may be empty."""
    mode: Literal["fixed", "random", "linked"]
    value: Json
    """Fixed value: the value that was set, else the default, else null."""
    random: NotRequired[RandomView]
    link: NotRequired[str]
    """Port that the argument is connected to: ``node.output``."""
    links: list[str]
    """Ports that it can be connected to, ``node.output``, except its own generator."""
    low: float | None
    high: float | None
    step: float | None
    minimum: float | None
    """Minimum accepted value; the range of a slider may start higher."""
    maximum: float | None
    choices: list[Json]
    default: Json
    changed: bool
    tensor: bool
    """Whether another node can provide a separate value for each sample."""
    fixed_only: str
    """Why the value cannot be random or connected; empty if it can be."""
    distributions: list[str]
    """Generators that the argument can use, the default first; empty if it cannot be random."""
    off: str
    """Why the argument has no effect at present, such as a conflicting argument; else empty."""
    locked: str
    """Why the argument cannot be edited, or empty."""
    required: bool
    advanced: bool
    deprecated: str
    error: str


class ConditionEntry(TypedDict):
    """Condition of an ``if`` block."""

    kind: str
    """Kind of condition: ``chance``, ``label``, ``size``, ``comparison`` or ``other``; empty if the
    condition is not connected."""
    classes: list[int]
    measure: str
    comparison: str
    value: float | None
    source: str
    """Port whose values are compared; empty for a random condition."""
    sources: dict[str, list[str]]
    """Ports that can be compared, by kind of condition; none if the kind is not available here."""
    fused: str
    """Operator that does the same without the ``if``; empty if there is none."""


class InspectorView(TypedDict):
    """The selected node; ``id`` is empty if there is none."""

    id: str
    op: str
    label: str
    doc: str
    device: str
    """Device that runs the node: cpu, gpu or mixed."""
    devices: list[str]
    device_set: str
    """Device set by the user. Empty: the device of its inputs, or for a decoder the graph's
    setting."""
    follows: str
    """Text for the default device, which the user did not set."""
    known: bool
    """False for an operator that the installed DALI does not have."""
    feeds: list[str]
    """Inputs that use the generator: ``node.arg``."""
    caution: str
    """Why the node's preview differs from the script; empty if it does not."""
    selected: int
    """Number of selected nodes. The inspected node is the last one."""
    errors: list[str]
    """Errors of the node that do not belong to an argument."""
    muted: bool
    """True if the node is excluded from the run."""
    augments: bool
    """True if the node changes images, so it can be applied to some samples only."""
    ports: dict[str, str]
    """Display name of each port in ``links``, such as ``the random value of rotate.angle``."""
    rows: list[ArgRow]
    condition: str
    """Text of a block's condition, such as ``p = 0.5``; else empty."""
    control: str
    """Name of the input for a block's condition: ``condition``."""
    condition_node: str
    """Node that computes the condition; empty if the condition is not connected."""
    asks: ConditionEntry | None
    """Condition of an ``if``; else null."""
    probability: float | None
    """Probability of an ``if`` with a coin flip; else null."""
    numbered: bool
    """True if the block has options: bodies that can be added, removed and moved."""
    weights: list[float]
    """Probability of each body if one of several is chosen at random; else empty."""
    bodies: list[BodyEntry]
