"""What a script's own functions and classes do to a picture, by DALI's operators.

These are read by calling them with a picture that records it (``engine/own_transforms``): Pillow's
methods, ``ImageOps`` and ``ImageEnhance``, and arithmetic on tensors. Each function is named after
what it is called there.
"""

from __future__ import annotations

from typing import Any

from workbench.emit.interop.common.images import Images, NoMatchError, drawn, drawn_range, number
from workbench.emit.interop.common.library import HOLDS, NOTHING, Library, transforms_of
from workbench.emit.interop.common.pixels import (
    as_bytes,
    blur_box,
    equalize,
    grey,
    invert,
    jitter_colour,
    posterize,
    sharpen,
    solarize,
    stretch_contrast,
)
from workbench.emit.pipeline_import.transform_call import TransformCall
from workbench.graph.builder.data_node import DataNode

OWN = Library("own")
_match = OWN.match
_match("equalize")(equalize)
_match("invert")(invert)


@_match("steps", compare=HOLDS)
def steps(images: Images, found: Any) -> None:
    for each in transforms_of(found):
        OWN.apply(images, each)


@_match("drawn", compare=HOLDS)
def drawn_steps(images: Images, chance: float, yes: Any, no: Any) -> None:
    if not no:
        images.with_p(chance, lambda: steps(images, yes))
    elif not yes:
        images.with_p(1 - chance, lambda: steps(images, no))
    else:
        images.one_of([lambda: steps(images, yes), lambda: steps(images, no)], [chance, 1 - chance])


@_match("filter")
def filter_(images: Images, kernel: Any) -> None:
    name = kernel.short_name if isinstance(kernel, TransformCall) else str(kernel)
    radius = kernel.kwargs.get("radius") if isinstance(kernel, TransformCall) else None
    if name == "GaussianBlur":
        images.graph = images.graph.gaussian_blur(sigma=drawn(radius))
        images.changed("Pillow blurs by three boxes, DALI by the curve itself")
    elif name == "BoxBlur":
        blur_box(images, 2 * int(number(radius)) + 1)
    else:
        raise NoMatchError(f"Pillow's filter {name} is not known; GaussianBlur and BoxBlur are")


@_match("convert")
def convert(images: Images, mode: Any = None) -> None:
    if mode == "L":
        grey(images, 1)
    elif mode != "RGB":
        raise NoMatchError(f"the mode {mode} is not known; RGB and L are")


@_match("grayscale")
def grayscale(images: Images) -> None:
    grey(images, 1)


@_match("solarize")
def solarize_(images: Images, threshold: Any = 128) -> None:
    solarize(images, number(threshold))


@_match("posterize")
def posterize_(images: Images, bits: Any) -> None:
    posterize(images, int(number(bits)))


@_match("autocontrast")
def autocontrast(images: Images, cutoff: Any = 0) -> None:
    if cutoff:
        raise NoMatchError(f"cutoff is {cutoff}; 0 is known")
    stretch_contrast(images)


@_match("mirror")
def mirror(images: Images) -> None:
    images.graph = images.graph.flip(horizontal=1)


@_match("flip")
def flip(images: Images) -> None:
    images.graph = images.graph.flip(horizontal=0, vertical=1)


@_match("Brightness")
def brightness(images: Images, factor: Any) -> None:
    jitter_colour(images, brightness=drawn_range(factor))


@_match("Contrast")
def contrast(images: Images, factor: Any) -> None:
    jitter_colour(images, contrast=drawn_range(factor))


@_match("Color")
def color(images: Images, factor: Any) -> None:
    jitter_colour(images, saturation=drawn_range(factor))


@_match("Sharpness")
def sharpness(images: Images, factor: Any) -> None:
    sharpen(images, number(factor))


@_match("mul")
def mul(images: Images, factor: Any) -> None:
    _linear(images, number(factor), 0.0)


@_match("div")
def div(images: Images, divisor: Any) -> None:
    _linear(images, 1 / number(divisor), 0.0)


@_match("add")
def add(images: Images, summand: Any) -> None:
    _linear(images, 1.0, number(summand))


@_match("sub")
def sub(images: Images, subtrahend: Any) -> None:
    _linear(images, 1.0, -number(subtrahend))


def _linear(images: Images, factor: float, shift: float) -> None:
    """Multiply and add, of a tensor at the end; of a picture in its bytes."""
    if factor == 0:
        raise NoMatchError("all pixels are multiplied by 0")
    if not images.channels_first:
        value = images.value * factor + shift
        assert isinstance(value, DataNode)
        images.become(as_bytes(value))
        return
    # (x - mean) / std * factor + shift = (x - (mean - shift * std / factor)) / (std / factor)
    pairs = [*zip(images.mean, images.std, strict=True)]
    images.mean = [mean - shift * std / factor for mean, std in pairs]
    images.std = [std / factor for _, std in pairs]
    images.normalised = True


@_match("contiguous", "clone", "copy", "float", compare=NOTHING)
def same(images: Images, *_: Any) -> None:
    """What changes no value."""
