"""Validate the arguments of public functions: their types, choices and names."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from importlib.util import find_spec
from numbers import Integral, Real
from os import PathLike
from typing import Any, ParamSpec, TypeVar

from workbench.errors import ArgumentError, MissingLibraryError, UnknownNameError
from workbench.names import did_you_mean

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of argument. ``words`` describe it in messages, and ``fits`` tests a value."""

    words: str
    fits: Callable[[Any], bool]

    @classmethod
    def of(cls, made_by: str, *types: type) -> Kind:
        """Return the kind for instances of ``types``. ``made_by`` is example code to create one."""
        article = "an" if types[0].__name__[0] in "AEIOU" else "a"
        words = f"{article} {types[0].__name__}: {made_by}"
        return cls(words, lambda value: isinstance(value, types))


WHOLE = Kind("an integer", lambda v: isinstance(v, Integral) and not isinstance(v, bool))
NUMBER = Kind("a number", lambda v: isinstance(v, Real) and not isinstance(v, bool))
FLAG = Kind("True or False", lambda v: isinstance(v, bool))
TEXT = Kind("a string", lambda v: isinstance(v, str))
PATH = Kind("a path", lambda v: isinstance(v, str | PathLike))
NAMES = Kind(
    "one name, or a list of them", lambda v: isinstance(v, Collection) and not isinstance(v, bytes)
)
PATHS = Kind("a list of folders", lambda v: isinstance(v, Collection) and not isinstance(v, str))
MAPPING = Kind("a dict", lambda v: isinstance(v, Mapping))
FUNCTION = Kind("a function", callable)
APPLY = Kind("a function of the graph: lambda x: x.rotate(angle=5)", callable)


def warn_caller(message: str) -> None:
    """Issue a UserWarning that points to the first caller outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(_INNER):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, stacklevel=level)


_INNER = ("workbench.", "contextlib")


def checked(**kinds: Kind) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that raises ArgumentError if an argument is not of the given kind.

    None is accepted if it is the default. An unknown keyword raises UnknownNameError with the
    nearest name. Messages about a method begin with the class name, or with ``_written`` of the
    class.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        qualified = function.__qualname__.removesuffix(".__init__")
        is_method = "self" in signature.parameters
        making = function.__name__ == "__init__"

        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> T:
            written = getattr(type(args[0]), "_written", "") if is_method and args else ""
            where = f"{written}.{function.__name__}" if written and not making else qualified
            try:
                given = signature.bind(*args, **options).arguments
            except TypeError as error:
                require_names(where, options, signature)
                if signature.parameters.keys() == {"values"}:
                    fix = f"Use wb.{where}(view_1=..., view_2=...)."
                    raise ArgumentError(f"{where} takes only keyword arguments. {fix}") from None
                accepted = _signature_text(signature)
                fix = f"It accepts {'no arguments' if accepted == '()' else accepted}."
                by_name = any(each.kind is each.VAR_KEYWORD for each in _parameters(signature))
                if by_name and "too many positional" in str(error):
                    fix = f"Pass arguments by name: {function.__name__}(NAME=VALUE)."
                raise ArgumentError(f"{where}: {error}. {fix}") from None
            for name, value in _bound_parameters(signature, given):
                if name in kinds:
                    require_kind(f"{where}: {name}", value, kinds[name])
            try:
                return function(*args, **options)
            except KeyboardInterrupt:  # hide frames of the workbench, to show the caller's line
                raise KeyboardInterrupt from None

        return call

    return decorate


def checked_init(init: Callable[P, None], create: str) -> Callable[P, None]:
    """Wrap an ``__init__`` so that it rejects unknown arguments and a single positional argument.

    ``create`` is a sentence on how to create an object instead.
    """
    declared = inspect.signature(init)
    name = init.__qualname__.removesuffix(".__init__")

    @wraps(init)
    def call(*args: P.args, **options: P.kwargs) -> None:
        require_names(name, options, declared)
        given = len(args) - 1  # without self
        if given >= len(declared.parameters) or (given == 1 and not options):
            raise ArgumentError(f"{name} received {format_value(args[1])} without a name. {create}")
        init(*args, **options)

    return call


@contextmanager
def argument_errors_as(written: str, inner: str) -> Iterator[None]:
    """Context manager that replaces the prefix ``inner`` of an ArgumentError by ``written``.

    ``written`` is the call in the user's code.
    """
    try:
        yield
    except ArgumentError as error:
        text = str(error)
        if not text.startswith(inner):
            raise
        kind = UnknownNameError if isinstance(error, UnknownNameError) else ArgumentError
        raise kind(written + text.removeprefix(inner)) from None


def _signature_text(signature: inspect.Signature) -> str:
    """Format a signature without annotations and callbacks: ``(graph, catalog=None)``."""
    bare = [
        each.replace(annotation=each.empty)
        for each in _parameters(signature)
        if each.name != "self" and not inspect.isfunction(each.default)
    ]
    return str(inspect.Signature(bare))


def _parameters(signature: inspect.Signature) -> Iterable[inspect.Parameter]:
    return signature.parameters.values()


def _bound_parameters(
    signature: inspect.Signature, arguments: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the name and value of each passed argument. None is skipped if it is the default."""
    for name, value in arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield from ((name, each) for each in value)
        elif value is not None or parameter.default is not None:
            yield name, value


def require_kind(subject: str, value: object, kind: Kind) -> None:
    """Raise ArgumentError if a value is not of the allowed kind."""
    if not kind.fits(value):
        raise ArgumentError(f"{subject} is {format_value(value)}. Use {kind.words}.")


def require_names(where: str, names: Iterable[str], signature: inspect.Signature) -> None:
    """Raise UnknownNameError, with the nearest name, for a parameter that does not exist."""
    parameters = signature.parameters.values()
    known = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
    known = [name for name in known if name != "self"]
    for name in names:
        if name not in known and not any(each.kind is each.VAR_KEYWORD for each in parameters):
            hint = did_you_mean(name, known, f"It has {', '.join(known)}.")
            raise UnknownNameError(f"{where} has no argument {name!r}. {hint}")


def require_choice(subject: str, value: object, choices: Iterable[str]) -> None:
    """Raise ArgumentError if a value is not one of the choices."""
    known = tuple(choices)
    if value not in known:
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        raise ArgumentError(
            f"{subject} is {format_value(value)}. Use one of {', '.join(known)}. {hint}".rstrip()
        )


def require_library(name: str, user: str) -> None:
    """Raise MissingLibraryError if the library ``name`` is not installed. ``user`` needs it."""
    if find_spec(name) is None:
        raise MissingLibraryError(
            f"{user} needs {name}, which is not installed. Install it: pip install {name}."
        )


def format_value(value: object) -> str:
    """Format a value and its type in one line for a message."""
    text = " ".join(repr(value).split())
    return f"{text if len(text) <= 40 else text[:37] + '...'} ({type(value).__name__})"
