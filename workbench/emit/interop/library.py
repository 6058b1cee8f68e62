"""Register another library's transforms for import, export and pixel comparison.

An importer is registered by class name, and applies a library's transform to the images of a graph.
An exporter is registered by operator name, and writes a DALI operator for the library.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

from workbench.emit.interop.exporting.chains import Choice, Step
from workbench.emit.interop.exporting.source_text import Expression
from workbench.emit.interop.exporting.source_text import call_of as written_call
from workbench.emit.interop.importing.images import Images, ImageStep, NoMatchError, number
from workbench.emit.interop.live import INCOMPLETE
from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.errors import GraphError

if TYPE_CHECKING:
    from workbench.emit.interop.exporting.transforms import Transforms

Exporter = Callable[["Transforms", Step], None]
"""Function that appends the transforms of a step to an export."""
ExportChoice = Callable[["Transforms", Choice], list[Expression]]
ExportOneOf = Callable[[list[list[Expression]], Sequence[float]], Expression]
"""Function that writes a random choice between lists of transforms with the given weights."""
_UNSAID = frozenset({"num_attempts", "hw_decoder_load", "out_of_bounds_policy", "image_type"})
"""Arguments that exporters may ignore, because they change no pixel of a valid image."""


@dataclass(frozen=True, slots=True)
class Unused:
    """A parameter that the graph cannot represent, and its values that have no effect."""

    why: str
    usual: tuple[Any, ...] = (None,)
    """Values that have no effect. The first value is the default."""
    keyword_only: bool = False

    def changes_result(self, value: Any) -> bool:
        """Return True if a value changes the result, so that ignoring it must be reported."""
        return not any(_equal(value, each) for each in self.usual)

    def loss(self, name: str, value: Any) -> str:
        """Return the message that the value of the parameter ``name`` is ignored."""
        return f"{name}={source_text_of(value)} is ignored: {self.why}"

    def parameter(self, name: str) -> inspect.Parameter:
        """Return the ``inspect.Parameter`` for a signature."""
        kind = inspect.Parameter.KEYWORD_ONLY if self.keyword_only else _POSITIONAL
        return inspect.Parameter(name, kind, default=self.usual[0])


def unused(default: Any, why: str) -> Any:
    """Declare a parameter that the graph cannot represent. Only its default is imported exactly."""
    return Unused(why, (default,))


def unused_keyword(default: Any, why: str) -> Unused:
    """Declare a keyword-only parameter that the graph cannot represent."""
    return Unused(why, (default,), keyword_only=True)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rules for comparing a transform with the library's own, with all random values fixed.

    ``ranges`` maps each argument that is a range to the centre of the range that a single number
    describes, or to None if a single number is not a range. ``fixed`` are values for arguments that
    define a range around 0 and accept no other range.
    """

    role: Literal["alone", "holds", "form", "nothing", "window", "colours"] = "alone"
    ranges: Mapping[str, float | None] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)


def sampled(**middles: float | None) -> Comparison:
    """Return a comparison in which these range arguments are fixed to their upper ends."""
    return Comparison(ranges=middles)


HOLDS = Comparison("holds")
"""Rules for a transform that contains other transforms: only these are compared."""
FORM = Comparison("form")
"""Rules for a conversion to a tensor or to floats: it is compared as part of later transforms."""
NOTHING = Comparison("nothing")
"""Rules for a transform that changes no pixel: it is not compared."""
WINDOW = Comparison("window")
"""Rules for a transform that resizes a random window. It is compared by resizing whole images."""
COLOURS = Comparison("colours")
"""Rules for a transform with arguments in random order: each argument is compared separately."""


