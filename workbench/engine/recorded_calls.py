"""Libraries of transformations stood in for by names whose calls are noted, installed or not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from workbench.emit.transform_import.timm import CONSTANTS
from workbench.emit.transform_import.transform_call import NamedValue, TransformCall
from workbench.engine.stand_ins import StandIn, StandIns

_WORKBENCH = Path(__file__).parents[1]
_MOST_DEPTH = 40


class RecordedName(StandIn):
    """A class or function of a library: what is called under its name is noted."""

    def __init__(self, owner: StandIns, name: str, calls: list[RecordedCall]) -> None:
        super().__init__(owner, name)
        self.__dict__["_calls"] = calls

    def _next(self, name: str) -> RecordedName:
        return RecordedName(self._stand_ins, f"{self._name}{name}", self._calls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = RecordedCall(self._stand_ins, self._name, args, kwargs)
        self._calls.append(call)
        return call


class RecordedCall(StandIn):
    """What such a call gives. Its lists are the caller's: what is put into them later counts."""

    def __init__(
        self, owner: StandIns, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        super().__init__(owner, name)
        self.__dict__.update(_args=args, _kwargs=dict(kwargs), _place=_calling_line())

    def __getattr__(self, name: str) -> Any:
        if name == "transforms":
            first = self._args[0] if self._args else self._next(".transforms")
            return self._kwargs.get(name, first)
        return super().__getattr__(name)

    def transform_call(self, depth: int = 0) -> TransformCall:
        """The call as plain values."""
        return TransformCall(
            self._name,
            tuple(plain_value(each, depth + 1) for each in self._args),
            {name: plain_value(each, depth + 1) for name, each in self._kwargs.items()},
            self._place,
        )


def plain_value(value: Any, depth: int = 0) -> Any:
    """Numbers, texts, lists and calls as they are; of all else the name."""
    if isinstance(value, bool | type(None)):
        return value
    for kind in (int, float, str):
        if isinstance(value, kind):
            return kind(value)  # the plain one, of a kind of the user's own
    if depth > _MOST_DEPTH:
        return NamedValue("...")
    if isinstance(value, RecordedCall):
        return value.transform_call(depth)
    if isinstance(value, StandIn):
        return NamedValue(str(value))
    if isinstance(value, list | tuple):
        return [plain_value(each, depth + 1) for each in value]
    if isinstance(value, Mapping):
        return {str(name): plain_value(each, depth + 1) for name, each in value.items()}
    if hasattr(value, "tolist"):
        return plain_value(value.tolist(), depth + 1)
    if isinstance(value, FunctionType):
        code = value.__code__
        return NamedValue(
            f"{value.__name__} of {Path(code.co_filename).name}:{code.co_firstlineno}"
        )
    name = getattr(value, "name", None)
    if isinstance(name, str) and hasattr(value, "value"):  # an enum's
        return NamedValue(f"{type(value).__name__}.{name}")
    return TransformCall(f"{type(value).__module__}.{type(value).__qualname__}")


def _calling_line() -> str:
    frame = sys._getframe(2)
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if _WORKBENCH not in file.parents and file.name != "functools.py":
            return f"{file.name}:{frame.f_lineno}"
        if frame.f_back is None:
            break
        frame = frame.f_back
    return ""


class _RecordedModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in CONSTANTS:
            return CONSTANTS[name]
        owner, calls = self.__dict__["_owner"], self.__dict__["_calls"]
        return RecordedName(owner, f"{self.__name__}.{name}", calls)


class _RecordingFinder(MetaPathFinder, Loader):
    def __init__(
        self, libraries: Sequence[str], owner: StandIns, calls: list[RecordedCall]
    ) -> None:
        self._libraries = libraries
        self._owner = owner
        self._calls = calls

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] not in self._libraries:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = _RecordedModule(spec.name)
        module.__dict__.update(__path__=[], __all__=[], _owner=self._owner, _calls=self._calls)
        return module

    def exec_module(self, module: ModuleType) -> None:
        pass


@contextmanager
def recorded_libraries(libraries: Sequence[str], owner: StandIns) -> Iterator[list[RecordedCall]]:
    """Within it these packages are stood in for; what is called in them is in the list."""
    calls: list[RecordedCall] = []
    finder = _RecordingFinder(libraries, owner, calls)
    sys.meta_path.insert(0, finder)
    try:
        yield calls
    finally:
        sys.meta_path.remove(finder)
