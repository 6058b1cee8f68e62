"""Record calls of transform libraries with replacement objects, even if a library is missing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from workbench.emit.interop.graph import LIBRARIES
from workbench.emit.interop.timm import CONSTANTS
from workbench.engine.script_import.placeholders import StandIn, StandInModule, StandIns, replaced

_WORKBENCH = Path(__file__).parents[2]


DALIS_TORCHVISION = "nvidia.dali.experimental.torchvision"
"""DALI's module with the class names of torchvision. It is treated like torchvision."""


class RecordedCallable(StandIn):
    """A class or function of a library whose calls are recorded."""

    is_recorded = True

    def __init__(self, owner: StandIns, name: str, calls: list[RecordedCall]) -> None:
        super().__init__(owner, name)
        self.__dict__["_calls"] = calls

    def _next(self, suffix: str) -> RecordedCallable:
        return RecordedCallable(self._stand_ins, f"{self._name}{suffix}", self._calls)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = RecordedCall(self._stand_ins, self._name, args, kwargs)
        self._calls.append(call)
        return call

    def __instancecheck__(self, value: object) -> bool:
        if isinstance(value, RecordedCall) and not value.pictured:
            return bool(value._name == self._name)
        return super().__instancecheck__(value)

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        name = self._name.rpartition(".")[2]
        return (type(name, (RecordedBase,), {"_recorded": self}),)


_CHANGING = frozenset(
    {"append", "extend", "insert", "pop", "remove", "clear", "add_module", "register_module"}
)
"""Names of methods that change the transforms of a composition."""
_KEPT_METHODS = frozenset(
    {"__init__", "__call__", "forward", "__repr__", "__str__", "extra_repr", "__len__"}
)


class RecordedBase:
    """Base class that replaces a library's class in a script's subclass, and records calls."""

    _recorded: RecordedCallable

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.__dict__["_base_call"] = self._recorded(*args, **kwargs)

    def __call__(self, picture: Any) -> Any:
        if methods := self._own_methods() - _KEPT_METHODS:  # the library's class may call these
            raise TypeError(
                f"the class overrides {', '.join(sorted(methods))}, which the library may call"
            )
        if "_base_call" not in self.__dict__:
            RecordedBase.__init__(self)
        return self.__dict__["_base_call"](picture)

    forward = __call__

    @classmethod
    def _own_methods(cls) -> set[str]:
        kinds = cls.__mro__[: cls.__mro__.index(RecordedBase) - 1]
        methods = (FunctionType, staticmethod, classmethod)
        return {
            name for kind in kinds for name, each in vars(kind).items() if isinstance(each, methods)
        }

    @classmethod
    def unchanged_call(cls, value: object) -> RecordedCall | None:
        """Return the library's call if the subclass overrides only the constructor, else None."""
        if not isinstance(value, RecordedBase) or value._own_methods() - {"__init__"}:
            return None
        return value.__dict__.get("_base_call")


