"""Convert a transform that a script defines itself, by calling it with a recorded image.

Operations on the image are recorded (``recorded_calls``), and random numbers become ranges. If a
random number selects a branch, both branches are followed with their probabilities. A transform
that uses anything else, such as the image's size or pixels, cannot be converted. The error says
what it uses.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from workbench.emit.pipeline_import.transform_call import RandomValue, TransformCall
from workbench.engine.script_import.placeholders import StandIns
from workbench.engine.transform_tracing.recorded_calls import RecordedCall

_MOST_CHOICES = 6
"""Maximum number of nested random branches."""
_TRIES = 3
"""Number of calls whose results must be equal. If they differ, there is another source of
randomness.
"""


class UnreadableError(Exception):
    """Raised if a transform uses something that cannot be recorded."""


class _ForkError(BaseException):
    """Raised when a new random branch is reached. ``except Exception`` does not catch it."""

    def __init__(self, p: float) -> None:
        self.p = p


@dataclass
class _Path:
    """The selected branches: one Boolean per random branch."""

    taken: tuple[bool, ...] = ()
    passed: int = 0

    def choose(self, p: float) -> bool:
        if p <= 0 or p >= 1:
            return p >= 1
        if self.passed == len(self.taken):
            raise _ForkError(p)
        self.passed += 1
        return self.taken[self.passed - 1]


class UniformNumber:
    """A uniform random number. A transform can use it once: in a comparison or as an argument."""

    def __init__(self, path: _Path, low: float, high: float, whole: bool = False) -> None:
        self._path, self._low, self._high, self._whole = path, low, high, whole
        self._used = [False]

    def value(self) -> RandomValue:
        """Return the argument value that represents the number's range."""
        self._require_unused()
        return RandomValue(self._low, self._high, self._whole)

    def _require_unused(self) -> None:
        if self._used[0]:
            raise UnreadableError("a random value is used twice")
        self._used[0] = True

    def _scaled(self, factor: Any, shift: Any) -> UniformNumber:
        if not isinstance(factor, int | float) or not isinstance(shift, int | float):
            raise UnreadableError("a random value is combined with another value")
        ends = sorted((self._low * factor + shift, self._high * factor + shift))
        whole = self._whole and factor in (1, -1) and shift % 1 == 0
        made = UniformNumber(self._path, ends[0], ends[1], whole)
        made._used = self._used
        return made

    def _below(self, limit: Any, including: bool) -> bool:
        if not isinstance(limit, int | float):
            raise UnreadableError("a random value is compared with something that is not a number")
        if self._whole:
            values = range(int(self._low), int(self._high) + 1)
            return self._decide(
                sum(n < limit or (including and n == limit) for n in values) / len(values)
            )
        span = self._high - self._low
        return self._decide((limit - self._low) / span if span else float(self._low < limit))

    def _decide(self, p: float) -> bool:
        if 0 < p < 1:  # else it decides nothing, as when its limits are checked
            self._require_unused()
        return self._path.choose(p)

    def __lt__(self, other: Any) -> bool:
        return self._below(other, False)

    def __le__(self, other: Any) -> bool:
        return self._below(other, True)

    def __gt__(self, other: Any) -> bool:
        return not self._below(other, True)

    def __ge__(self, other: Any) -> bool:
        return not self._below(other, False)

    def __eq__(self, other: object) -> bool:
        if not self._whole or not isinstance(other, int):
            raise UnreadableError(
                "a random value is compared with something that is not an integer"
            )
        inside = self._low <= other <= self._high
        return self._decide(inside / (self._high - self._low + 1))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return self != 0

    def __add__(self, other: Any) -> UniformNumber:
        return self._scaled(1, other)

    def __sub__(self, other: Any) -> UniformNumber:
        return self._scaled(1, -other)

    def __rsub__(self, other: Any) -> UniformNumber:
        return self._scaled(-1, other)

    def __mul__(self, other: Any) -> UniformNumber:
        return self._scaled(other, 0)

    def __truediv__(self, other: Any) -> UniformNumber:
        return self._scaled(1 / other, 0)

    def __neg__(self) -> UniformNumber:
        return self._scaled(-1, 0)

    __radd__, __rmul__ = __add__, __mul__

    def item(self) -> UniformNumber:
        """Return this object, like ``item`` of a tensor with a single value."""
        return self


Plain = Callable[[RecordedCall], TransformCall]
"""Function that converts a recorded call to a ``TransformCall`` whose arguments are plain values.
"""


def read_own_transform(
    transform: Callable[..., Any], owner: StandIns, plain: Plain
) -> TransformCall | None:
    """Return the steps of a script's function or object, or None if it cannot be converted."""
    reader = _Reader(transform, owner, plain)
    try:
        found = [reader.steps(()) for _ in range(_TRIES)]
    except UnreadableError:
        return None
    if any(each != found[0] for each in found):
        return None
    return TransformCall("own.steps", (found[0],), place=definition_location(transform))


