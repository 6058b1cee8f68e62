"""How the transformations of a library are found: by the name of their class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from workbench.emit.transform_import.images import Images, NoMatchError, Step, number
from workbench.emit.transform_import.transform_call import NamedValue, TransformCall
from workbench.errors import GraphError

Match = Callable[..., None]
"""Puts a transformation behind images. Takes these, then what the library's class takes."""


@dataclass(frozen=True)
class Library:
    """What of a library DALI can do.

    ``ignored`` are arguments of all its classes that change no pixel. ``chances`` are the values of
    ``p`` that a class has where none is given, ``usual_chance`` that of the others: ``p`` is taken
    off each call whose function has no such argument, and what it makes goes into a region.
    """

    name: str
    ignored: frozenset[str] = frozenset()
    usual_chance: float = 1.0
    chances: Mapping[str, float] = field(default_factory=dict)
    matches: dict[str, Match] = field(default_factory=dict)
    unmatched: dict[str, str] = field(default_factory=dict)
    """Of classes that DALI has nothing for, why."""

    def __post_init__(self) -> None:
        _LIBRARIES[self.name] = self

    def match(self, *names: str) -> Callable[[Match], Match]:
        """Decorate the function for the classes of these names."""

        def register(function: Match) -> Match:
            self.matches.update(dict.fromkeys(names, function))
            return function

        return register

    def chance_of(self, transform: Any) -> float:
        """The ``p`` of a call, given or usual."""
        call = call_of(transform)
        return number(call.kwargs.get("p", self.chances.get(call.short_name, self.usual_chance)))

    def apply(self, images: Images, transform: Any, *, forced: bool = False) -> None:
        """Put a transformation behind images; one without a match is told, and left out.

        ``forced`` ones are for every sample, whatever their ``p``.
        """
        if transform is None:
            return
        call = call_of(transform)
        other = _LIBRARIES.get(call.library)
        if other is not None and other is not self:  # timm's transforms in a Compose of torchvision
            other.apply(images, call, forced=forced)
            return
        outer, images.call = images.call, call
        before, told = images.graph, len(images.issues)
        try:
            self._match(images, forced)
        except NoMatchError as error:
            images.graph = before
            images.refused(f"left out: {error}")
        finally:
            images.call = outer
        if len(images.issues) == told:
            known = {node.id for node in before.whole.walk()}
            images.exact += [node.id for node in images.graph.whole.walk() if node.id not in known]

    def _match(self, images: Images, forced: bool) -> None:
        call = images.call
        function = self.matches.get(call.short_name)
        if function is None or not call.name.startswith((f"{self.name}.", call.short_name)):
            raise NoMatchError(self._why_not(call))
        signature = inspect.signature(function)
        kwargs = {k: v for k, v in call.kwargs.items() if k not in self.ignored}
        takes_p = "p" in signature.parameters
        if not takes_p:
            kwargs.pop("p", None)
        elif forced:
            kwargs["p"] = 1.0
        try:
            bound = signature.bind(images, *call.args, **kwargs)
        except TypeError as error:
            raise NoMatchError(f"its arguments are not those known: {error}") from None

        def step() -> None:
            function(*bound.args, **bound.kwargs)

        try:
            images.with_p(1.0 if takes_p or forced else self.chance_of(call), step)
        except GraphError as error:
            raise NoMatchError(str(error)) from None
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            unknown = _has_unknown([*call.args, *kwargs.values()])
            why = "a value is known by its name alone" if unknown else "its arguments do not fit"
            raise NoMatchError(f"{why}: {error}") from None

    def steps(self, images: Images, transforms: Any, *, forced: bool = False) -> list[Step]:
        """For each transformation what puts it behind the images."""

        def step(transform: Any) -> Step:
            return lambda: self.apply(images, transform, forced=forced)

        return [step(each) for each in transforms_of(transforms)]

    def _why_not(self, call: TransformCall) -> str:
        name = call.short_name
        if not call.name.startswith((f"{self.name}.", name)):
            return f"{call.name} is of your own: write it as @wb.node"
        if name in self.unmatched:
            return self.unmatched[name]
        near = get_close_matches(name, self.matches, n=1)
        return "no match in DALI is known" + (f"; the nearest name is {near[0]}" if near else "")


_LIBRARIES: dict[str, Library] = {}
"""Each by its name, once it is made."""


def call_of(transform: Any) -> TransformCall:
    """A transformation as a call; of what is none the name of its type."""
    if isinstance(transform, TransformCall):
        return transform
    if isinstance(transform, NamedValue):
        return TransformCall(transform.name.partition("(")[0])  # util.Crop(...), of a stand-in
    return TransformCall(f"{type(transform).__module__}.{type(transform).__name__}")


def transforms_of(value: Any) -> list[Any]:
    """The transformations in a list. Raises NoMatchError for what is none."""
    if isinstance(value, TransformCall) and value.short_name in ("ModuleList", "Sequential"):
        value = value.args[0] if len(value.args) == 1 else value.args
    if isinstance(value, list | tuple):
        return list(value)
    raise NoMatchError(f"{value!r} is no list of transformations that can be read")


def _has_unknown(values: Iterable[Any]) -> bool:
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, NamedValue):
            return True
        if isinstance(value, list | tuple):
            waiting += value
    return False
