"""Create placeholder objects (stand-ins) for missing modules and values of an imported script.

A stand-in accepts any call and returns further stand-ins, so that the code around a pipeline
runs without the module or value. It is not a number: a pipeline that needs the value fails with an
error that contains the name of the stand-in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any, Literal, NoReturn

from workbench.emit.interop.timm import CONSTANTS

_LONGEST_NAME = 80
_DALI = "/nvidia/dali/"
_MISSING = object()


class StandInError(Exception):
    """Raised if a script needs the value of a stand-in."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is unknown, but its value is needed")
        self.name = name


class StandIns:
    """Creates the stand-ins of one import, and records how the script uses them."""

    def __init__(self, note_pipelines: Callable[[Any], None] = lambda _: None) -> None:
        """``note_pipelines`` is called with the arguments of each call of a stand-in."""
        self.note_pipelines = note_pipelines
        self.modules: dict[str, str] = {}
        """Maps each module that a stand-in replaces to the line that first imported it."""
        self.recorded: Callable[[str, tuple[Any, ...]], Any] = lambda name, args: None
        """Function that receives the name and arguments of a call, and returns the recorded result,
        or None if a stand-in is to be returned.
        """
        self.answered: dict[str, None] = {}
        """Names of stand-ins whose truth value, length or order was tested. The result of each test
        is False.
        """

        self.note_use: Callable[[str, Literal["truth", "text", "type", "missing"]], None] = (
            lambda *_: None
        )
        """Callback that receives the name of a stand-in that the script converts to an ordinary
        value, or of a missing module whose import error the script catches.
        """

    def noted(self, value: Any) -> Any:
        """Return a value unchanged.

        If it is a stand-in, record that the script tests its type or identity.
        """
        if type(value).__name__ == "StandInModule":
            if value.__name__ in self.modules:
                self.note_use(value.__name__, "type")
        elif isinstance(value, StandIn):
            value._note("type")
        return value

    def value(self, name: str) -> StandIn:
        """Create a stand-in for a value with this name."""
        return StandIn(self, name)

    def module(self, name: str, place: str) -> ModuleType:
        """Create a stand-in for a module. Its attributes are stand-ins."""
        self.modules.setdefault(name, place)
        return StandInModule(name, self.value)


@contextmanager
def replaced(values: Iterable[tuple[Any, str, Any]]) -> Iterator[None]:
    """Within the context, replace attributes of modules and classes.

    Each item is a module or class, the name of an attribute, and its temporary value.
    """
    usual: list[tuple[Any, str, Any]] = []
    try:
        for owner, name, value in values:
            usual.append((owner, name, vars(owner).get(name, _MISSING)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(usual):
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)


class StandInModule(ModuleType):
    """Stand-in for a module. It has an attribute for every name."""

    def __init__(self, name: str, value: Callable[[str], Any]) -> None:
        """``value`` is a function that creates an attribute's value from its dotted name."""
        super().__init__(name)
        self.__dict__.update(__path__=[], __all__=[], _value=value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self.__name__.partition(".")[0] == "timm" and name in CONSTANTS:
            return CONSTANTS[name]
        return self.__dict__["_value"](f"{self.__name__}.{name}")


class StandIn:
    """Placeholder for a value that is not available. It accepts any operation."""

    is_recorded = False
    """True for a name or call of a library whose calls are recorded, so that its type is known."""

    def __init__(self, owner: StandIns, name: str) -> None:
        self.__dict__["_stand_ins"] = owner
        self.__dict__["_name"] = name if len(name) <= _LONGEST_NAME else name[:_LONGEST_NAME] + "…"

    def _note(self, kind: Literal["truth", "text", "type"]) -> None:
        if not self.is_recorded:
            self._stand_ins.note_use(self._name, kind)

    def _next(self, name: str) -> StandIn:
        return StandIn(self._stand_ins, f"{self._name}{name}")

    def __getattr__(self, name: str) -> Any:
        asked_by_dali = _DALI in sys._getframe(1).f_code.co_filename
        if name.startswith("__") or (asked_by_dali and name == "item"):  # DALI tries it on scalars
            raise AttributeError(name)
        if asked_by_dali:  # for the device or type of an input
            raise StandInError(self._name)
        return self._next(f".{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self._stand_ins.note_pipelines((*args, *kwargs.values()))
        if len(args) == 1 and not kwargs and isinstance(args[0], FunctionType | type):
            return args[0]  # used as a decorator
        recorded = self._stand_ins.recorded(self._name, args)
        if recorded is not None:
            return recorded
        return self._next("(...)")

    def __getitem__(self, key: object) -> StandIn:
        return self._next(f"[{key!r}]" if isinstance(key, str | int) else "[...]")

    def __setitem__(self, key: object, value: object) -> None:
        pass

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return (type(str(self._name).rpartition(".")[2], (_Base,), {}),)

    def __instancecheck__(self, value: object) -> bool:
        self._note("type")
        return False

    def __subclasscheck__(self, value: type) -> bool:
        self._note("type")
        return False

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # ``isinstance`` reads it
        self._note("type")
        return type(self)

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def _answer(self, *_: object) -> bool:
        self._stand_ins.answered[self._name] = None
        self._note("truth")
        return False

    __bool__ = __contains__ = __lt__ = __le__ = __gt__ = __ge__ = _answer

    def __len__(self) -> int:
        return int(self._answer())

    def __iter__(self) -> Iterator[Any]:
        self._answer()
        return iter(())

    def _operator(self, *_: object) -> StandIn:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _operator
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = _operator
    __or__ = __ror__ = __and__ = __rand__ = __neg__ = __matmul__ = __invert__ = _operator

    def _no_number(self, *_: object) -> NoReturn:
        raise StandInError(self._name)

    __int__ = __float__ = __index__ = __complex__ = __array__ = _no_number

    def __hash__(self) -> int:
        self._note("type")
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other or self._answer()

    def __repr__(self) -> str:
        self._note("text")
        return str(self._name)

    __str__ = __fspath__ = __repr__


class _Base:
    """Base class that replaces a missing base class of the script."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


class Settings(dict[str, Any]):
    """A dictionary whose items are also attributes, as in configuration objects."""

    def __init__(self, values: dict[str, Any], missing: Callable[[str], Any], name: str) -> None:
        super().__init__()
        self.__dict__["_name"] = name
        self.__dict__["_missing"] = missing
        for key, value in values.items():
            inner = isinstance(value, dict)
            self[key] = Settings(value, missing, f"{name}.{key}") if inner else value

    def __missing__(self, key: str) -> Any:
        return self._missing(f"{self._name}.{key}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value
