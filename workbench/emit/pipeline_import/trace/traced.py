"""A pipeline as DALI represents it: operator calls in order, connected by named edges.

Live pipelines and ``.dali`` files are converted to this form, and then to a graph.
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
    """Line number, from 1."""
    function: str
    text: str
    """Text of the line, without surrounding whitespace."""


class Loss(NamedTuple):
    """A possible difference of the whole pipeline from the source."""

    why: str
    place: str = ""
    """Source line as shown in messages, such as ``train.py:12``. Empty if unknown."""


class TracedInput(NamedTuple):
    """An input edge of a call."""

    edge: str
    """Name of the edge, for example ``__Image_1`` or ``reader[0]``."""
    device: Device
    """Device of the consumer's input. It differs from the producer's device after ``.gpu()``."""
    argument: str | None = None
    """Name of the argument that the edge is connected to; None for a positional input."""


@dataclass(frozen=True, slots=True)
class TracedOp:
    """One call of one operator.

    ``args`` has fixed values as DALI stores them: an enum member is its number; DALI's internal
    arguments (``device``, ``_module``, ``_origin_stack_*``, ``preserve_name``) are omitted.
    """

    schema: str
    """Name in DALI's registry: ``Rotate``, ``readers__File``, ``ArithmeticGenericOp``."""
    name: str
    """DALI's instance name: ``__Rotate_2``, or the user's ``name=``."""
    device: Device
    inputs: tuple[TracedInput, ...] = ()
    outputs: tuple[tuple[str, Device], ...] = ()
    """Names of the output edges, each with its device."""
    args: Mapping[str, Value] = field(default_factory=dict)
    places: tuple[SourceLocation, ...] = ()
    """The call stack, outermost first; empty if not recorded."""
    module: str = ""
    """Module of the called function: ``nvidia.dali.fn``, ``nvidia.dali.math``, ..."""
    display: str = ""
    """Name of the called function: ``rotate``, ``add``."""
    refused: str | None = None
    """Reason why DALI could not serialise the call (a Python function), or None."""
    kind: str = ""
    """Source kind of a reader that replaces an unsupported one; empty for other calls."""
    dataset: str = ""
    """Graph parameter for a reader's data. Empty for the default parameter."""
    ports: tuple[str, ...] = ()
    """Port names of the outputs. Empty if they are the operator's ports in order."""
    changed: str = ""
    """Differences from the source, as text."""


@dataclass(frozen=True, slots=True)
class AutomaticCall:
    """A call of automatic augmentation: its function and its fixed arguments."""

    op: str
    args: Mapping[str, Value]
    draws: tuple[str, ...] = ()
    """Names of the DALI operators that sample its random values."""
    lost: tuple[str, ...] = ()
    """Arguments that a node cannot represent, as text."""


@dataclass(frozen=True, slots=True)
class TracedPipeline:
    """Calls of a pipeline in source order, its outputs and its settings."""

    ops: tuple[TracedOp, ...]
    outputs: tuple[TracedInput, ...]
    batch_size: int
    num_threads: int
    seed: int | None
    """Seed of the pipeline; None if DALI would choose one."""
    device_id: int | None
    """GPU of the pipeline; None for a pipeline without a GPU."""
    prefetch_queue_depth: int = 2
    executor: Executor = "dynamic"
    unheld: Mapping[str, str] = field(default_factory=dict)
    """Settings that a graph cannot represent and that are not the default, as Python code."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A pipeline, with information about its source."""

    pipeline: TracedPipeline
    name: str = "imported"
    about: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    """File name as in ``SourceLocation`` -> text of the file, if readable."""
    notes: tuple[str, ...] = ()
    """Notes for the import report."""
    changed: tuple[Loss, ...] = ()
    automatic: Mapping[str, AutomaticCall] = field(default_factory=dict)
    """Name of the operator that represents a call of automatic augmentation -> the call."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Missing arguments of the pipeline function -> the values assumed for them, as Python code."""
    placeholders: tuple[str, ...] = ()
    """Folders that were passed for missing arguments."""
    pipelines: int = 1
    """Number of parallel pipelines in the source. ``pipeline`` is the first one."""
    shard: tuple[str, ...] = ()
    """Reader arguments that an exported program sets for its only shard. The graph omits them."""
