"""Convert recorded calls of a library to plain values: numbers, strings, lists and calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.engine.script_import.placeholders import StandIn, StandIns
from workbench.engine.transform_tracing.custom_transforms import (
    UniformNumber,
    definition_location,
    read_own_transform,
)
from workbench.engine.transform_tracing.recorded_calls import RecordedBase, RecordedCall

_MOST_DEPTH = 40


def transform_call(recorded: RecordedCall) -> TransformCall:
    """Convert a recorded call and its arguments to plain values."""
    return _Values(recorded._stand_ins).call(recorded, 0)


class _Values:
    def __init__(self, owner: StandIns) -> None:
        self._owner = owner

    def call(self, recorded: RecordedCall, depth: int) -> TransformCall:
        return TransformCall(
            recorded._name,
            tuple(self.plain(each, depth + 1) for each in recorded._args),
            {name: self.plain(each, depth + 1) for name, each in recorded._kwargs.items()},
            recorded._place,
        )

    def plain(self, value: Any, depth: int) -> Any:
        """Convert a value of a recorded call to numbers, strings, lists and ``TransformCall``."""
        if isinstance(value, bool | type(None)):
            return value
        for kind in (int, float, str):
            if isinstance(value, kind):
                return kind(value)  # the plain one, of a user's class
        if depth > _MOST_DEPTH:
            return NamedValue("...")
        if isinstance(value, UniformNumber):
            return value.value()
        if isinstance(value, RecordedCall):
            return self.call(value, depth)
        if isinstance(value, StandIn):
            return NamedValue(str(value))
        if isinstance(value, list | tuple):
            return [self.plain(each, depth + 1) for each in value]
        if isinstance(value, Mapping):
            return {str(name): self.plain(each, depth + 1) for name, each in value.items()}
        if hasattr(value, "tolist"):
            return self.plain(value.tolist(), depth + 1)
        name = getattr(value, "name", None)
        if isinstance(name, str) and hasattr(value, "value"):  # an enum's
            return NamedValue(f"{type(value).__name__}.{name}")
        return self._own(value, depth)

    def _own(self, value: Any, depth: int) -> Any:
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}"
        if name == "torch.dtype":
            return NamedValue(str(value))  # torch.float32
        if kind.__module__.startswith("PIL."):  # one of its filters
            given = {key: self.plain(each, depth + 1) for key, each in vars(value).items()}
            return TransformCall(name, kwargs=given)
        if (base := RecordedBase.unchanged_call(value)) is not None:
            return self.call(base, depth)
        if callable(value):
            steps = read_own_transform(value, self._owner, lambda call: self.call(call, depth + 1))
            if steps is not None:
                return steps
        if isinstance(value, FunctionType):
            code = value.__code__
            place = f"{Path(code.co_filename).name}:{code.co_firstlineno}"
            return NamedValue(f"{value.__name__} of {place}")
        return TransformCall(name, place=definition_location(value) if callable(value) else "")
