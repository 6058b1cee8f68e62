"""Define the messages between an engine and its worker.

A call is answered by any number of ``NodesRunning`` and ``ProgressReport`` messages, and then by a
``Result`` or ``Failure``. A ``Heartbeat`` is sent each second. The payload of ``Call`` is the
task's arguments, the payload of ``Result`` is the task's result, and the payload of ``Failure`` is
the arguments of the error. All are encoded by their declared types.
"""

from __future__ import annotations

from functools import cache
from inspect import isfunction
from types import GenericAlias
from typing import Any, get_type_hints

import msgspec

from workbench import errors
from workbench.engine.protocol.codec import Codec, codec_of
from workbench.errors import WorkbenchError
from workbench.graph.model.faults import Fault


class Call(msgspec.Struct, tag="call", array_like=True, frozen=True):
    """Request to run a task; ``task`` is its registered name (``module:function``)."""

    number: int
    task: str
    arguments: int
    """Number of arguments that are sent. The others have their defaults."""
    keep: tuple[int, int] | None = None
    """New cache limits between calls in bytes, as (host, GPU), or None for no change."""


class Interrupt(msgspec.Struct, tag="interrupt", array_like=True, frozen=True):
    """Request to end call ``number`` before its next stage."""

    number: int


class ReleaseMemory(msgspec.Struct, tag="give_back", array_like=True, frozen=True):
    """Request to drop all caches, because other processes need the memory. It is not answered."""

    number: int = 0
    """Always 0, because the message does not belong to a call."""


class Ready(msgspec.Struct, tag="ready", array_like=True, frozen=True):
    """Sent when the worker has started."""


class Heartbeat(msgspec.Struct, tag="heartbeat", array_like=True, frozen=True):
    """Sent regularly, also during a long call, to show that the worker's process is alive."""


class NodesRunning(msgspec.Struct, tag="running", array_like=True, frozen=True):
    """The nodes that are about to run, and the files that they decode."""

    number: int
    nodes: tuple[str, ...]
    files: tuple[str, ...] = ()


class ProgressReport(msgspec.Struct, tag="report", array_like=True, frozen=True):
    """Sent to report the progress of the task."""

    number: int
    value: bool | int | float | str


class Result(msgspec.Struct, tag="result", array_like=True, frozen=True):
    """Sent when a call succeeded."""

    number: int


class Failure(msgspec.Struct, tag="failure", array_like=True, frozen=True):
    """Sent when a call failed, with the name of an error in ``workbench.errors``."""

    number: int
    error: str


ToWorker = Call | Interrupt | ReleaseMemory
FromWorker = Ready | Heartbeat | NodesRunning | ProgressReport | Result | Failure


def encode_error(error: WorkbenchError) -> tuple[str, bytes]:
    """Return an error's name and its encoded arguments.

    An error class that is not in ``workbench.errors`` is encoded as its base class.
    """
    name = next(
        each.__name__ for each in type(error).__mro__ if _error_class(each.__name__) is each
    )
    first, *others = _parameters(name)
    # the first argument of GraphFaultsError is the faults, of all others the message
    values = [getattr(error, first, str(error)), *(getattr(error, other) for other in others)]
    return name, _codec(name).encode(values)


def decode_error(name: str, data: memoryview) -> WorkbenchError:
    """Return the error with this name. Raises ValueError if it is not in ``workbench.errors``."""
    kind = _error_class(name)
    if kind is None:
        raise ValueError(f"{name} is not an error of the workbench")
    return kind(*_codec(name).decode(data))


def _error_class(name: str) -> type[WorkbenchError] | None:
    kind = vars(errors).get(name)
    return kind if isinstance(kind, type) and issubclass(kind, WorkbenchError) else None


@cache
def _parameters(name: str) -> dict[str, Any]:
    """Return the type of each constructor argument of an error, by argument name."""
    make = vars(errors)[name].__init__
    if not isfunction(make):  # a built-in exception's
        return {"message": str}
    hints = get_type_hints(make, localns={"Fault": Fault})
    return {argument: hint for argument, hint in hints.items() if argument != "return"}


@cache
def _codec(name: str) -> Codec:
    return codec_of(GenericAlias(tuple, tuple(_parameters(name).values())))
