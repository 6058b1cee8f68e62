"""What the inspector may ask for."""

from __future__ import annotations

from typing import Any

from workbench.ui.contract.actions.base import Action, OpenScope, Redo, SelectNode, Undo
from workbench.ui.contract.actions.canvas import AddElif, Fuse, Mute, Unwrap
from workbench.ui.contract.actions.panels import CountBranches
from workbench.ui.contract.actions.speed import MeasureFused, StopFused


class SetArgument(Action, tag="set", frozen=True):
    """Give an argument a fixed value; null resets it."""

    node: str
    arg: str
    value: Any
    group: str = ""
    """Shared by the steps of one drag, which are one step of undo."""


class ResetArgument(Action, tag="reset", frozen=True):
    """Give an argument its usual value back."""

    node: str
    arg: str


class LinkArgument(Action, tag="link", frozen=True):
    """Feed an argument from another node's output."""

    node: str
    arg: str
    source: str
    output: str


class SetDevice(Action, tag="device", frozen=True):
    """Say where a node runs."""

    node: str
    device: str
    """Empty: it follows its inputs."""


class RandomiseArgument(Action, tag="randomise", frozen=True):
    """Draw an argument from a distribution."""

    node: str
    arg: str
    op: str
    """A ``random.*`` operator."""
    args: dict[str, Any] | None = None
    """Of the generator, where they are not to be the usual ones."""


class OwnGenerator(Action, tag="own", frozen=True):
    """Give an argument a generator of its own, a copy of the one that it shares."""

    node: str
    arg: str


class FixArgument(Action, tag="fix", frozen=True):
    """Give a random or linked argument a fixed value."""

    node: str
    arg: str


class SetGeneratorArgument(Action, tag="set_random", frozen=True):
    """Change an argument of the generator that feeds an argument."""

    node: str
    arg: str
    key: str
    """The generator's argument."""
    value: Any
    group: str = ""
    """As of ``set``."""


class SetProbability(Action, tag="set_probability", frozen=True):
    """Say with which probability the first body of an ``if`` runs."""

    block: str
    probability: float | str
    """Words are refused."""
    group: str = ""
    """As of ``set``."""


class SetCondition(Action, tag="set_condition", frozen=True):
    """Say of what an ``if`` asks each sample. What is left out stays as it is, or is as usual."""

    block: str
    kind: str
    """``chance``, ``label``, ``size`` or ``comparison``."""
    classes: list[int | str] | None = None
    """Of ``label``: numbers of the classes. Words are refused."""
    measure: str = ""
    """Of ``size``: ``height``, ``width``, ``longer side``, ``shorter side`` or ``aspect``."""
    comparison: str = ""
    """Of ``size`` and ``comparison``: ``<``, ``<=``, ``>``, ``>=``, ``==`` or ``!=``."""
    value: float | str | None = None
    """What it is compared with. Words are refused."""
    source: str = ""
    """The port of which it is asked: ``decode.output``."""
    group: str = ""
    """As of ``set``."""


class SetWeights(Action, tag="set_weights", frozen=True):
    """Say in which proportion the bodies of a block run."""

    block: str
    weights: list[float | str]
    """Words are refused."""


class AddOption(Action, tag="add_option", frozen=True):
    """Give a block another body, which passes on what it takes in."""

    block: str


class RemoveOption(Action, tag="remove_option", frozen=True):
    """Take a body away from a block, with what stands in it."""

    block: str
    body: str


class MoveOption(Action, tag="move_option", frozen=True):
    """Let a body of a block change places with its neighbour; its weight goes along."""

    block: str
    body: str
    by: int
    """-1 or 1."""


class NameBody(Action, tag="name_body", frozen=True):
    """Call a body of a block by a name of the person's own."""

    block: str
    body: str
    title: str
    """Empty: no more than ``option_1``."""


class OwnPolicy(Action, tag="own_policy", frozen=True):
    """Make a learnt policy of automatic augmentation one's own, to be edited."""

    node: str
    name: str
    """Of the policy; empty: the one that the node has."""


InspectorEdit = (
    SetArgument | ResetArgument | LinkArgument | SetDevice | RandomiseArgument
    | OwnGenerator | FixArgument | SetGeneratorArgument
    | SetProbability | SetCondition | SetWeights | AddOption | RemoveOption | MoveOption
    | NameBody | OwnPolicy
)  # fmt: skip
InspectorAction = (
    InspectorEdit
    | CountBranches
    | Mute
    | Unwrap
    | AddElif
    | Fuse
    | MeasureFused
    | StopFused
    | OpenScope
    | SelectNode
    | Undo
    | Redo
)
