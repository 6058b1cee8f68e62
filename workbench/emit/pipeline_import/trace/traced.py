"""A pipeline as DALI represents it: operator calls in order, connected by named edges.

The common form of live pipelines and ``.dali`` files before conversion to a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.catalog.spec import Device, Value
from workbench.graph.model import Executor


class SourceLocation(NamedTuple):
    """Location of a call in a user's source."""

    file: str
    line: int
    """From 1."""
    function: str
    text: str
    """The line itself, stripped."""


class Loss(NamedTuple):
    """A possible difference of the whole pipeline from the source."""

    why: str
    place: str = ""
    """The line of the source, as in messages; empty if unknown."""


class TracedInput(NamedTuple):
    """An input edge of a call."""

    edge: str
    """Name of the edge, for example ``__Image_1`` or ``reader[0]``."""
    device: Device
    """The device from which it is read: differs from its producer's after ``.gpu()``."""
    argument: str | None = None
    """The named argument that it feeds; None for a positional input."""


@dataclass(frozen=True, slots=True)
class TracedOp:
    """One call of one operator.

    ``args`` has fixed values as DALI stores them: an enum member is its number; DALI's internal
    arguments (``device``, ``_module``, ``_origin_stack_*``, ``preserve_name``) are omitted.
    """

    schema: str
    """DALI's registry name: ``Rotate``, ``readers__File``, ``ArithmeticGenericOp``."""
    name: str
    """DALI's name of the instance: ``__Rotate_2``, or the user's ``name=``."""
    device: Device
    inputs: tuple[TracedInput, ...] = ()
    outputs: tuple[tuple[str, Device], ...] = ()
    """Output edges with their devices."""
    args: Mapping[str, Value] = field(default_factory=dict)
    places: tuple[SourceLocation, ...] = ()
    """The call stack, outermost first; empty if not recorded."""
    module: str = ""
    """``nvidia.dali.fn``, ``nvidia.dali.math``, ... as the user called it."""
    display: str = ""
    """The function that the user called: ``rotate``, ``add``."""
    refused: str | None = None
    """Why DALI could not serialise it (a Python function), or None."""
    kind: str = ""
    """For a reader that replaces an unsupported one: its kind of source."""
    dataset: str = ""
    """The graph's parameter for its data, if it is not the default."""
    ports: tuple[str, ...] = ()
    """The ports of its outputs, if they are not the operator's in order."""
    changed: str = ""
    """Differences from the source, as text."""


@dataclass(frozen=True, slots=True)
class AutomaticCall:
    """A call of automatic augmentation: its function and its fixed arguments."""

    op: str
    args: Mapping[str, Value]
    draws: tuple[str, ...] = ()
    """The names of the operators that represent its random values."""
    lost: tuple[str, ...] = ()
    """Arguments that a node cannot represent, as text."""


@dataclass(frozen=True, slots=True)
class TracedPipeline:
    """Calls in source order, and the outputs of the pipeline."""

    ops: tuple[TracedOp, ...]
    outputs: tuple[TracedInput, ...]
    batch_size: int
    num_threads: int
    seed: int | None
    """None if DALI would choose one."""
    device_id: int | None
    """None for a pipeline without a GPU."""
    prefetch_queue_depth: int = 2
    executor: Executor = "dynamic"
    unheld: Mapping[str, str] = field(default_factory=dict)
    """Settings other than DALI's defaults that a graph cannot represent, as Python code."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A pipeline and its known origin."""

    pipeline: TracedPipeline
    name: str = "imported"
    about: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    """File, as in ``SourceLocation``, -> its text, if readable."""
    notes: tuple[str, ...] = ()
    """Notes for the import report."""
    changed: tuple[Loss, ...] = ()
    automatic: Mapping[str, AutomaticCall] = field(default_factory=dict)
    """By the name of the operator that represents each call of automatic augmentation."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Values assumed for missing arguments, as Python code."""
    placeholders: tuple[str, ...] = ()
    """Folders that replaced missing arguments."""
    pipelines: int = 1
    """Number of parallel pipelines; this is the first."""
    shard: tuple[str, ...] = ()
    """Reader arguments with which an exported program reads the only shard."""