@dataclass(frozen=True)
class Importer:
    """Imports a library's class: ``function`` applies its equivalent to the images of a graph.

    Parameters of the class are those of ``function`` after the images, followed by ``appended``.
    """

    function: Callable[..., None]
    appended: Mapping[str, Unused]
    comparison: Comparison

    @cached_property
    def _own(self) -> list[inspect.Parameter]:
        return [*inspect.signature(self.function).parameters.values()][1:]

    @cached_property
    def unused(self) -> Mapping[str, Unused]:
        """Parameters that a graph cannot represent, with the values that have no effect."""
        own = {each.name: each.default for each in self._own if isinstance(each.default, Unused)}
        return {**own, **self.appended}

    @cached_property
    def signature(self) -> inspect.Signature:
        own = [
            each.replace(default=each.default.usual[0]) if each.name in self.unused else each
            for each in self._own
        ]
        every = [*own, *(each.parameter(name) for name, each in self.appended.items())]
        return inspect.Signature(sorted(every, key=lambda parameter: parameter.kind))

    @property
    def has_chance(self) -> bool:
        """True if the function applies the probability ``p`` itself."""
        return "p" in self.signature.parameters


@dataclass(frozen=True)
class Library:
    """The importers of a library by class, and its exporters by operator.

    If the script's import path does not exist, ``modules`` are searched for the class to run for
    the comparison. ``prefix`` precedes the name of each exported transform; ``choice`` and
    ``one_of`` write blocks. A library without these three is import-only. ``applied`` is the code
    that applies a transform to ``photo``.

    ``chances`` are the defaults of ``p`` by class, and ``usual_chance`` is the default of other
    classes. If an importer does not have the parameter ``p``, its nodes are placed in a block with
    that probability.
    """

    name: str
    modules: tuple[str, ...] = ()
    without_effect: Mapping[str, str] = field(default_factory=dict)
    """Arguments that cannot change an image in any class, with the reason."""
    not_carried: Mapping[str, Unused] = field(default_factory=dict)
    """Arguments of any class that no graph can represent, with the values that have no effect."""
    usual_chance: float = 1.0
    chances: Mapping[str, float] = field(default_factory=dict)
    importers: dict[str, Importer] = field(default_factory=dict)
    not_imported: Mapping[str, str] = field(default_factory=dict)
    """Classes for which DALI has no operator, with the reason."""
    arguments: frozenset[str] = frozenset()
    """Names of classes that are not transforms, but arguments of transforms."""
    prefix: str = ""
    choice: ExportChoice | None = None
    one_of: ExportOneOf | None = None
    applied: str = "{}(photo)"
    channels_first: bool = False
    """True if the library's images have the shape (C, H, W)."""
    needs_compose: bool = False
    """True if even a single transform must be in ``Compose``."""
    exporters: dict[str, Exporter] = field(default_factory=dict)
    expressions: list[tuple[re.Pattern[str], Callable[..., None]]] = field(default_factory=list)
    """Pairs (pattern, exporter): the exporter writes arithmetic whose text matches the pattern."""
    not_exported: Mapping[str, str] = field(default_factory=dict)
    """Operators for which the library has no transform, with the reason."""

    def __post_init__(self) -> None:
        _LIBRARIES[self.name] = self

    def imports(
        self, *names: str, compare: Comparison | None = None, **unused: Unused
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Return a decorator for the function that imports the classes with these names.

        The function's parameters after the images are the parameters of the classes. The classes'
        last parameters may be passed as ``unused`` instead. ``compare`` are the comparison rules.
        """

        def register(function: Callable[..., None]) -> Callable[..., None]:
            importer = Importer(function, unused, compare or Comparison())
            self.importers.update(dict.fromkeys(names, importer))
            return function

        return register

    def exports(self, *ops: str) -> Callable[[Exporter], Exporter]:
        """Return a decorator for the function that exports these operators."""

        def register(exporter: Exporter) -> Exporter:
            self.exporters.update(dict.fromkeys(ops, exporter))
            return exporter

        return register

    def exports_expression(
        self, pattern: str
    ) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Return a decorator for functions that export this arithmetic. ``N`` matches a number."""
        number = r"(-?[\d.]+(?:e-?\d+)?)"
        found = re.compile(re.escape(pattern).replace("N", number))

        def register(exporter: Callable[..., None]) -> Callable[..., None]:
            self.expressions.append((found, exporter))
            return exporter

        return register

    def pair(
        self,
        name: str,
        function: Callable[[Images], None],
        *,
        measured: str,
        op: str = "",
        expressions: Sequence[str] = (),
    ) -> None:
        """Declare import and export of a class whose only argument is ``p``.

        ``function`` applies the effect of the class to images. Operator ``op``, and arithmetic with
        the texts ``expressions``, are exported as the class. ``measured`` is the row of the class
        in the table of differences.
        """

        @self.imports(name)
        def apply(images: Images, p: float = 0.5) -> None:
            images.with_p(number(p), lambda: function(images))

        def export(transforms: Transforms, step: Step) -> None:
            transforms.add(name, p=1.0)
            transforms.measured(measured)

        if op:
            self.exports(op)(export)
        for pattern in expressions:
            self.exports_expression(pattern)(export)

    def composed(self, transforms: list[Expression]) -> Expression:
        """Combine the transforms of an export into one transform, with ``Compose`` if necessary."""
        if len(transforms) == 1 and not self.needs_compose:
            return transforms[0]
        return written_call(f"{self.prefix}Compose", transforms)

    def export_step(self, transforms: Transforms, step: Step) -> None:
        """Export one step. Raises GraphExportError if it has no equivalent."""
        if step.expression:
            for pattern, export in self.expressions:
                if found := pattern.fullmatch(step.expression):
                    return export(transforms, step, *map(float, found.groups()))
            raise step.refusal(f"has no equivalent of {step.expression} (x is the image)")
        if step.op not in self.exporters:
            raise step.refusal(self.not_exported.get(step.op, f"has no equivalent of {step.op}"))
        try:
            self.exporters[step.op](transforms, step)
        except (TypeError, LookupError, ArithmeticError) as error:
            # A value that DALI accepts and the exporter does not know, such as an empty list.
            raise step.refusal(f"has no equivalent of these values of {step.op}") from error
        if unread := step.given - step.read - _UNSAID:
            name = min(unread)
            raise step.refusal(f"has no equivalent of the argument {name!r} of {step.op}", name)
        return None

    def comparison(self, name: str) -> Comparison:
        """Return the rules for comparing the class with this name."""
        if name in self.arguments:
            return NOTHING
        return self.importers[name].comparison if name in self.importers else Comparison()

    def chance_of(self, transform: Any) -> float:
        """Return the argument ``p`` of a call, or the default of its class."""
        call = call_of(transform)
        return number(call.kwargs.get("p", self.chances.get(call.short_name, self.usual_chance)))

    def import_transform(self, images: Images, transform: Any, *, forced: bool = False) -> None:
        """Apply a transform to images. Unsupported transforms are reported.

        If ``forced``, the transform applies to every sample, whatever its ``p``.
        """
        if transform is None:
            return
        call = call_of(transform)
        other = _LIBRARIES.get(call.library)
        if other is not None and other is not self:  # timm's transforms in a Compose of torchvision
            other.import_transform(images, call, forced=forced)
            return
        with images.matching(call):
            self._import(images, forced)

    def _import(self, images: Images, forced: bool) -> None:
        call = images.call
        importer = self.importers.get(call.short_name)
        if importer is None or not call.name.startswith((f"{self.name}.", call.short_name)):
            raise NoMatchError(self._not_imported_reason(call))
        kwargs, losses = self._accepted(call, importer.signature)
        if call.kwargs.get("always_apply") is True and not forced and self.chance_of(call) < 1:
            forced = True
            losses.append("applied to every image by always_apply, as before version 2")
        if not importer.has_chance:
            kwargs.pop("p", None)
        elif forced:
            kwargs["p"] = 1.0
        try:
            bound = importer.signature.bind(*call.args, **kwargs)
        except TypeError as error:
            raise NoMatchError(f"its arguments are not supported: {error}") from None
        for name, each in importer.unused.items():
            if name in bound.arguments and each.changes_result(bound.arguments[name]):
                losses.append(each.loss(name, bound.arguments[name]))
        bound.apply_defaults()
        for name in importer.appended:
            del bound.arguments[name]

        def step() -> None:
            importer.function(images, *bound.args, **bound.kwargs)

        try:
            images.with_p(1.0 if importer.has_chance or forced else self.chance_of(call), step)
        except GraphError as error:
            raise NoMatchError(str(error)) from None
        except (TypeError, ValueError, AttributeError, IndexError) as error:
            unknown = _has_unknown([*call.args, *kwargs.values()])
            why = "only the name of a value is known" if unknown else "its arguments do not fit"
            raise NoMatchError(f"{why}: {error}") from None
        for loss in losses:
            images.report_difference(loss)

    def _accepted(
        self, call: TransformCall, signature: inspect.Signature
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the keyword arguments that the importer accepts, and messages about all others."""
        accepted: dict[str, Any] = {}
        losses = []
        named = {each.name for each in signature.parameters.values() if each.kind in _NAMED}
        for name, value in call.kwargs.items():
            each = self.not_carried.get(name, _UNKNOWN)
            if name in named or name == "p":
                accepted[name] = value
            elif name not in self.without_effect and each.changes_result(value):
                losses.append(each.loss(name, value))
        return accepted, losses

    def import_steps(
        self, images: Images, transforms: Any, *, forced: bool = False
    ) -> list[ImageStep]:
        """Return, for each transform of a list, a function that applies it to the images."""
        return [
            partial(self.import_transform, images, each, forced=forced)
            for each in transforms_of(transforms)
        ]

    def import_all(self, images: Images, transforms: Any) -> None:
        """Apply the transforms of a list to images, one after the other."""
        for step in self.import_steps(images, transforms):
            step()

    def _not_imported_reason(self, call: TransformCall) -> str:
        name = call.short_name
        if call.name.startswith(INCOMPLETE):
            return "the object does not store its arguments: import its script with wb.from_file"
        if not call.name.startswith((f"{self.name}.", name)):
            return f"{call.name} is your own code: rewrite it with @wb.node"
        if name in self.not_imported:
            return self.not_imported[name]
        near = get_close_matches(name, self.importers, n=1)
        return "no equivalent in DALI is known" + (
            f"; the nearest name is {near[0]}" if near else ""
        )


_LIBRARIES: dict[str, Library] = {}
"""All supported libraries by package name."""
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
_NAMED = (_POSITIONAL, inspect.Parameter.KEYWORD_ONLY)
_UNKNOWN = Unused("this argument is not supported", usual=())
_LONGEST_VALUE = 120


def _equal(value: Any, other: Any) -> bool:
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_equal, value, other))
    if isinstance(other, str):
        return str(value).rpartition(".")[2].lower() == other.lower()
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def source_text_of(value: Any) -> str:
    """Return a value as code, shortened for messages."""
    if isinstance(value, TransformCall):
        args = [*map(source_text_of, value.args)]
        args += [f"{name}={source_text_of(each)}" for name, each in value.kwargs.items()]
        text = f"{value.short_name}({', '.join(args)})"
    elif isinstance(value, list | tuple):
        text = f"[{', '.join(map(source_text_of, value))}]"
    elif isinstance(value, Mapping):
        text = (
            "{" + ", ".join(f"{key!r}: {source_text_of(each)}" for key, each in value.items()) + "}"
        )
    else:
        text = str(value) if isinstance(value, NamedValue) else repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."


def call_of(transform: Any) -> TransformCall:
    """Return ``transform`` if it is a call. Any other value becomes a call named after its type."""
    if isinstance(transform, TransformCall):
        return transform
    if isinstance(transform, NamedValue):
        return TransformCall(transform.name.partition("(")[0])  # util.Crop(...), of a stand-in
    return TransformCall(f"{type(transform).__module__}.{type(transform).__name__}")


def transforms_of(value: Any) -> list[Any]:
    """Return the transforms in a list. Raises NoMatchError for any other value."""
    if isinstance(value, TransformCall) and value.short_name in ("ModuleList", "Sequential"):
        value = value.args[0] if len(value.args) == 1 else value.args
    if isinstance(value, list | tuple):
        return list(value)
    raise NoMatchError(f"{value!r} is not a list of transforms")


def _has_unknown(values: Iterable[Any]) -> bool:
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, NamedValue):
            return True
        if isinstance(value, list | tuple):
            waiting += value
    return False
