"""A pipeline as DALI holds it: operator calls in order, joined by named edges.

Both a live pipeline and a ``.dali`` file come down to this, and it to a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.catalog.spec import Device, Value
from workbench.graph.model import Executor


class SourceLocation(NamedTuple):
    """Where in a user's source a call stands."""

    file: str
    line: int
    """From 1."""
    function: str
    text: str
    """The line itself, stripped."""


class Loss(NamedTuple):
    """Something of the whole pipeline that may not be as in the source."""

    why: str
    place: str = ""
    """The line of the source, as in messages; empty if it is not known."""


class TracedInput(NamedTuple):
    """An edge that leads into a call."""

    edge: str
    """Name of the edge, for example ``__Image_1`` or ``reader[0]``."""
    device: Device
    """The side from which it is read: other than its maker's where ``.gpu()`` stands between."""
    argument: str | None = None
    """The named argument that it feeds; None for a positional input."""


@dataclass(frozen=True, slots=True)
class TracedOp:
    """One call of one operator.

    ``args`` holds fixed values as DALI stores them: an enum member is its number, and what DALI
    adds for itself (``device``, ``_module``, ``_origin_stack_*``, ``preserve_name``) is left out.
    """

    schema: str
    """DALI's registry name: ``Rotate``, ``readers__File``, ``ArithmeticGenericOp``."""
    name: str
    """DALI's name of the instance: ``__Rotate_2``, or what the user gave as ``name=``."""
    device: Device
    inputs: tuple[TracedInput, ...] = ()
    outputs: tuple[tuple[str, Device], ...] = ()
    """Edges that leave it, with the side on which they lie."""
    args: Mapping[str, Value] = field(default_factory=dict)
    places: tuple[SourceLocation, ...] = ()
    """The stack of its making, outermost first; empty where it was not recorded."""
    module: str = ""
    """``nvidia.dali.fn``, ``nvidia.dali.math``, ... as the user called it."""
    display: str = ""
    """The name that the user called: ``rotate``, ``add``."""
    refused: str | None = None
    """Why DALI could not serialise it (a Python function), or None."""
    kind: str = ""
    """Of a reader that stands for one which a graph lacks: the kind of source that it is."""
    dataset: str = ""
    """The graph's parameter for its data, where it differs from the usual one."""
    ports: tuple[str, ...] = ()
    """The ports of its outputs, where these are not the operator's in their order."""
    changed: str = ""
    """What of it is not as it was, in words."""


@dataclass(frozen=True, slots=True)
class AutomaticCall:
    """A call of automatic augmentation: its function and its fixed arguments."""

    op: str
    args: Mapping[str, Value]
    draws: tuple[str, ...] = ()
    """The names of the operators that stand for what it draws."""
    lost: tuple[str, ...] = ()
    """What of its arguments a node cannot hold, in words."""


@dataclass(frozen=True, slots=True)
class TracedPipeline:
    """Calls in the order of their making, and what the pipeline gives out."""

    ops: tuple[TracedOp, ...]
    outputs: tuple[TracedInput, ...]
    batch_size: int
    num_threads: int
    seed: int | None
    """None where DALI would pick one."""
    device_id: int | None
    """None for a pipeline without a GPU."""
    prefetch_queue_depth: int = 2
    executor: Executor = "dynamic"
    unheld: Mapping[str, str] = field(default_factory=dict)
    """Settings other than DALI's own for which a graph has no place, as Python writes them."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A pipeline, and what is known of where it came from."""

    pipeline: TracedPipeline
    name: str = "imported"
    about: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    """File, as in ``SourceLocation``, -> its text, as far as it could be read."""
    notes: tuple[str, ...] = ()
    """What the reader of the import's report should know."""
    changed: tuple[Loss, ...] = ()
    automatic: Mapping[str, AutomaticCall] = field(default_factory=dict)
    """By the name of the operator that stands for each call of automatic augmentation."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """What was taken for what the source asks for and was not given, as Python writes it."""
    placeholders: tuple[str, ...] = ()
    """Folders that stood for those which the source was not given."""
    pipelines: int = 1
    """As many run side by side, of which this is the first."""
    shard: tuple[str, ...] = ()
    """Arguments of readers with which a program of ours says that it reads the only shard."""
