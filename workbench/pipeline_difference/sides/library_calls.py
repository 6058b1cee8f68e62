"""Create a library's transforms from recorded calls, and apply them to an image.

Runs in the worker process. No code of the script runs here: known classes are called with the
values that were recorded from the script.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.emit.interop.custom_steps import OWN
from workbench.emit.interop.graph import LIBRARIES
from workbench.emit.pipeline_import.transform_call import NamedValue, TransformCall
from workbench.engine.script_import.script_sandbox import one_printable_line

Array = NDArray[Any]
_VALUES = (*LIBRARIES, "cv2", "torch", "numpy", "PIL")
"""Packages whose constants are allowed as arguments of a call."""
_ENUMS = ("InterpolationMode.",)
"""Prefixes of torchvision enums that scripts write without the module."""
_ARITHMETIC = {"mul": "mul", "div": "truediv", "add": "add", "sub": "sub"}
_ENHANCING = ("Brightness", "Color", "Contrast", "Sharpness")


class CannotCallError(Exception):
    """Raised if a library's transform cannot be called; the message is the reason."""


def library_fault(library: str) -> str:
    """Return why a library cannot be used, with a fix; empty if it can be used."""
    if find_spec(library) is None:
        return f"{library} is not installed here (pip install {library})"
    try:
        import_module(LIBRARIES[library].modules[0])
    except Exception as error:
        message = one_printable_line(f"{type(error).__name__}: {error}")
        return (
            f"{library} cannot be imported ({message}): install a compatible build; python -c "
            f"'import {library}' shows the error"
        )
    return ""


def library_version(library: str) -> str:
    """Return the version of an installed library, or an empty string if it declares no version."""
    try:
        return version(library)
    except PackageNotFoundError:
        return str(getattr(import_module(library), "__version__", ""))


def library_function(calls: Sequence[TransformCall], within: str) -> Callable[[Array], Array]:
    """Return a function that applies the calls in order to an image, a uint8 array (h, w, 3).

    The result is an array (h, w, c). ``within`` is the library that defines the input of the first
    call: a Pillow image, an array, or a tensor with values from 0 to 1. Raises CannotCallError if
    a transform cannot be created.
    """
    apply = library_steps(calls, within)
    return lambda picture: _channels_last(apply(picture))


def library_steps(calls: Sequence[TransformCall], within: str) -> Callable[[Array], Any]:
    """Return a function that applies the calls like ``library_function``.

    Its result is what the library returns: a Pillow image, an array or a tensor.
    """
    steps = [_step(call, within) for call in calls]

    def apply(picture: Array) -> Any:
        image = library_input(picture, within)
        for step in steps:
            image = step(image)
        return image

    return apply


def library_input(picture: Array, library: str) -> Any:
    """Convert a uint8 image (h, w, 3) to what a library accepts: an array, an image or a tensor."""
    if library == "albumentations":
        return picture.copy()
    if library == "kornia":
        torch: Any = import_module("torch")
        return torch.from_numpy(picture.copy()).permute(2, 0, 1)[None].float() / 255
    from PIL import Image

    return Image.fromarray(picture)


def _channels_last(image: Any) -> Array:
    if hasattr(image, "detach"):
        tensor = np.asarray(image.detach().cpu())
        tensor = tensor[0] if tensor.ndim == 4 else tensor
        return np.moveaxis(tensor, 0, -1)
    found = np.asarray(image)
    return found if found.ndim == 3 else found[..., None]


def _step(call: TransformCall, within: str) -> Callable[[Any], Any]:
    if call.library == "own":
        return lambda image: _apply_custom_step(call, image)
    made = _transform_object(call)
    if within == "albumentations":
        return lambda image: made(image=image)["image"]
    return made  # type: ignore[no-any-return]


def _transform_object(call: TransformCall) -> Any:
    library = call.library
    if library not in LIBRARIES or call.short_name not in LIBRARIES[library].importers:
        raise CannotCallError(f"{call.name} is not a supported class")
    maker = _class(call)
    kwargs = {name: _value(each) for name, each in call.kwargs.items()}
    parameters = inspect.signature(maker).parameters
    if not any(each.kind is each.VAR_KEYWORD for each in parameters.values()):
        for name in [name for name in kwargs if name not in parameters]:
            if name != "p" and name not in LIBRARIES[library].without_effect:
                raise CannotCallError(
                    f"{call.short_name} of {library} {library_version(library)} has no argument "
                    f"{name}; the call is for another version"
                )
            del kwargs[name]
    return maker(*map(_value, call.args), **kwargs)


def _class(call: TransformCall) -> Any:
    for place in (call.name.rpartition(".")[0], *LIBRARIES[call.library].modules):
        try:
            return getattr(import_module(place), call.short_name)
        except (ImportError, AttributeError):
            continue
    known = f"{call.library} {library_version(call.library)}"
    raise CannotCallError(f"{known} has no {call.short_name}; it belongs to another version")


def _value(value: Any) -> Any:
    """Convert a recorded argument to the value that the library accepts."""
    if isinstance(value, list | tuple):
        return tuple(map(_value, value))
    if isinstance(value, Mapping):
        return {name: _value(each) for name, each in value.items()}
    if isinstance(value, NamedValue):
        return _named(value.name)
    if isinstance(value, TransformCall):
        raise CannotCallError(f"only the name of its argument {value.short_name} is known")
    return value


def _named(name: str) -> Any:
    """Return a constant of one of the packages in ``_VALUES``, by its dotted name."""
    full = f"torchvision.transforms.{name}" if name.startswith(_ENUMS) else name
    package, *parts = full.split(".")
    try:
        if package not in _VALUES:
            raise AttributeError
        found: Any = import_module(package)
        for place, part in enumerate(parts, start=1):
            if not hasattr(found, part):
                import_module(".".join([package, *parts[:place]]))
            found = getattr(found, part)
    except (ImportError, AttributeError):
        raise CannotCallError(f"only the name of its argument {name} is known") from None
    return found


def _apply_custom_step(call: TransformCall, image: Any) -> Any:
    """Apply an image operation of the user's script, with Pillow or as tensor arithmetic."""
    from PIL import Image, ImageEnhance, ImageFilter, ImageOps

    name, args = call.short_name, [each for each in call.args if not isinstance(each, NamedValue)]
    if name not in OWN.importers:
        raise CannotCallError(f"{name} is not a supported step")
    if name in _ARITHMETIC:
        if isinstance(image, Image.Image):
            raise CannotCallError("it applies arithmetic to a Pillow image")
        return getattr(operator, _ARITHMETIC[name])(image, *args)
    if not isinstance(image, Image.Image):
        raise CannotCallError("a Pillow function receives something other than a Pillow image")
    if name == "filter" and isinstance(args[0], TransformCall):
        kernel = getattr(ImageFilter, args[0].short_name)
        return image.filter(kernel(args[0].kwargs["radius"]))
    if name == "convert":
        return image.convert(*args)
    if name in _ENHANCING:
        return getattr(ImageEnhance, name)(image).enhance(*args)
    return getattr(ImageOps, name)(image, *args, **call.kwargs)
