"""Each takes a Pillow image or a uint8 tensor (channels, height, width) and gives its kind back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageFilter


def pil_to_tensor(pic: Image.Image) -> Any:
    return torch.from_numpy(np.atleast_3d(np.array(pic)).transpose(2, 0, 1).copy())


def to_image(inpt: Any) -> Any:
    return pil_to_tensor(inpt) if isinstance(inpt, Image.Image) else inpt


def to_dtype(inpt: Any, dtype: Any = torch.float32, scale: bool = False) -> Any:
    assert not scale
    return inpt.to(dtype)


def normalize(inpt: Any, mean: list[float], std: list[float], inplace: bool = False) -> Any:
    assert inpt.is_floating_point()
    return (inpt - torch.tensor(mean).view(-1, 1, 1)) / torch.tensor(std).view(-1, 1, 1)


def get_size(inpt: Any) -> list[int]:
    if isinstance(inpt, Image.Image):
        return [inpt.height, inpt.width]
    return list(inpt.shape[-2:])


def _as_pillow(inpt: Any, change: Callable[[Image.Image], Image.Image]) -> Any:
    if isinstance(inpt, Image.Image):
        return change(inpt)
    pixels = inpt.permute(1, 2, 0).numpy()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    return pil_to_tensor(change(image))


def resize(
    inpt: Any,
    size: list[int],
    interpolation: Any = None,
    max_size: int | None = None,
    antialias: bool = True,
) -> Any:
    high, wide = get_size(inpt)
    if len(size) == 1:
        factor = size[0] / min(high, wide)
        size = [int(high * factor), int(wide * factor)]
    made = size[1], size[0]
    return _as_pillow(inpt, lambda image: image.resize(made, Image.Resampling.BILINEAR))


def crop(inpt: Any, top: int, left: int, height: int, width: int) -> Any:
    box = left, top, left + width, top + height
    return _as_pillow(inpt, lambda image: image.crop(box))


def horizontal_flip(inpt: Any) -> Any:
    return _as_pillow(inpt, lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT))


def vertical_flip(inpt: Any) -> Any:
    return _as_pillow(inpt, lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM))


def rotate(
    inpt: Any,
    angle: float,
    interpolation: Any = None,
    expand: bool = False,
    center: list[float] | None = None,
    fill: float | None = None,
) -> Any:
    def turn(image: Image.Image) -> Image.Image:
        colour = (int(fill or 0),) * len(image.getbands())
        return image.rotate(angle, Image.Resampling.BILINEAR, expand, center, None, colour)

    return _as_pillow(inpt, turn)


def adjust_brightness(inpt: Any, brightness_factor: float) -> Any:
    return _as_pillow(inpt, lambda i: ImageEnhance.Brightness(i).enhance(brightness_factor))


def adjust_contrast(inpt: Any, contrast_factor: float) -> Any:
    return _as_pillow(inpt, lambda i: ImageEnhance.Contrast(i).enhance(contrast_factor))


def adjust_saturation(inpt: Any, saturation_factor: float) -> Any:
    return _as_pillow(inpt, lambda i: ImageEnhance.Color(i).enhance(saturation_factor))


def adjust_hue(inpt: Any, hue_factor: float) -> Any:
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")

    def turn(image: Image.Image) -> Image.Image:
        hue, saturation, value = image.convert("HSV").split()
        turned = hue.point([(step + round(255 * hue_factor)) % 256 for step in range(256)])
        return Image.merge("HSV", (turned, saturation, value)).convert("RGB")

    return _as_pillow(inpt, turn)


def gaussian_blur(inpt: Any, kernel_size: list[int], sigma: list[float] | None = None) -> Any:
    assert all(size % 2 == 1 for size in kernel_size), "kernel_size should be odd"
    radius = sigma[0] if sigma else 0.3
    return _as_pillow(inpt, lambda image: image.filter(ImageFilter.GaussianBlur(radius)))
