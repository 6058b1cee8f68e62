"""Convert transform objects of the running process, such as a ``Compose``, to calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

from workbench.arguments import format_value
from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.errors import ImportFailedError

INCOMPLETE = "incomplete."
"""Prefix of the name of an object that does not store all arguments of its constructor."""
_LIBRARIES = ("torchvision", "albumentations", "kornia", "timm")
_PLAIN = (bool, int, float, str, type(None))


def call_of_object(transform: Any, library: str) -> TransformCall:
    """Return the call that would create an object, or raise ImportFailedError."""
    if not _is_torch(transform, "Sequential") and _package(transform) != library:
        raise ImportFailedError(
            f"{format_value(transform)} is not a transform of {library}. Pass its Compose or one "
            "of its transforms."
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
    if isinstance(value, Mapping):  # by types, such as {torch.Tensor: torch.float32}
        return {getattr(key, "__name__", key): _value(each, library) for key, each in value.items()}
    if _is_torch(value, "dtype"):
        return NamedValue(str(value))
    if hasattr(value, "tolist"):
        return _value(value.tolist(), library)
    kind = type(value)
    if _runs_other_code(value):
        return TransformCall(f"changed.{kind.__name__}")
    if _is_torch(value, "ModuleList"):
        return [_value(each, library) for each in value]
    if _is_torch(value, "Sequential"):
        return TransformCall(f"{library}.Compose", ([_value(each, library) for each in value],))
    package = _package(value)
    if package not in _LIBRARIES:
        return TransformCall(f"{kind.__module__}.{kind.__qualname__}")
    given = _arguments(value, package)
    if not _parameters_of(kind) <= given.keys():
        return TransformCall(f"{INCOMPLETE}{kind.__name__}")  # an argument would get its default
    place = f"{package}.transforms.v2" if ".transforms.v2." in kind.__module__ else package
    return TransformCall(f"{place}.{kind.__name__}", kwargs=given)


def _parameters_of(kind: type) -> set[str]:
    variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(kind).parameters
    return {name for name, each in parameters.items() if each.kind not in variadic}


def call_of_albumentations(transform: Any) -> TransformCall:
    """Return the call that ``to_dict`` describes, including the values that ``to_dict`` omits."""
    saved = transform.to_dict()
    _add_unsaved(saved["transform"], transform)
    return call_of_dictionary(saved)


def _add_unsaved(saved: dict[str, Any], transform: Any) -> None:
    """Add the seed to a saved transform, and mark transforms whose methods are overridden."""
    if getattr(transform, "seed", None) is not None:
        saved["seed"] = transform.seed
    if _runs_other_code(transform):
        saved["__class_fullname__"] = f"changed.{type(transform).__name__}"
    for inner_saved, inner in zip(
        saved.get("transforms", ()), getattr(transform, "transforms", ()), strict=False
    ):
        _add_unsaved(inner_saved, inner)


def _package(value: Any) -> str:
    return type(value).__module__.partition(".")[0]


def _is_torch(value: Any, class_name: str) -> bool:
    return _package(value) == "torch" and type(value).__name__ == class_name


def _runs_other_code(value: Any) -> bool:
    """Return True if an object has hooks, or overrides methods of its class."""
    own = getattr(value, "__dict__", {})
    return any(own.get(hooks) for hooks in ("_forward_hooks", "_forward_pre_hooks")) or any(
        callable(each) and callable(getattr(type(value), name, None)) for name, each in own.items()
    )


def _arguments(value: Any, library: str) -> dict[str, Any]:
    """Return the constructor arguments that an object stores under the same names."""
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
    """Return the call in a dictionary returned by ``albumentations.to_dict`` or loaded from a file.

    ``key`` selects one of several compositions of a configuration, such as ``train.transform``.
    Raises ImportFailedError if there is no composition, or if several are found without a key.
    """
    found = dict(_saved_transforms(saved))
    if not found:
        raise ImportFailedError(
            "There is no Albumentations composition (no __class_fullname__). Save one with "
            "albumentations.save."
        )
    named = ", ".join(found)
    if key is None and len(found) > 1:
        raise ImportFailedError(
            f"There are {len(found)} compositions: {named}. Select one with pipeline= (command "
            "line: --pipeline)."
        )
    chosen = next(iter(found)) if key is None else key
    if chosen not in found:
        raise ImportFailedError(f"No composition is named {key!r}. Use one of: {named}.")
    return _saved_call(found[chosen])


def _saved_transforms(value: Any, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the outermost saved transforms in a configuration, with their dotted keys."""
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
