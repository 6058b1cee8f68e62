"""Convert the image operations in a script's own functions and classes to DALI operators.

The operations are recorded by calling the script's code with a placeholder image
(``engine/transform_tracing``): Pillow's methods, ``ImageOps`` and ``ImageEnhance``, and arithmetic
on tensors. Each function here is named after the recorded call.
"""

from __future__ import annotations

from typing import Any

from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.images import (
    Images,
    NoMatchError,
    number,
    random_or_fixed,
    value_range,
)
from workbench.emit.interop.library import HOLDS, NOTHING, Library
from workbench.emit.interop.torchvision import colour, functions
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.graph.builder.data_node import DataNode

OWN = Library("own")
_imports = OWN.imports
_SAME = {
    "equalize": pixels.equalize,
    "flip": functions.vflip,
    "grayscale": colour.grayscale,
    "invert": pixels.invert,
    "mirror": functions.hflip,
    "posterize": functions.posterize,
}
"""Functions of Pillow that are imported in the same way as those of torchvision."""
for _name, _function in _SAME.items():
    _imports(_name)(_function)


@_imports("steps", compare=HOLDS)
def steps(images: Images, found: Any) -> None:
    OWN.import_all(images, found)


@_imports("drawn", compare=HOLDS)
def random_steps(images: Images, chance: float, yes: Any, no: Any) -> None:
    if not no:
        images.with_p(chance, lambda: steps(images, yes))
    elif not yes:
        images.with_p(1 - chance, lambda: steps(images, no))
    else:
        images.one_of([lambda: steps(images, yes), lambda: steps(images, no)], [chance, 1 - chance])


@_imports("filter")
def filter_(images: Images, kernel: Any) -> None:
    name = kernel.short_name if isinstance(kernel, TransformCall) else str(kernel)
    radius = kernel.kwargs.get("radius") if isinstance(kernel, TransformCall) else None
    if name == "GaussianBlur":
        images.graph = images.graph.gaussian_blur(sigma=random_or_fixed(radius))
        images.report_difference(
            "Pillow approximates the Gaussian by three box blurs, DALI does not"
        )
    elif name == "BoxBlur":
        pixels.blur_box(images, 2 * int(number(radius)) + 1)
    else:
        raise NoMatchError(
            f"Pillow's filter {name} is not supported; only GaussianBlur and BoxBlur are"
        )


@_imports("convert")
def convert(images: Images, mode: Any = None) -> None:
    if mode == "L":
        pixels.grey(images, 1)
    elif mode != "RGB":
        raise NoMatchError(f"the mode {mode} is not supported; only RGB and L are")


@_imports("solarize")
def solarize(images: Images, threshold: Any = 128) -> None:
    pixels.solarize(images, number(threshold))


@_imports("autocontrast")
def autocontrast(images: Images, cutoff: Any = 0) -> None:
    if cutoff:
        raise NoMatchError(f"cutoff is {cutoff}; only 0 is supported")
    pixels.stretch_contrast(images)


@_imports("Brightness")
def brightness(images: Images, factor: Any) -> None:
    pixels.jitter_colour(images, brightness=value_range(factor))


@_imports("Contrast")
def contrast(images: Images, factor: Any) -> None:
    pixels.jitter_colour(images, contrast=value_range(factor))


@_imports("Color")
def color(images: Images, factor: Any) -> None:
    pixels.jitter_colour(images, saturation=value_range(factor))


@_imports("Sharpness")
def sharpness(images: Images, factor: Any) -> None:
    pixels.sharpen(images, number(factor))


@_imports("mul")
def mul(images: Images, factor: Any) -> None:
    _linear(images, number(factor), 0.0)


@_imports("div")
def div(images: Images, divisor: Any) -> None:
    _linear(images, 1 / number(divisor), 0.0)


@_imports("add")
def add(images: Images, summand: Any) -> None:
    _linear(images, 1.0, number(summand))


@_imports("sub")
def sub(images: Images, subtrahend: Any) -> None:
    _linear(images, 1.0, -number(subtrahend))


def _linear(images: Images, factor: float, shift: float) -> None:
    """Compute ``factor * image + shift``. For tensors, the final normalisation includes it."""
    if factor == 0:
        raise NoMatchError("all pixels are multiplied by 0")
    if not images.channels_first:
        value = images.value * factor + shift
        assert isinstance(value, DataNode)
        images.become(pixels.as_bytes(value))
        return
    # (x - mean) / std * factor + shift = (x - (mean - shift * std / factor)) / (std / factor)
    pairs = [*zip(images.mean, images.std, strict=True)]
    images.mean = [mean - shift * std / factor for mean, std in pairs]
    images.std = [std / factor for _, std in pairs]
    images.normalised = True


@_imports("contiguous", "clone", "copy", "float", compare=NOTHING)
def identity(images: Images, *_: Any) -> None:
    """Import an operation that changes no pixel."""
