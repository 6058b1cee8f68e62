"""What a message may name: functions that a worker runs, and classes that are sent to it.

A message never brings code along. Nothing is run, and no module outside the known packages
imported, because a message says so.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from workbench.errors import EngineError

_F = TypeVar("_F", bound=Callable[..., Any])
_T = TypeVar("_T", bound=type)
_registered: dict[str, Any] = {}
_known = {"workbench"}
"""Packages of which modules are imported where a message names them."""


def task(function: _F) -> _F:
    """Register a module's function ``function(worker, *arguments)`` as one that a worker runs.

    Arguments and result travel by their type hints (see ``engine.codec``).
    """
    _registered[name_of(function)] = function
    return function


def sendable(kind: _T) -> _T:
    """Register a dataclass to be sent where a hint names a Protocol that it implements."""
    _registered[name_of(kind)] = kind
    return kind


def name_of(registered: Any) -> str:
    """``module:name`` of a function or class."""
    return f"{registered.__module__}:{registered.__qualname__}"


def find_registered(name: str) -> Any:
    """The function or class of a name, whose module is imported where its package is known.

    Raises EngineError where nothing is registered so.
    """
    module = name.partition(":")[0]
    if name not in _registered and module.partition(".")[0] in _known:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise EngineError(f"{name} cannot be run in the worker: {error}.") from None
    try:
        return _registered[name]
    except KeyError:
        raise EngineError(
            f"{name} cannot be run in the worker: it is not registered. Put @task before a "
            "function of a module, @sendable before a class that is sent."
        ) from None


def known_packages() -> set[str]:
    """The known packages, and those of what is registered here: what a worker needs to know."""
    return _known | {name.partition(":")[0].partition(".")[0] for name in _registered}


def know_packages(names: Iterable[str]) -> None:
    """Let modules of these packages be imported by name, too."""
    _known.update(names)
