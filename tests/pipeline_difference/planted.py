"""Pairs of pipelines with known differences: a DALI graph, and the same with Pillow and NumPy.

The ten differences are planted in the functions, not in the graph: what ``diff`` must find.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

import workbench as wb
from workbench.graph.model import Graph

MEAN = np.asarray((0.485, 0.456, 0.406), np.float32)
STD = np.asarray((0.229, 0.224, 0.225), np.float32)
SHORT, CROP, HUE = 64, 56, 36.0

CAUSES = {
    "no antialiasing": "antialias",
    "cubic": "interpolation",
    "floor of the longer side": "size rounding",
    "EXIF ignored": "orientation",
    "mean of 0..1 on 0..255": "scale of mean and std",
    "BGR": "channel order",
    "floor of the crop position": "crop position",
    "resize to the crop": "resize ratio",
    "hue in HSV": "hue",
    "values cut off": "rounding of values",
}
"""Planted difference -> the kind of cause."""
PAIRS = (
    ("no antialiasing", "floor of the longer side"),
    ("no antialiasing", "EXIF ignored"),
    ("no antialiasing", "mean of 0..1 on 0..255"),
    ("no antialiasing", "BGR"),
    ("cubic", "floor of the crop position"),
    ("cubic", "hue in HSV"),
    ("floor of the longer side", "floor of the crop position"),
    ("floor of the longer side", "mean of 0..1 on 0..255"),
    ("EXIF ignored", "BGR"),
    ("EXIF ignored", "resize to the crop"),
    ("mean of 0..1 on 0..255", "floor of the crop position"),
    ("BGR", "resize to the crop"),
    ("hue in HSV", "floor of the longer side"),
    ("values cut off", "BGR"),
    ("floor of the crop position", "values cut off"),
)


def graph_of(data: Path, planted: Collection[str]) -> Graph:
    """DALI's pipeline. It has a hue only if one of the differences concerns it."""
    graph = wb.read(data).decode().resize(resize_shorter=SHORT, subpixel_scale=False)
    if "hue in HSV" in planted:
        graph = graph.hsv(hue=HUE)
    return graph.crop(crop=(CROP, CROP)).crop_mirror_normalize(
        mean=tuple(round(float(each) * 255, 3) for each in MEAN),
        std=tuple(round(float(each) * 255, 3) for each in STD),
        dtype="FLOAT",
        output_layout="CHW",
    )


def function_of(planted: Collection[str]) -> Callable[[bytes], NDArray[np.float32]]:
    """The same pipeline without DALI, but for the planted differences."""

    def evaluate(data: bytes) -> NDArray[np.float32]:
        image: Any = Image.open(io.BytesIO(data))
        if "EXIF ignored" not in planted:
            image = ImageOps.exif_transpose(image)
        pixels = _resized(np.asarray(image.convert("RGB")), planted)
        if "hue in HSV" in planted:
            pixels = _hue_in_hsv(pixels)
        nudge = 0.0 if "floor of the crop position" in planted else 0.5
        top, left = (int((side - CROP) / 2 + nudge) for side in pixels.shape[:2])
        values: NDArray[Any] = pixels[top : top + CROP, left : left + CROP].astype(np.float32)
        if "BGR" in planted:
            values = values[..., ::-1]
        if "mean of 0..1 on 0..255" not in planted:
            values = values / 255
        return ((values - MEAN) / STD).transpose(2, 0, 1)

    return evaluate


def _resized(pixels: NDArray[np.uint8], planted: Collection[str]) -> NDArray[np.uint8]:
    height, width = pixels.shape[:2]
    scale = (CROP if "resize to the crop" in planted else SHORT) / min(height, width)
    nudge = 1e-9 if "floor of the longer side" in planted else 0.5
    size = int(width * scale + nudge), int(height * scale + nudge)
    if "no antialiasing" in planted:
        import cv2

        shrunk: NDArray[Any] = cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR)
        return shrunk.astype(np.uint8)
    kind = Image.Resampling.BICUBIC if "cubic" in planted else Image.Resampling.BILINEAR
    if "values cut off" not in planted:
        return np.asarray(Image.fromarray(pixels).resize(size, kind))
    planes = [Image.fromarray(pixels[..., at].astype(np.float32)) for at in range(3)]
    found = np.stack([np.asarray(each.resize(size, kind)) for each in planes], axis=2)
    values: NDArray[Any] = np.clip(found, 0, 255)
    return values.astype(np.uint8)


def _hue_in_hsv(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    import cv2

    hsv = cv2.cvtColor(pixels.astype(np.float32) / 255, cv2.COLOR_RGB2HSV)
    hsv[..., 0] = (hsv[..., 0] + HUE) % 360
    found: NDArray[Any] = cv2.cvtColor(hsv, cv2.COLOR_HSV2RGB)
    rounded: NDArray[Any] = np.clip(np.rint(found * 255), 0, 255)
    return rounded.astype(np.uint8)


def write_photos(source: Path, folder: Path, count: int, seed: int = 1) -> Path:
    """Write photos of many sizes; every third has an EXIF orientation."""
    random = np.random.default_rng(seed)
    paths = sorted(source.rglob("*.jpg"))
    folder.mkdir(parents=True)
    for number in range(count):
        image = Image.open(paths[int(random.integers(len(paths)))]).convert("RGB")
        share = random.uniform(0.35, 0.6)
        size = [int(side * share) + int(random.integers(7)) for side in image.size]
        exif = Image.Exif()
        if number % 3 == 0:
            exif[0x0112] = int(random.choice((3, 6, 8)))
        resized = image.resize((size[0], size[1]), Image.Resampling.LANCZOS)
        resized.save(folder / f"{number:03}.jpg", quality=92, exif=exif)
    return folder
