"""A composition that lives in this process -> calls, read from what its objects hold."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from enum import Enum
from typing import Any

from workbench.arguments import shown
from workbench.emit.transform_import.transform_call import NamedValue, TransformCall
from workbench.errors import ImportFailedError

_PLAIN = (bool, int, float, str, type(None))


def call_of_object(transform: Any, library: str) -> TransformCall:
    """The call that makes such an object again. Raises ImportFailedError for another's."""
    if type(transform).__name__ == "Sequential":  # torch's
        return TransformCall(f"{library}.Compose", (_value(transform, library),))
    if not type(transform).__module__.startswith(library):
        raise ImportFailedError(
            f"{shown(transform)} is no transformation of {library}. Give its Compose, or one of "
            "its transformations."
        )
    found = _value(transform, library)
    assert isinstance(found, TransformCall)
    return found


def _value(value: Any, library: str) -> Any:
    if isinstance(value, Enum):
        return NamedValue(str(value))
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, list | tuple):
        return type(value)(_value(each, library) for each in value)
    if hasattr(value, "tolist"):
        return _value(value.tolist(), library)
    kind = type(value)
    if kind.__name__ in ("ModuleList", "Sequential"):  # torch's, which hold others
        return [_value(each, library) for each in value]
    name = f"{kind.__module__}.{kind.__qualname__}"
    if not kind.__module__.startswith(library):
        return TransformCall(name)
    return TransformCall(f"{library}.{kind.__name__}", kwargs=_arguments(value, library))


def _arguments(value: Any, library: str) -> dict[str, Any]:
    """What its class was called with, as far as it keeps that under the same names."""
    given: dict[str, Any] = {}
    for kind in type(value).__mro__[:-1]:
        try:
            parameters = inspect.signature(kind).parameters
        except (TypeError, ValueError):
            continue
        for name, parameter in parameters.items():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if name not in given and name != "self" and hasattr(value, name):
                given[name] = _value(getattr(value, name), library)
        if kind is type(value) and not any(
            each.kind == each.VAR_KEYWORD for each in parameters.values()
        ):
            break
    return given


def call_of_dictionary(saved: Mapping[str, Any]) -> TransformCall:
    """The calls in what ``albumentations.to_dict`` gives, and its YAML and JSON hold.

    Raises ImportFailedError for another dictionary.
    """
    found = saved.get("transform", saved)
    if not isinstance(found, Mapping) or not isinstance(found.get("__class_fullname__"), str):
        raise ImportFailedError(
            "It holds no composition of Albumentations: no transform with a __class_fullname__. "
            "Save it with albumentations.save."
        )
    return _saved_call(found)


def _saved_call(saved: Mapping[str, Any]) -> TransformCall:
    name = str(saved["__class_fullname__"])
    library = (
        name if name.startswith("albumentations.") or "." in name else f"albumentations.{name}"
    )
    kwargs = {key: _saved_value(each) for key, each in saved.items() if not key.startswith("__")}
    return TransformCall(library, kwargs=kwargs)


def _saved_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _saved_call(value) if "__class_fullname__" in value else dict(value)
    if isinstance(value, list):
        return [_saved_value(each) for each in value]
    return value
