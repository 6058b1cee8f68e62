"""Build DALI nodes on uint8 pixels for the colour transforms that several libraries have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from workbench.emit.interop.importing.geometry import as_node, fills
from workbench.emit.interop.importing.images import Images, NoMatchError, range_around, uniform
from workbench.graph.builder.data_node import DataNode
from workbench.graph.builder.read import fn

Range = tuple[float, float]
_UNCHANGED = (1.0, 1.0)


def jitter_colour(
    images: Images,
    *,
    brightness: Range = _UNCHANGED,
    contrast: Range = _UNCHANGED,
    saturation: Range = _UNCHANGED,
    hue: Range = (0.0, 0.0),
) -> None:
    """Apply random brightness, contrast, saturation and hue (``hue`` is from -0.5 to 0.5)."""
    sampled: dict[str, Any] = {}
    factors = {"brightness": brightness, "contrast": contrast, "saturation": saturation}
    for name, (low, high) in factors.items():
        if (low, high) != _UNCHANGED:
            sampled[name] = uniform(low, high)
    if hue != (0.0, 0.0):
        sampled["hue"] = uniform(360 * hue[0], 360 * hue[1])
    if sampled:
        images.graph = images.graph.color_twist(**sampled)
    if len(sampled) > 1:
        images.report_difference("in a fixed order, not in random order")
    if "contrast" in sampled:
        images.report_difference("contrast scales around 128, not around the mean of the image")
    if "hue" in sampled:
        images.report_difference("the hue is rotated in YIQ, not in HSV: saturated colours differ")


def jitter_around(
    images: Images, brightness: Any, contrast: Any, saturation: Any, hue: Any
) -> None:
    """Call ``jitter_colour``. A number is half the width of a range around 1 (hue: around 0)."""
    jitter_colour(
        images,
        brightness=range_around(brightness or 0, 1, least=0),
        contrast=range_around(contrast or 0, 1, least=0),
        saturation=range_around(saturation or 0, 1, least=0),
        hue=range_around(hue or 0, 0),
    )


def grey(images: Images, channels: int) -> None:
    """Convert to grey with ITU-R 601 weights, in one channel or three."""
    if channels == 3:
        images.graph = images.graph.saturation(saturation=0)
    elif channels == 1:
        images.graph = images.graph.color_space_conversion(image_type="RGB", output_type="GRAY")
    else:
        raise NoMatchError(f"num_output_channels is {channels}; only 1 and 3 are supported")


def normalise(images: Images, mean: Any, std: Any) -> None:
    """Set the mean and standard deviation with which ``Images.finish`` normalises."""
    if images.normalised:
        raise NoMatchError("the images are already normalised")
    images.mean, images.std = fills(mean), fills(std)
    images.normalised = True


INVERTED = ("bitxor(x, 255)", "sub(255, x)")
"""Arithmetic that inverts the image ``x``, in the form of ``Step.expression``."""


def invert(images: Images) -> None:
    """Subtract each value from 255."""
    images.become((images.value ^ 255).cast(dtype="UINT8"))


def solarize(images: Images, threshold: float) -> None:
    """Invert values that are greater than or equal to a threshold."""
    pixels = images.value
    above = (pixels >= round(threshold)).cast(dtype="INT32")
    images.become(pixels ^ (above * 255).cast(dtype="UINT8"))


def posterize(images: Images, bits: int) -> None:
    """Set all bits of each value to 0, except the highest ``bits``."""
    levels = 256 - (1 << (8 - int(bits)))
    images.become((images.value & levels).cast(dtype="UINT8"))


def equalize(images: Images) -> None:
    """Equalise the histogram of each channel."""
    images.graph = images.graph.equalize()


def stretch_contrast(images: Images) -> None:
    """Stretch the values of each channel to the range from 0 to 255."""
    pixels = images.value
    low = fn.reductions.min(pixels, axes=(0, 1), keep_dims=True).cast(dtype="FLOAT")
    high = fn.reductions.max(pixels, axes=(0, 1), keep_dims=True).cast(dtype="FLOAT")
    span = fn.math.max(high - low, right=1.0, constant_type="FLOAT")
    images.become(as_bytes((pixels.cast(dtype="FLOAT") - low) * (255.0 / span)))


def sharpen(images: Images, factor: float) -> None:
    """Blend the smoothed image and the image: factor 0 smooths, 1 changes nothing, 2 sharpens."""
    weights = (1.0, 1.0, 1.0, 1.0, 5.0, 1.0, 1.0, 1.0, 1.0)  # Pillow's SMOOTH
    smooth = filtered(images, tuple(each / 13 for each in weights), 3)
    images.become(as_bytes(images.value * factor + smooth * (1.0 - factor)))


def sharpen_by_kernel(images: Images, strength: Range, lightness: Range) -> None:
    """Blend the image with its edges, with random strength and lightness."""
    share, light = as_node(uniform(*strength)), as_node(uniform(*lightness))
    middle = fn.constant(fdata=(0.0,) * 4 + (1.0,) + (0.0,) * 4, shape=(3, 3))
    edges = fn.constant(fdata=(-1.0,) * 4 + (8.0,) + (-1.0,) * 4, shape=(3, 3))
    kernel = middle * (share * light - share + 1.0) + edges * share
    images.become(as_bytes(fn.filter(images.value, kernel, dtype="FLOAT")))


def blur_box(images: Images, size: int) -> None:
    """Replace each pixel with the mean of the surrounding square with side ``size``."""
    images.become(as_bytes(filtered(images, (1 / size**2,) * size**2, size)))


_ANGLES = 6
"""Number of discrete angles of motion blur. One of them is selected at random for each sample."""


def blur_motion(images: Images, size: int, angles: Range) -> None:
    """Average pixels along a line of length ``size`` at one of several angles.

    Angles are in degrees, clockwise from the right, as in Albumentations.
    """
    steps = [n - size // 2 for n in range(size)]
    low, high = (math.radians(each) for each in angles)
    count = 1 if low == high else _ANGLES

    def blurred(angle: float) -> Callable[[], None]:
        line = [abs(x * math.sin(angle) - y * math.cos(angle)) <= 0.5 for y in steps for x in steps]
        weights = tuple(round(each / sum(line), 6) for each in line)
        return lambda: images.become(as_bytes(filtered(images, weights, size)))

    # DALI computes no such kernel: one of several angles, each with its own
    images.one_of([blurred(low + n * (high - low) / count) for n in range(count)])


def filtered(images: Images, weights: tuple[float, ...], size: int) -> DataNode:
    """Return the images filtered by a square kernel with ``weights``, as floats."""
    kernel = fn.constant(fdata=weights, shape=(size, size))
    found = fn.filter(images.value, kernel, dtype="FLOAT")
    assert isinstance(found, DataNode)
    return found


def as_bytes(value: DataNode) -> DataNode:
    """Clip values to the range from 0 to 255, and round them to uint8."""
    found = fn.math.clamp(value, lo=0.0, hi=255.0, constant_type="FLOAT")
    assert isinstance(found, DataNode)
    made = found.cast(dtype="UINT8")
    assert isinstance(made, DataNode)
    return made


def power(images: Images, low: float, high: float) -> None:
    """Apply gamma correction: raise pixel values, scaled to 0..1, to a random power."""
    exponent = uniform(low, high)
    scaled = images.value * (1 / 255)
    raised = scaled**exponent
    images.become(as_bytes(raised * 255.0))


def shift_channels(images: Images, limits: tuple[Range, Range, Range]) -> None:
    """Add a random number to each channel, from one range per channel."""
    shifts = fn.stack(*(as_node(uniform(low, high)) for low, high in limits))
    images.become(as_bytes(images.value + shifts))


def brighten(images: Images, factor: Range, shift: Range) -> None:
    """Multiply by a random factor and add a random fraction of 255."""
    factors: dict[str, Any] = {}
    if factor != (1.0, 1.0):
        factors["contrast"] = uniform(*factor)
        factors["contrast_center"] = 0.0
    if shift != (0.0, 0.0):
        factors["brightness_shift"] = uniform(*shift)
    if factors:
        images.graph = images.graph.brightness_contrast(**factors)