def definition_location(transform: Callable[..., Any]) -> str:
    """Return the location of a function or of an object's ``__call__``, such as ``train.py:7``."""
    base = vars(transform).get("_base_call") if hasattr(transform, "__dict__") else None
    if base is not None:
        return str(base._place)
    code = getattr(_function_of(transform), "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else ""


def _function_of(transform: Callable[..., Any]) -> Any:
    return transform if isinstance(transform, FunctionType) else type(transform).__call__


@dataclass(frozen=True)
class _Reader:
    transform: Callable[..., Any]
    owner: StandIns
    plain: Plain

    def steps(self, decisions: tuple[bool, ...]) -> list[TransformCall]:
        """Return the steps after these branches, with both cases of later random branches."""
        try:
            return self._called(_Path(decisions))
        except _ForkError as fork:
            if len(decisions) >= _MOST_CHOICES:
                raise UnreadableError("too many branches depend on random values") from None
            p = fork.p
        yes, no = (self.steps((*decisions, way)) for way in (True, False))
        same = 0
        while same < min(len(yes), len(no)) and yes[same] == no[same]:
            same += 1
        return [*yes[:same], TransformCall("own.drawn", (p, yes[same:], no[same:]))]

    def _called(self, path: _Path) -> list[TransformCall]:
        picture = RecordedCall.picture(self.owner)
        answered = dict(self.owner.answered)
        self.owner.answered.clear()
        try:
            with self._recorded(path):
                made = self.transform(picture)
            if self.owner.answered:
                raise UnreadableError(f"{', '.join(self.owner.answered)} is queried")
            return list(self._steps_of(made, picture))[::-1]
        except Exception as error:
            raise UnreadableError(str(error)) from None
        finally:
            self.owner.answered.clear()
            self.owner.answered.update(answered)

    def _steps_of(self, result: Any, picture: RecordedCall) -> Iterator[TransformCall]:
        """Yield the operations that were applied to an image, starting with the last."""
        while result is not picture:
            if not isinstance(result, RecordedCall) or not result.pictured:
                raise UnreadableError("it returns something other than the image")
            before, *others = result._args
            if getattr(before, "pictured", False) is not True:
                raise UnreadableError("the image is not the first argument")
            step = RecordedCall(self.owner, result._name, tuple(others), result._kwargs)
            step.__dict__["_place"] = result._place
            if step.pictured:
                raise UnreadableError("several images are combined")
            if result._name == "own.applied":  # another transformation, called
                (step,) = others
            elif result._name == "own.enhance":  # of PIL.ImageEnhance, which holds the image
                step.__dict__["_name"], before = before._name, before._args[0]
            yield self.plain(step)
            result = before

    @contextmanager
    def _recorded(self, path: _Path) -> Iterator[None]:
        """Within the context, random functions return ranges, and Pillow accepts the image."""
        names = getattr(_function_of(self.transform), "__globals__", {})
        put: dict[int, Any] = {}
        usual: list[tuple[dict[str, Any], str, Any]] = []
        for module, function_names in _RECORDED.items():
            if module.partition(".")[0] not in sys.modules:
                continue
            space = vars(import_module(module))  # NumPy loads its own parts on access
            for name, draw in function_names.items():
                if (function := space.get(name)) is not None:
                    put[id(function)] = (
                        _single_random_value(draw, path)
                        if draw
                        else _recorded_if_image(name, function)
                    )
                    usual.append((space, name, function))
        usual += [(names, name, value) for name, value in names.items() if id(value) in put]
        for space, name, function in usual:
            space[name] = put[id(function)]
        try:
            yield
        finally:
            for space, name, function in usual:
                space[name] = function


def _recorded_if_image(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def taken(*args: Any, **kwargs: Any) -> Any:
        if args and getattr(args[0], "pictured", False) is True:
            return args[0].done(name, *args[1:], **kwargs)
        return function(*args, **kwargs)

    return taken


def _single_random_value(make: Callable[..., Any], path: _Path) -> Callable[..., Any]:
    def drawn(*args: Any, **kwargs: Any) -> Any:
        try:
            return make(path, *args, **kwargs)
        except TypeError:
            raise UnreadableError("it samples several values") from None

    return drawn


def _uniform_unit(path: _Path, *size: int) -> UniformNumber:
    if any(each != 1 for each in size):
        raise TypeError
    return UniformNumber(path, 0.0, 1.0)


def _uniform(path: _Path, low: float = 0.0, high: float = 1.0) -> UniformNumber:
    return UniformNumber(path, low, high)


def _uniform_integer(path: _Path, low: int, high: int) -> UniformNumber:
    return UniformNumber(path, low, high, whole=True)


def _whole_below(path: _Path, low: int, high: int | None = None) -> UniformNumber:
    return _uniform_integer(path, *((0, low - 1) if high is None else (low, high - 1)))


def _choice(path: _Path, values: Any) -> Any:
    found = list(values)
    for left in range(len(found), 0, -1):
        if path.choose(1 / left):
            return found[-left]
    raise TypeError


def _binomial(path: _Path, count: int, p: float) -> bool:
    if count != 1:
        raise TypeError
    return path.choose(p)


_OPERATIONS = (
    *("autocontrast", "equalize", "flip", "grayscale", "invert", "mirror", "posterize"),
    "solarize",
)
_RECORDED: Mapping[str, Mapping[str, Callable[..., Any] | None]] = {
    "random": {
        **{
            "random": _uniform_unit,
            "uniform": _uniform,
            "randint": _uniform_integer,
            "choice": _choice,
        },
        "randrange": _whole_below,
    },
    "numpy.random": {
        **dict.fromkeys(("rand", "random", "random_sample"), _uniform_unit),
        **{"uniform": _uniform, "randint": _whole_below, "choice": _choice},
        "binomial": _binomial,
    },
    "torch": {"rand": _uniform_unit},
    "PIL.ImageOps": dict.fromkeys(_OPERATIONS),
    "PIL.ImageEnhance": dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness")),
}
"""Recorded functions by module. Random functions have a replacement, image functions have None."""
