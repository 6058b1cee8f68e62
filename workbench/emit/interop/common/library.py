"""How the transformations of a library are found: by the name of their class."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Literal

from workbench.emit.interop.common.images import Images, NoMatchError, Step, number
from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.errors import GraphError

Match = Callable[..., None]
"""Appends a transform to images. Its further parameters are those of the library's class."""


@dataclass(frozen=True, slots=True)
class Unused:
    """An argument that the graph cannot hold, with the values that change nothing."""

    why: str
    usual: tuple[Any, ...] = (None,)

    def lost(self, value: Any) -> bool:
        """True if the value differs from all that change nothing."""
        return not any(_equal(value, each) for each in self.usual)


@dataclass(frozen=True, slots=True)
class Comparison:
    """How a transform is compared with the library's own, with everything pinned that it samples.

    ``ranges`` are its arguments that are ranges, with the middle of the range that a single number
    stands for; None: that number itself. A limit up to a number counts as one about 0. ``fixed``
    are values for arguments that sample about 0 and accept no other range.
    """

    role: Literal["alone", "holds", "form", "nothing", "window", "colours"] = "alone"
    ranges: Mapping[str, float | None] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)


def ranges(**middles: float | None) -> Comparison:
    """A transform that is compared at the upper ends of these ranges."""
    return Comparison(ranges=middles)


HOLDS = Comparison("holds")
"""It holds other transforms, which are compared instead."""
FORM = Comparison("form")
"""It makes a picture a tensor or floats; the transforms behind it get it so."""
NOTHING = Comparison("nothing")
"""It changes no pixel."""
WINDOW = Comparison("window")
"""It resizes a random window: the resize is compared, of the whole picture."""
COLOURS = Comparison("colours")
"""It samples the order of its arguments, which are compared one at a time."""


@dataclass(frozen=True)
class Library:
    """The transforms of a library that DALI can reproduce.

    ``modules`` are searched for a class that is not where a script has it, for the comparison.

    ``chances`` are the defaults of ``p`` by class, ``usual_chance`` that of the other classes. For
    a function without the parameter ``p`` the nodes are placed in a block with that probability.
    """

    name: str
    modules: tuple[str, ...] = ()
    without_effect: Mapping[str, str] = field(default_factory=dict)
    """Arguments of all classes that cannot change an image, with the reason."""
    not_carried: Mapping[str, Unused] = field(default_factory=dict)
    """Arguments of all classes that the graph cannot hold, reported unless at their default."""
    usual_chance: float = 1.0
    chances: Mapping[str, float] = field(default_factory=dict)
    matches: dict[str, Match] = field(default_factory=dict)
    unmatched: dict[str, str] = field(default_factory=dict)
    """Reasons by class for the classes that DALI has no operators for."""
    unused: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """By class the parameters that its function accepts and does not use, with the reason."""
    comparisons: dict[str, Comparison] = field(default_factory=dict)
    """By class how it is compared, unless it is compared alone and has no ranges."""

    def __post_init__(self) -> None:
        _LIBRARIES[self.name] = self

    def match(
        self, *names: str, compare: Comparison | None = None, **unused: str
    ) -> Callable[[Match], Match]:
        """Decorate the function for the classes of these names.

        ``compare`` is how they are compared with the library's own classes. ``unused`` are
        parameters that the function does not use, with the reason: another value than the default
        is reported.
        """

        def register(function: Match) -> Match:
            self.matches.update(dict.fromkeys(names, function))
            self.unused.update(dict.fromkeys(names, unused))
            if compare is not None:
                self.comparisons.update(dict.fromkeys(names, compare))
            return function

        return register

    def comparison(self, name: str) -> Comparison:
        """How the class of this name is compared."""
        return self.comparisons.get(name, Comparison())

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
        with images.matching(call) as outcome:
            try:
                self._match(images, forced)
            except NoMatchError as error:
                outcome.undo()
                images.refused(f"left out: {error}")

    def _match(self, images: Images, forced: bool) -> None:
        call = images.call
        function = self.matches.get(call.short_name)
        if function is None or not call.name.startswith((f"{self.name}.", call.short_name)):
            raise NoMatchError(self._why_not(call))
        signature = inspect.signature(function)
        kwargs, losses = self._accepted(call, signature)
        if call.kwargs.get("always_apply") is True and not forced and self.chance_of(call) < 1:
            forced = True
            losses.append("applied to every image by always_apply, as before version 2")
        takes_p = "p" in signature.parameters
        if not takes_p:
            kwargs.pop("p", None)
        elif forced:
            kwargs["p"] = 1.0
        try:
            bound = signature.bind(images, *call.args, **kwargs)
        except TypeError as error:
            raise NoMatchError(f"its arguments are not those known: {error}") from None
        for name, why in self.unused[call.short_name].items():
            default = signature.parameters[name].default
            value = bound.arguments.get(name, default)
            if value and not default and isinstance(value, tuple):
                losses.append(f"{written(value)}: {why}")  # of *types
            elif name in bound.arguments and Unused(why, (default,)).lost(value):
                losses.append(f"{name}={written(value)} is not carried over: {why}")

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
        for loss in losses:
            images.changed(loss)

    def _accepted(
        self, call: TransformCall, signature: inspect.Signature
    ) -> tuple[dict[str, Any], list[str]]:
        """The keyword arguments that the function accepts, and reports of the others."""
        accepted: dict[str, Any] = {}
        losses = []
        named = {each.name for each in signature.parameters.values() if each.kind in _NAMED}
        for name, value in call.kwargs.items():
            unused = self.not_carried.get(name, _UNKNOWN)
            if name in named or name == "p":
                accepted[name] = value
            elif name not in self.without_effect and unused.lost(value):
                losses.append(f"{name}={written(value)} is not carried over: {unused.why}")
        return accepted, losses

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
"""All libraries by name."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_UNKNOWN = Unused("this argument is not known", usual=())
_LONGEST_VALUE = 120


def _equal(value: Any, usual: Any) -> bool:
    if isinstance(value, list | tuple) and isinstance(usual, list | tuple):
        return len(value) == len(usual) and all(map(_equal, value, usual))
    if isinstance(usual, str):
        return str(value).rpartition(".")[2].lower() == usual.lower()
    return bool(value == usual) and isinstance(value, bool) == isinstance(usual, bool)


def written(value: Any) -> str:
    """A value as in the source, shortened."""
    if isinstance(value, TransformCall):
        args = [*map(written, value.args)]
        args += [f"{name}={written(each)}" for name, each in value.kwargs.items()]
        text = f"{value.short_name}({', '.join(args)})"
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(map(written, value))}]"
    elif isinstance(value, Mapping):
        text = "{" + ", ".join(f"{key!r}: {written(each)}" for key, each in value.items()) + "}"
    else:
        text = str(value) if isinstance(value, NamedValue) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


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
