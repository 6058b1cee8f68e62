"""The table of another library: its classes by DALI's operators, and operators by its classes.

A class is found by its name, an operator by DALI's. One table is used by the import of
compositions, by the export of graphs and by the comparison of pixels.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal

from workbench.emit.interop.common.images import Images, ImageStep, NoMatchError, number
from workbench.emit.interop.common.source_text import Expression
from workbench.emit.interop.common.source_text import call_of as written_call
from workbench.emit.interop.common.steps import Choice, Step
from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.errors import GraphError

if TYPE_CHECKING:
    from workbench.emit.interop.common.transforms import Transforms

Match = Callable[..., None]
"""Appends a transform to images. Its further parameters are those of the library's class."""
Rule = Callable[["Transforms", Step], None]
"""Appends the transforms that do a step to those of an export."""
WriteChoice = Callable[["Transforms", Choice], list[Expression]]
WriteOneOf = Callable[[list[list[Expression]], Sequence[float]], Expression]
"""Writes that one of several lists of transforms is applied, with these weights."""
_UNSAID = frozenset({"num_attempts", "hw_decoder_load", "out_of_bounds_policy", "image_type"})
"""Arguments that no library has, and that change no pixel of a photo that runs."""


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


def sampled(**middles: float | None) -> Comparison:
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
    """The transforms of a library, for both directions and the comparison.

    ``modules`` are searched for a class that is not where a script has it, for the comparison.
    ``prefix`` is put before the name of each transform of an export, ``choice`` and ``one_of``
    write blocks there; without them the library is imported only. ``applied`` is how a transform
    is applied to ``photo``.

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
    prefix: str = ""
    choice: WriteChoice | None = None
    one_of: WriteOneOf | None = None
    applied: str = "{}(photo)"
    channels_first: bool = False
    """Whether its images are (C, H, W)."""
    needs_compose: bool = False
    """Whether one transform alone has to be in ``Compose`` too."""
    rules: dict[str, Rule] = field(default_factory=dict)
    expressions: list[tuple[re.Pattern[str], Callable[..., None]]] = field(default_factory=list)
    unwritten: dict[str, str] = field(default_factory=dict)
    """Reasons by operator for the operators that the library has no transform for."""

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

    def writes(self, *ops: str) -> Callable[[Rule], Rule]:
        """Decorate the function that writes these operators in an export."""

        def register(rule: Rule) -> Rule:
            self.rules.update(dict.fromkeys(ops, rule))
            return rule

        return register

    def writes_expression(
        self, pattern: str
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Decorate the function that writes arithmetic of this text; ``N`` is a number in it."""
        number = r"(-?[\d.]+(?:e-?\d+)?)"
        found = re.compile(re.escape(pattern).replace("N", number))

        def register(rule: Callable[..., None]) -> Callable[..., None]:
            self.expressions.append((found, rule))
            return rule

        return register

    def pair(
        self,
        name: str,
        function: Match,
        *,
        measured: str,
        op: str = "",
        expressions: Sequence[str] = (),
    ) -> None:
        """Declare a class without arguments but ``p``, usually 0.5, for both directions.

        ``function`` is what it does to images. It is written for the operator ``op``, or for
        arithmetic of these texts, with the case ``measured`` of the table of differences.
        """

        def apply(images: Images, p: float = 0.5) -> None:
            images.with_p(number(p), lambda: function(images))

        def write(transforms: Transforms, step: Step) -> None:
            transforms.add(name, p=1.0)
            transforms.measured(measured)

        self.match(name)(apply)
        if op:
            self.writes(op)(write)
        for pattern in expressions:
            self.writes_expression(pattern)(write)

    def composed(self, made: list[Expression]) -> Expression:
        """The transforms of an export as one."""
        if len(made) == 1 and not self.needs_compose:
            return made[0]
        return written_call(f"{self.prefix}Compose", made)

    def write(self, transforms: Transforms, step: Step) -> None:
        """Write one step of an export. Raises GraphExportError if there is no counterpart."""
        if step.expression:
            for pattern, write in self.expressions:
                if found := pattern.fullmatch(step.expression):
                    return write(transforms, step, *map(float, found.groups()))
            raise step.refusal(f"has no counterpart of {step.expression} (x is the image)")
        if step.op not in self.rules:
            raise step.refusal(self.unwritten.get(step.op, f"has no counterpart of {step.op}"))
        try:
            self.rules[step.op](transforms, step)
        except (TypeError, LookupError, ArithmeticError) as error:
            # A value that DALI accepts and the rule does not know, such as an empty list.
            raise step.refusal(f"has no counterpart of these values of {step.op}") from error
        if unread := step.given - step.read - _UNSAID:
            name = min(unread)
            raise step.refusal(f"has no counterpart of {name} of {step.op}", name)
        return None

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

    def steps(self, images: Images, transforms: Any, *, forced: bool = False) -> list[ImageStep]:
        """For each transformation what puts it behind the images."""

        def step(transform: Any) -> ImageStep:
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
