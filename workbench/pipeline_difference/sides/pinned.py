"""Split a composition into single transforms with fixed random values.

Both sides then use the same parameters: a range becomes (upper end, upper end), and ``p``
becomes 1.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.emit.interop.custom_steps import OWN
from workbench.emit.interop.graph import LIBRARIES
from workbench.emit.interop.importing.images import range_around
from workbench.emit.interop.library import (
    COLOURS,
    WINDOW,
    Comparison,
    call_of,
    transforms_of,
)
from workbench.emit.pipeline_import.transform_call import NamedValue, RandomValue, TransformCall

_TABLES = {**LIBRARIES, OWN.name: OWN}
_COLOURS = {"brightness": 1.0, "contrast": 1.0, "saturation": 1.0, "hue": 0.0}


@dataclass(frozen=True, slots=True)
class PinnedTransform:
    """One transform in which as many random values as possible are fixed."""

    call: TransformCall
    before: tuple[TransformCall, ...] = ()
    """Conversions that run before the call, such as ``ToTensor``."""
    notes: tuple[str, ...] = ()
    """Sentences about what is skipped, and what is compared instead."""
    within: str = ""
    """Name of the library of the composition that contains the transform."""

    @property
    def text(self) -> str:
        """Source code of the call, such as ``ColorJitter(hue=(0.1, 0.1))``."""
        usual = {name: 2 * (value,) for name, value in _COLOURS.items()}
        shown = {
            name: value
            for name, value in self.call.kwargs.items()
            if comparison_of(self.call) is not COLOURS or value != usual.get(name)
        }
        return call_text(replace(self.call, kwargs=shown))

    @property
    def composition(self) -> TransformCall:
        """Composition of the conversions and this transform only."""
        return self._composed((*self.before, self.call))

    @property
    def conversions_alone(self) -> TransformCall:
        """Composition of the conversions without the transform."""
        return self._composed(self.before)

    def _composed(self, steps: tuple[TransformCall, ...]) -> TransformCall:
        if self.within == "kornia":  # its images are floats
            return TransformCall("kornia.augmentation.AugmentationSequential", steps)
        if (
            self.within == "timm" and len(steps) == 1
        ):  # create_transform, which contains no transforms
            return self.call
        library = "torchvision" if self.within == "timm" else self.within
        return TransformCall(f"{library}.Compose", (steps,))


def comparison_of(call: TransformCall) -> Comparison:
    """Return the rules for comparing a call with its library, or default rules."""
    library = _TABLES.get(call.library)
    return library.comparison(call.short_name) if library is not None else Comparison()


def pinned_transforms(call: TransformCall) -> list[PinnedTransform]:
    """Return the distinct transforms of a composition, in order, with fixed random values."""
    found: dict[str, PinnedTransform] = {}
    for each in _pinned_parts(call, [], call.library):
        same = replace(each, call=replace(each.call, place=""), before=())
        found.setdefault(f"{same!r}, {[step.short_name for step in each.before]}", each)
    return [*found.values()]


def _pinned_parts(
    call: TransformCall, before: list[TransformCall], within: str
) -> Iterator[PinnedTransform]:
    """Yield the transforms in a call. Conversions of the image are appended to ``before``."""
    library, name = call.library, call.short_name
    role = comparison_of(call).role
    if role == "holds":
        within = within if library == "own" else library
        for each in inner_calls(call):
            yield from _pinned_parts(call_of(each), before, within)
    elif name == "Lambda" and call.args and isinstance(call.args[0], TransformCall):
        yield from _pinned_parts(call.args[0], before, within)
    elif role == "form":
        before.append(call)
    elif role == "nothing":
        if name == "ToPILImage":
            before.clear()
    else:
        form = tuple(each for each in before if each.library == library or library == "own")
        yield from (replace(each, before=form, within=within) for each in fixed_values(call))


def inner_calls(call: TransformCall) -> list[Any]:
    """Return the transforms in the arguments of a composition, including those in lists."""
    inner: list[Any] = []
    for value in (*call.args, *call.kwargs.values()):
        if isinstance(value, list | tuple) or _is_list(value):
            inner += transforms_of(value)
        elif isinstance(value, TransformCall | NamedValue):
            inner.append(value)
    return [each for each in inner if isinstance(each, TransformCall | NamedValue)]


def _is_list(value: Any) -> bool:
    return isinstance(value, TransformCall) and value.short_name == "ModuleList"


def fixed_values(call: TransformCall) -> Iterator[PinnedTransform]:
    """Yield the transforms of one call with fixed random values."""
    known = _TABLES.get(call.library)
    importer = known.importers.get(call.short_name) if known is not None else None
    if importer is None:
        yield PinnedTransform(call)
        return
    comparison = importer.comparison
    given = _CallArguments(call, importer.signature)
    if comparison is WINDOW:
        size = given.resize()
        if size is not None:
            note = f"the resize of {call.short_name}: its window is random"
            yield PinnedTransform(size, notes=(note,))
            return
    always = call.library in ("albumentations", "kornia") or importer.has_chance
    if always and call.library not in ("own", "timm"):
        given.put("p", 1.0)
    notes = []
    for name, value in comparison.fixed.items():
        if given.get(name) is not None:
            notes.append(f"without {name}, whose range is symmetric around 0")
            given.put(name, value)
    if comparison is COLOURS:
        yield from _one_at_a_time(given)
        return
    for name, middle in comparison.ranges.items():
        value = given.get(name)
        upper = pinned(value, middle)
        if upper != value and (value or given.has(name)):
            given.put(name, upper)
    if given.get("quality_lower") is not None and given.has("quality_upper"):
        given.put("quality_lower", given.get("quality_upper"))
    blurring = (call.library, call.short_name) == ("albumentations", "GaussianBlur")
    if blurring and not given.has("sigma_limit"):
        given.put("sigma_limit", (3.0, 3.0))  # the default of version 2 is 0.5 to 3
    yield PinnedTransform(given.call, notes=tuple(notes))


def _one_at_a_time(arguments: _CallArguments) -> Iterator[PinnedTransform]:
    for name, unchanged in _COLOURS.items():
        value = pinned(arguments.get(name), unchanged)
        if value == (unchanged, unchanged) or value is None:
            continue
        others = {each: (usual, usual) for each, usual in _COLOURS.items() if each != name}
        if (
            arguments.call.library != "albumentations"
        ):  # in other libraries, a missing argument has no effect
            others = {}
        rest = {k: v for k, v in arguments.call.kwargs.items() if k not in _COLOURS}
        kwargs = {**rest, **others, name: value}
        yield PinnedTransform(replace(arguments.call, args=(), kwargs=kwargs))


def pinned(value: Any, middle: float | None) -> Any:
    """Replace random ranges in an argument with their upper end.

    ``middle`` is the centre of the range that a single number defines; None if a number is not
    a range.
    """
    if isinstance(value, RandomValue):
        return value.high
    if isinstance(value, Mapping):
        return {name: pinned(each, middle) for name, each in value.items()}
    if isinstance(value, list | tuple):
        numbers = all(isinstance(each, int | float) for each in value)
        if not numbers or not value:
            return value
        if len(value) == 4:  # shear along x, then along y
            return (value[1], value[1], value[3], value[3])
        if len(value) > 1 or middle is None:
            return (value[-1], value[-1])
        value = value[0]
    if middle is None or isinstance(value, bool) or not isinstance(value, int | float):
        return value
    upper = range_around(value, middle)[1]
    return (upper, upper)


class _CallArguments:
    """The arguments of a call by name, both positional and keyword arguments."""

    def __init__(self, call: TransformCall, signature: inspect.Signature) -> None:
        args = tuple(_upper_end(each) for each in call.args)
        self.call = replace(call, args=args, kwargs=_upper_end(dict(call.kwargs)))
        parameters = signature.parameters.values()
        named = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
        self._places = {name: place for place, name in enumerate(named[: len(call.args)])}
        self._defaults = {
            each.name: each.default for each in parameters if each.default is not each.empty
        }

    def has(self, name: str) -> bool:
        return name in self._places or name in self.call.kwargs

    def get(self, name: str) -> Any:
        """Return the value of an argument, else its default, else None."""
        if name in self._places:
            return self.call.args[self._places[name]]
        return self.call.kwargs.get(name, self._defaults.get(name))

    def put(self, name: str, value: Any) -> None:
        """Set an argument, positional or by keyword. The value None removes a keyword argument."""
        if name in self._places:
            args = list(self.call.args)
            args[self._places[name]] = value
            self.call = replace(self.call, args=tuple(args))
            return
        kwargs = {**self.call.kwargs, name: value}
        if value is None:
            del kwargs[name]
        self.call = replace(self.call, kwargs=kwargs)

    def resize(self) -> TransformCall | None:
        """Return the resize that the transform ends with, or None if its size is unknown."""
        size, width = self.get("size"), self.get("width")
        library = "torchvision" if self.call.library == "timm" else self.call.library
        if width is not None:
            size = (self.get("height") if self.get("height") is not None else size, width)
        if isinstance(size, int) and not isinstance(size, bool):
            size = (size, size)
        if not isinstance(size, list | tuple) or len(size) != 2:
            return None
        given = {
            name: self.call.kwargs[name]
            for name in ("antialias", "resample", "area_for_downscale", "interpolation")
            if name in self.call.kwargs
        }
        if "interpolation" in self._places:
            given["interpolation"] = self.get("interpolation")
        if given.get("interpolation") == "random":
            given["interpolation"] = "bilinear"
        module = self.call.name.rpartition(".")[0] if self.call.library == library else library
        args: tuple[Any, ...] = (tuple(size),)
        if library == "albumentations":
            args, given["p"] = tuple(size), 1.0
        if library == "kornia":
            given["p"] = 1.0
        return replace(self.call, name=f"{module}.Resize", args=args, kwargs=given)


def _upper_end(value: Any) -> Any:
    """Replace every ``RandomValue`` with its upper end, also in lists and nested calls."""
    if isinstance(value, list | tuple):
        return tuple(_upper_end(each) for each in value)
    if isinstance(value, Mapping):
        return {name: _upper_end(each) for name, each in value.items()}
    if isinstance(value, TransformCall):  # a filter of Pillow's
        return replace(value, args=_upper_end(value.args), kwargs=_upper_end(value.kwargs))
    return value.high if isinstance(value, RandomValue) else value


def call_text(value: Any) -> str:
    """Return the source code of a call or an argument."""
    if isinstance(value, TransformCall):
        given = [*map(call_text, value.args)]
        named = {name: each for name, each in value.kwargs.items() if name != "name"}
        given += [f"{name}={call_text(each)}" for name, each in named.items()]
        name = value.name.partition(" of ")[0].rpartition(".")[2]  # blur of train.py:3
        return f"{name}({', '.join(given)})"
    if isinstance(value, NamedValue):
        return ".".join(value.name.split(".")[-2:])
    if isinstance(value, list | tuple):
        return f"({', '.join(map(call_text, value))}{',' * (len(value) == 1)})"
    return f"{value:.6g}" if isinstance(value, float) and value % 1 else repr(value)
