"""Register, by name, the functions that a worker runs and the classes that are sent to it.

Messages contain names, never code. A message can run only registered functions, and can import
only modules of known packages.
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
"""Packages whose modules a message may import."""


def task(function: _F) -> _F:
    """Register a module's function ``function(worker, *arguments)`` as a task of the worker.

    The type hints of the arguments and the result determine how they are sent (``engine.codec``).
    """
    _registered[name_of(function)] = function
    return function


def sendable(kind: _T) -> _T:
    """Register a dataclass, so that it can be sent as a value of a Protocol that it implements."""
    _registered[name_of(kind)] = kind
    return kind


def name_of(registered: Any) -> str:
    """Return the name under which a function or class is registered: ``module:name``."""
    return f"{registered.__module__}:{registered.__qualname__}"


def find_registered(name: str) -> Any:
    """Return the function or class with a name. Its module is imported if its package is known.

    Raises EngineError if nothing is registered with this name.
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
            f"{name} cannot be run in the worker: it is not registered. Add @task "
            "to a function at module level, or @sendable to a class."
        ) from None


def known_packages() -> set[str]:
    """Return the packages that a worker may import: known ones, and those of registered objects."""
    return _known | {name.partition(":")[0].partition(".")[0] for name in _registered}


def register_packages(names: Iterable[str]) -> None:
    """Allow modules of these packages to be imported by name."""
    _known.update(names)