class RecordedCall(StandIn):
    """The result of a recorded call.

    Lists in its arguments are the caller's own objects, so that later additions are included. If a
    transform was called with an image, the result is ``pictured`` and records operations.
    """

    def __init__(
        self, owner: StandIns, name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> None:
        super().__init__(owner, name)
        pictured = any(getattr(each, "pictured", False) is True for each in args)
        self.__dict__.update(
            _args=args, _kwargs=dict(kwargs), _place=_calling_line(), pictured=pictured
        )
        self.__dict__.update(is_recorded=not pictured, _changes=[])

    @classmethod
    def picture(cls, owner: StandIns) -> RecordedCall:
        """Create an image to which no operations have been applied."""
        made = cls(owner, "picture", (), {})
        made.__dict__["pictured"] = True
        return made

    def __getattr__(self, name: str) -> Any:
        if self.pictured and not name.startswith("__"):
            return "RGB" if name == "mode" else RecordedMethod(self, name)
        if name == "transforms":
            first = self._args[0] if self._args else self._next(".transforms")
            return self._kwargs.get(name, first)
        if name in _CHANGING:
            self._note_change(f"{name}(...)")
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "transforms":
            at_first = self._args and name not in self._kwargs
            if at_first:
                self.__dict__["_args"] = (value, *self._args[1:])
            else:
                self._kwargs[name] = value
        else:
            self.__dict__[name] = value
            self._note_change(name)

    def __setitem__(self, key: object, value: object) -> None:
        self._note_change("[...]")

    def __bool__(self, *_: object) -> bool:
        return not self.pictured or self._answer()

    def _note_change(self, change: str) -> None:
        """Record a change made after the call, which the recorded arguments do not show."""
        self._changes.append((_calling_line(), change))

    def done(self, name: str, *args: Any, **kwargs: Any) -> RecordedCall:
        """Return the image after an operation that the script itself applies."""
        return RecordedCall(self._stand_ins, f"own.{name}", (self, *args), kwargs)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and getattr(args[0], "pictured", False) is True:
            return args[0].done("applied", self)
        return super().__call__(*args, **kwargs)


def _operator(name: str) -> Callable[..., StandIn]:
    def operate(call: RecordedCall, *others: object) -> StandIn:
        if call.pictured:
            return call.done(name, *others)
        call._note_change(f"the operator {name}")
        return StandIn._operator(call, *others)

    return operate


_OPERATORS = {
    **{"__mul__": "mul", "__rmul__": "mul", "__add__": "add", "__radd__": "add"},
    **{"__sub__": "sub", "__truediv__": "div"},
}
for _each, _value in vars(StandIn).items():
    if _value is StandIn._operator and _each != "_operator":
        setattr(RecordedCall, _each, _operator(_OPERATORS.get(_each, _each)))


class RecordedMethod(StandIn):
    """A method of a recorded image, or an attribute whose value is unknown."""

    def __init__(self, picture: RecordedCall, name: str) -> None:
        super().__init__(picture._stand_ins, f"picture.{name}")
        self.__dict__.update(_picture=picture, _method=name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._picture.done(self._method, *args, **kwargs)


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
        dalis = name == DALIS_TORCHVISION or name.startswith(f"{DALIS_TORCHVISION}.")
        if name.partition(".")[0] not in self._libraries and not dalis:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        made = StandInModule(spec.name, self._value)
        made.__dict__["__all__"] = public_names(spec.name)
        return made

    def _value(self, name: str) -> Any:
        name = name.replace(DALIS_TORCHVISION, "torchvision.transforms")
        known = CONSTANTS.get(name.rpartition(".")[2])
        return RecordedCallable(self._owner, name, self._calls) if known is None else known

    def exec_module(self, module: ModuleType) -> None:
        pass


def public_names(module: str) -> list[str]:
    """Return the names that ``from module import *`` imports, if known."""
    library = module.replace(DALIS_TORCHVISION, "torchvision").partition(".")[0]
    known = LIBRARIES[library]
    names = {*known.importers, *known.not_imported}
    if library == "timm":
        return [*names, *CONSTANTS]
    if module.endswith("functional"):
        return [name for name in names if name.islower()]
    modules = ["functional", "InterpolationMode"] if library == "torchvision" else []
    return [*(name for name in names if not name.islower()), *modules]


@contextmanager
def recorded_sequences(owner: StandIns) -> Iterator[None]:
    """Within the context, ``torch.nn.Sequential`` (if installed) accepts recorded calls."""
    if importlib.util.find_spec("torch") is None:
        yield
        return
    nn: Any = importlib.import_module("torch.nn")
    usual = nn.Sequential

    class Sequential(usual):  # type: ignore[misc,valid-type]
        def __new__(cls, *args: Any) -> Any:
            recorded = owner.recorded("torch.nn.Sequential", args)
            return super().__new__(cls) if recorded is None else recorded

    with replaced([(nn, "Sequential", Sequential)]):
        yield


@contextmanager
def recorded_libraries(libraries: Sequence[str], owner: StandIns) -> Iterator[list[RecordedCall]]:
    """Within the context, calls of these libraries are recorded. Yields the list of calls."""
    calls: list[RecordedCall] = []
    finder = _RecordingFinder(libraries, owner, calls)
    sys.meta_path.insert(0, finder)

    def in_order(name: str, args: tuple[Any, ...]) -> RecordedCall | None:
        """Record ``torch.nn.Sequential`` of a library's transforms as a call of that library."""
        first = next((each for each in args if isinstance(each, RecordedCall)), None)
        if first is None or not name.endswith(".Sequential"):
            return None
        library = first._name.rpartition(".")[0]
        calls.append(call := RecordedCall(owner, f"{library}.Sequential", args, {}))
        return call

    owner.recorded = in_order
    try:
        yield calls
    finally:
        sys.meta_path.remove(finder)
