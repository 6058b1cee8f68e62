"""Represent a pipeline as DALI does: operator calls in order, connected by named edges.

Pipelines in memory and ``.dali`` files are converted to this form, and then to a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from workbench.catalog.spec import Device, Value
from workbench.graph.model import Executor


class SourceLocation(NamedTuple):
    """Location of a call in a user's code."""

    file: str
    line: int
    """Line number, from 1."""
    function: str
    text: str
    """Text of the line, without surrounding whitespace."""


class Loss(NamedTuple):
    """A possible difference between graph and source code that concerns the whole pipeline."""

    why: str
    place: str = ""
    """Location in the user's code as shown in messages, such as ``train.py:12``, or "" if unknown.
    """


class TracedInput(NamedTuple):
    """An input edge of a call."""

    edge: str
    """Name of the edge, for example ``__Image_1`` or ``reader[0]``."""
    device: Device
    """Device on which the consumer uses the input, for example ``gpu`` after ``.gpu()``."""
    argument: str | None = None
    """Name of the argument that the edge is connected to, or None for a positional input."""


@dataclass(frozen=True, slots=True)
class TracedOp:
    """One call of an operator.

    ``args`` has constant arguments as DALI stores them: an enum member is its number. DALI's
    internal arguments (``device``, ``_module``, ``_origin_stack_*``, ``preserve_name``) are
    omitted.
    """

    schema: str
    """Name in DALI's registry, such as ``Rotate``, ``readers__File`` or ``ArithmeticGenericOp``."""
    name: str
    """DALI's name of the call, such as ``__Rotate_2``, or the user's ``name=``."""
    device: Device
    inputs: tuple[TracedInput, ...] = ()
    outputs: tuple[tuple[str, Device], ...] = ()
    """Pairs of the output edge's name and its device."""
    args: Mapping[str, Value] = field(default_factory=dict)
    places: tuple[SourceLocation, ...] = ()
    """Call stack, outermost first, or an empty tuple if DALI did not record it."""
    module: str = ""
    """Module of the called function, such as ``nvidia.dali.fn`` or ``nvidia.dali.math``."""
    display: str = ""
    """Name of the called function, such as ``rotate`` or ``add``."""
    refused: str | None = None
    """Reason why DALI could not serialise the call (a Python function), or None."""
    kind: str = ""
    """Source kind of a reader that replaces an unsupported reader, or "" for other calls."""
    dataset: str = ""
    """Graph parameter for a reader's data, or an empty string for the default parameter."""
    ports: tuple[str, ...] = ()
    """Port names of the outputs, or an empty tuple if these are the operator's ports in order."""
    changed: str = ""
    """Description of differences from the source code."""


@dataclass(frozen=True, slots=True)
class AutomaticCall:
    """A call of automatic augmentation: its function and its constant arguments."""

    op: str
    args: Mapping[str, Value]
    draws: tuple[str, ...] = ()
    """Names of the DALI operators that sample the random values of the call."""
    lost: tuple[str, ...] = ()
    """Arguments that a node cannot represent, as Python code."""


@dataclass(frozen=True, slots=True)
class TracedPipeline:
    """Calls of a pipeline in source order, its outputs and its settings."""

    ops: tuple[TracedOp, ...]
    outputs: tuple[TracedInput, ...]
    batch_size: int
    num_threads: int
    seed: int | None
    """Seed of the pipeline, or None if DALI would choose one."""
    device_id: int | None
    """GPU of the pipeline, or None if it uses no GPU."""
    prefetch_queue_depth: int = 2
    executor: Executor = "dynamic"
    unheld: Mapping[str, str] = field(default_factory=dict)
    """Non-default settings that a graph cannot represent, with their values as Python code."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A pipeline, with information about its source code."""

    pipeline: TracedPipeline
    name: str = "imported"
    about: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Text of each readable file, by file name as in ``SourceLocation``."""
    notes: tuple[str, ...] = ()
    """Notes for the import report."""
    changed: tuple[Loss, ...] = ()
    automatic: Mapping[str, AutomaticCall] = field(default_factory=dict)
    """Calls of automatic augmentation, by the name of the operator that represents the call."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """Values, as Python code, that were assumed for missing arguments of the pipeline function."""
    placeholders: tuple[str, ...] = ()
    """Folders that were passed for missing arguments."""
    pipelines: int = 1
    """Number of parallel pipelines in the source code. ``pipeline`` is the first of them."""
    shard: tuple[str, ...] = ()
    """Reader arguments that select a shard in an exported program. A graph omits them."""
