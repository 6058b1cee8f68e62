"""Import the calls of ``torchvision.transforms.functional`` in a script's own classes.

Each importer has the name of a function, and accepts its parameters after the image. A number
may be a ``RandomValue`` of the script.
"""

from __future__ import annotations

from typing import Any

from workbench.emit.interop.importing import pixels
from workbench.emit.interop.importing.geometry import affine as warp
from workbench.emit.interop.importing.geometry import as_node, erased_value
from workbench.emit.interop.importing.images import (
    Images,
    NoMatchError,
    number,
    random_or_fixed,
    size_of,
    value_range,
    warp_interp_type,
)
from workbench.emit.interop.torchvision import colour, composition, geometry
from workbench.emit.interop.torchvision.composition import TORCHVISION
from workbench.graph.builder.read import fn

_imports = TORCHVISION.imports
_SAME = {
    "autocontrast": pixels.stretch_contrast,
    "convert_image_dtype": composition.convert_image_dtype,
    "equalize": pixels.equalize,
    "invert": pixels.invert,
    "normalize": composition.normalize,
    "pad": geometry.pad,
    "resize": geometry.resize,
    "rgb_to_grayscale": colour.grayscale,
    "to_dtype": composition.to_dtype,
    "to_grayscale": colour.grayscale,
    "to_pil_image": composition.to_pil_image,
    "to_pure_tensor": composition.no_change,
    "to_tensor": composition.to_tensor,
}
"""Functions that are imported in the same way as the class with the same effect."""
for _name, _function in _SAME.items():
    _imports(_name)(_function)


@_imports("hflip", "horizontal_flip")
def hflip(images: Images) -> None:
    images.graph = images.graph.flip(horizontal=1)


@_imports("vflip", "vertical_flip")
def vflip(images: Images) -> None:
    images.graph = images.graph.flip(horizontal=0, vertical=1)


@_imports("center_crop")
def center_crop(images: Images, output_size: Any) -> None:
    geometry.center_crop(images, output_size)


@_imports("crop")
def crop(images: Images, top: Any, left: Any, height: Any, width: Any) -> None:
    images.graph = images.graph.slice(
        start=fn.stack(as_node(random_or_fixed(top)), as_node(random_or_fixed(left))).cast(
            dtype="INT32"
        ),
        shape=(int(number(height)), int(number(width))),
        axis_names="HW",
        out_of_bounds_policy="pad",
    )


@_imports("resized_crop")
def resized_crop(
    images: Images,
    top: Any,
    left: Any,
    height: Any,
    width: Any,
    size: Any,
    interpolation: Any = "bilinear",
    antialias: Any = True,
) -> None:
    crop(images, top, left, height, width)
    geometry.resize(images, size, interpolation, None, antialias)


@_imports("rotate")
def rotate(
    images: Images,
    angle: Any,
    interpolation: Any = "nearest",
    expand: bool = False,
    center: Any = None,
    fill: Any = None,
) -> None:
    if center is not None:
        raise NoMatchError("DALI rotates about the image centre only, but center is set")
    images.graph = images.graph.rotate(
        angle=random_or_fixed(angle),
        keep_size=not expand,
        interp_type=warp_interp_type(images, interpolation),
        fill_value=geometry.one_fill(images, fill or 0),
    )


@_imports("affine")
def affine(
    images: Images,
    angle: Any,
    translate: Any,
    scale: Any,
    shear: Any,
    interpolation: Any = "nearest",
    fill: Any = None,
    center: Any = None,
) -> None:
    if center is not None or any(number(each) for each in translate):
        raise NoMatchError(
            "only an affine map about the image centre is supported, without translate"
        )
    slants = [number(each) for each in (shear if isinstance(shear, list | tuple) else (shear, 0))]
    warp(
        images,
        angle=random_or_fixed(angle),
        scale=random_or_fixed(scale),
        shear=(-slants[0], -slants[-1] if len(slants) > 1 else 0.0),
        shift=((0.0, 0.0), (0.0, 0.0)),
        interp=warp_interp_type(images, interpolation),
        fill=geometry.one_fill(images, fill or 0),
    )


@_imports("gaussian_blur")
def gaussian_blur(images: Images, kernel_size: Any, sigma: Any = None) -> None:
    window = size_of(kernel_size)[::-1]
    if sigma is None:
        sigma = 0.3 * ((window[0] - 1) * 0.5 - 1) + 0.8
    elif isinstance(sigma, list | tuple):
        if len({*sigma}) > 1:
            raise NoMatchError(f"sigma is {sigma}; only one for both axes is supported")
        sigma = sigma[0]
    images.graph = images.graph.gaussian_blur(window_size=window, sigma=random_or_fixed(sigma))


@_imports("adjust_brightness")
def adjust_brightness(images: Images, brightness_factor: Any) -> None:
    pixels.jitter_colour(images, brightness=value_range(brightness_factor))


@_imports("adjust_contrast")
def adjust_contrast(images: Images, contrast_factor: Any) -> None:
    pixels.jitter_colour(images, contrast=value_range(contrast_factor))


@_imports("adjust_saturation")
def adjust_saturation(images: Images, saturation_factor: Any) -> None:
    pixels.jitter_colour(images, saturation=value_range(saturation_factor))


@_imports("adjust_hue")
def adjust_hue(images: Images, hue_factor: Any) -> None:
    pixels.jitter_colour(images, hue=value_range(hue_factor))


@_imports("adjust_gamma")
def adjust_gamma(images: Images, gamma: Any, gain: Any = 1) -> None:
    if gain != 1:
        raise NoMatchError(f"gain is {gain}; only 1 is supported")
    pixels.power(images, *value_range(gamma))


@_imports("adjust_sharpness")
def adjust_sharpness(images: Images, sharpness_factor: Any) -> None:
    pixels.sharpen(images, number(sharpness_factor))


@_imports("solarize")
def solarize_(images: Images, threshold: Any) -> None:
    colour.random_solarize(images, threshold, 1.0)


@_imports("posterize")
def posterize(images: Images, bits: Any) -> None:
    pixels.posterize(images, int(number(bits)))


@_imports("erase")
def erase(images: Images, i: Any, j: Any, h: Any, w: Any, v: Any) -> None:
    images.graph = images.graph.erase(
        anchor=(number(i), number(j)),
        shape=(number(h), number(w)),
        axis_names="HW",
        fill_value=erased_value(images, v),
    )
