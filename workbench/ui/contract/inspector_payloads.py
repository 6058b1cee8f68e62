"""Payloads of the inspector (see ``payloads.py``)."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

from workbench.ui.contract.payloads import BodyEntry, Json


class RandomView(TypedDict):
    """Generator and distribution of a random argument."""

    op: str
    """Operator of the generator: ``random.uniform``, ``random.normal``, ``random.coin_flip`` or
    ``random.choice``."""
    args: dict[str, Json]
    """Arguments of the generator, such as ``{"range": [-10, 10]}`` or ``{"probability": 0.5}``."""
    node: str
    shared: list[str]
    """Other consumers of the generator: ``node.arg``, or ``output name`` for a graph output."""


class ArgRow(TypedDict):
    """Row of one argument in the inspector."""

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
    """Kind of control for a fixed value; ``shown`` for a read-only value (see ``locked``)."""
    parts: list[str]
    """Names of the elements of a list or the columns of a matrix; empty if they have no names."""
    mode: Literal["fixed", "random", "linked"]
    value: Json
    """Fixed value: the value that was set, otherwise the default; null if there is no default."""
    random: NotRequired[RandomView]
    link: NotRequired[str]
    """Port that the argument is connected to, as ``node.output``."""
    links: list[str]
    """Ports that the argument can be connected to, as ``node.output``, except its own generator."""
    low: float | None
    high: float | None
    step: float | None
    minimum: float | None
    """Minimum accepted value. The range of the slider may start higher."""
    maximum: float | None
    choices: list[Json]
    default: Json
    changed: bool
    tensor: bool
    """True if another node can provide a separate value for each sample."""
    fixed_only: str
    """Reason why the value cannot be random or connected; empty if it can."""
    distributions: list[str]
    """Generators that can sample the argument, the default first; empty if it cannot be random."""
    off: str
    """Reason why the argument has no effect, such as a conflicting argument; empty if it has an
    effect.
    """
    locked: str
    """Reason why the argument cannot be edited; empty if it can."""
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
    """Ports that can be compared, by kind of condition; the list is empty for unavailable kinds."""
    fused: str
    """Operator that could replace the whole ``if``; empty if there is none."""


class InspectorView(TypedDict):
    """Payload about the selected node; ``id`` is empty if no node is selected."""

    id: str
    op: str
    label: str
    doc: str
    device: str
    """Device that runs the node: cpu, gpu or mixed."""
    devices: list[str]
    device_set: str
    """Device set by the user. If empty, the node runs on the device of its inputs; a decoder runs
    on the device in the graph's settings.
    """
    follows: str
    """Text about the default device, such as ``follows its input``; used if the user sets none."""
    known: bool
    """False if the installed DALI does not have the operator."""
    feeds: list[str]
    """Inputs that use the inspected generator, as ``node.arg``."""
    caution: str
    """Reason why the node's preview differs from the script; empty if it does not."""
    selected: int
    """Number of selected nodes. The inspected node is the last one."""
    errors: list[str]
    """Errors of the node that do not belong to an argument."""
    muted: bool
    """True if the node is excluded from the run."""
    augments: bool
    """True if the node changes images; it can then be applied to a fraction of the samples."""
    ports: dict[str, str]
    """Display name of each port in ``links``, such as ``the random value of rotate.angle``."""
    rows: list[ArgRow]
    condition: str
    """Text of a block's condition, such as ``p = 0.5``; empty if the node has none."""
    control: str
    """Name of the input that controls the block, such as ``condition``; empty for other nodes."""
    condition_node: str
    """Id of the node that computes the condition; empty if the condition is not connected."""
    asks: ConditionEntry | None
    """Condition of an ``if`` block; null for other nodes."""
    probability: float | None
    """Probability of an ``if`` block with a random condition; null for other nodes."""
    numbered: bool
    """True if the block's bodies are options that can be added, removed and moved."""
    weights: list[float]
    """Probability of each body, if the block runs a random one; empty for other nodes."""
    bodies: list[BodyEntry]
