"""A composition that lives in this process -> calls, read from what its objects hold."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
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


def call_of_dictionary(saved: Mapping[str, Any], key: str | None = None) -> TransformCall:
    """The calls in what ``albumentations.to_dict`` returns, and its YAML and JSON hold.

    ``key`` selects one of several compositions of a configuration, such as ``train.transform``.
    Raises ImportFailedError if there is no composition, or several and no key.
    """
    found = dict(_saved_transforms(saved))
    if not found:
        raise ImportFailedError(
            "It holds no composition of Albumentations: no transform with a __class_fullname__. "
            "Save it with albumentations.save."
        )
    named = ", ".join(found)
    if key is None and len(found) > 1:
        raise ImportFailedError(
            f"It holds {len(found)} compositions: {named}. Name one of them (from_file: pipeline=, "
            "in the shell --pipeline)."
        )
    chosen = next(iter(found)) if key is None else key
    if chosen not in found:
        raise ImportFailedError(f"It has no composition {key!r}. It has {named}.")
    return _saved_call(found[chosen])


def _saved_transforms(value: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The outermost saved transforms in a configuration, by their dotted keys."""
    if isinstance(value, Mapping):
        if isinstance(value.get("__class_fullname__"), str):
            yield path or "transform", value
            return
        items: Iterable[tuple[Any, Any]] = value.items()
    else:
        items = enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from _saved_transforms(each, f"{path}.{key}" if path else str(key))


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
