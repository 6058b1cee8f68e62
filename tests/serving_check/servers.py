"""A server that prepares images as ``imagenet-eval`` does, with Pillow, and its mistakes."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image, ImageChops, ImageOps

MEAN = np.array([123.675, 116.28, 103.53], np.float32)
STD = np.array([58.395, 57.12, 57.375], np.float32)
SIDE, SHORTER = 224, 256
FILTER = Image.Resampling
Array = Any


def decoded(data: bytes, mistake: str = "") -> Image.Image:
    image: Image.Image = Image.open(io.BytesIO(data))
    if mistake == "reduced_8":
        image.draft("RGB", (1, 1))
    if mistake != "orientation_ignored":
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):
        values = np.asarray(image)
        wide = np.minimum(values, 255) if mistake == "sixteen_bit_clipped" else values // 257
        image = Image.fromarray(wide.astype(np.uint8))
    if mistake == "cmyk_inverted" and image.mode == "CMYK":
        image = ImageChops.invert(image)
    if mistake == "failed" and image.mode == "L":
        return image
    if "A" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        if mistake == "alpha_on_white":
            back = Image.new("RGBA", image.size, "white")
            image = Image.alpha_composite(back, image)
    return image.convert("RGB")


def resized(image: Image.Image, mistake: str = "") -> Image.Image:
    if mistake == "stretched":
        return image.resize((SIDE, SIDE), FILTER.BILINEAR)
    side = max(image.size) if mistake == "longer_side" else min(image.size)
    scale = (SIDE if mistake == "longer_side" else SHORTER) / side
    width, height = (max(1, int(each * scale + 0.5)) for each in image.size)
    if mistake == "no_antialias":
        matrix = (image.width / width, 0, 0, 0, image.height / height, 0)
        return image.transform((width, height), Image.Transform.AFFINE, matrix, FILTER.BILINEAR)
    chosen = {"nearest": FILTER.NEAREST, "cubic": FILTER.BICUBIC}.get(mistake, FILTER.BILINEAR)
    return image.resize((width, height), chosen)


def cropped(image: Image.Image, mistake: str = "") -> Image.Image:
    off = 1 if mistake == "shifted" else 0
    left, upper = ((side - SIDE + 1) // 2 + off for side in image.size)
    return image.crop((left, upper, left + SIDE, upper + SIDE))


def normalised(pixels: Array, mistake: str = "") -> Array:
    match mistake:
        case "0..255":
            return pixels
        case "0..1":
            return pixels / 255
        case "-1..1":
            return pixels / 127.5 - 1
        case "only_mean":
            return pixels - (123, 117, 104)  # as in an example of Triton
        case "not_divided":
            return (pixels - MEAN / 255) / (STD / 255)
    return (pixels - MEAN) / STD


def predict_input(data: bytes, *mistakes: str) -> Array:
    """Return the array that the model receives. Each mistake is a key of the checker."""

    def of(*known: str) -> str:
        return next((each for each in mistakes if each in known), "")

    image = decoded(data, of("orientation_ignored", "sixteen_bit_clipped", "cmyk_inverted",
                             "alpha_on_white", "failed", "reduced_8"))  # fmt: skip
    image = resized(image, of("stretched", "longer_side", "no_antialias", "nearest", "cubic"))
    pixels = np.asarray(cropped(image, of("shifted")), np.float32)
    if pixels.ndim == 2:
        raise ValueError("the image has no channels")
    pixels = pixels[..., ::-1] if "bgr" in mistakes else pixels
    array = normalised(pixels, of("0..255", "0..1", "-1..1", "only_mean", "not_divided")).astype(
        np.float32
    )
    if "layout" in mistakes:
        return array
    if "reshaped" in mistakes:
        return array.reshape(3, SIDE, SIDE)
    array = array.transpose(2, 0, 1)
    if "dtype" in mistakes:
        return array.astype(np.float64)
    return array[None] if "extra_batch" in mistakes else array


def with_mistakes(*mistakes: str) -> Callable[[bytes], Array]:
    return lambda data: predict_input(data, *mistakes)


def predict_bgr(data: bytes) -> Array:
    return predict_input(data, "bgr")
