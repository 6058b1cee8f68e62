"""OpenCV: the operators, and batches from a pool of threads.

OpenCV itself is imported in the worker only, where it is installed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.bench.peers.loader import AHEAD, EndlessBatchSampler
from workbench.bench.peers.program import Image, Operator, Peer, Program
from workbench.errors import DataError

PEERS = (Peer("OpenCV", "cpu", ("opencv-python-headless", "cv2"), "OpenCV", __name__),)


def operators(chance: random.Random) -> Mapping[str, Operator]:
    """One function for each of DALI's operators that OpenCV has; images are HWC, uint8 RGB."""
    import cv2

    def scaled(image: Image, height: int, width: int) -> Image:
        smaller = height < image.shape[0] or width < image.shape[1]
        how = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
        return cv2.resize(image, (width, height), interpolation=how)

    def random_resized_crop(
        image: Image,
        size: Any,
        random_area: Any = (0.08, 1.0),
        random_aspect_ratio: Any = (3 / 4, 4 / 3),
    ) -> Image:
        top, left, high, wide = crop_window(image.shape, random_area, random_aspect_ratio, chance)
        return scaled(image[top : top + high, left : left + wide], int(size[0]), int(size[1]))

    def resize(image: Image, size: Any = None, resize_shorter: Any = None) -> Image:
        if size is not None:
            return scaled(image, int(size[0]), int(size[1]))
        factor = float(resize_shorter) / min(image.shape[:2])
        return scaled(image, round(image.shape[0] * factor), round(image.shape[1] * factor))

    def crop(image: Image, crop: Any, crop_pos_x: float = 0.5, crop_pos_y: float = 0.5) -> Image:
        high, wide = (int(value) for value in crop)
        top = math.floor(crop_pos_y * (image.shape[0] - high) + 0.5)  # a half goes up, as in DALI
        left = math.floor(crop_pos_x * (image.shape[1] - wide) + 0.5)
        return image[top : top + high, left : left + wide]

    def crop_mirror_normalize(
        image: Image,
        crop: Any = None,
        crop_pos_x: float = 0.5,
        crop_pos_y: float = 0.5,
        mirror: float = 0,
        mean: Any = (0.0,),
        std: Any = (1.0,),
        dtype: str = "FLOAT",
        output_layout: str = "CHW",
    ) -> Image:
        if crop is not None:
            image = found["crop"](image, crop, crop_pos_x, crop_pos_y)
        if mirror:
            image = cv2.flip(image, 1)
        image = np.atleast_3d(image)
        values = (image.astype(np.float32) - np.float32(mean)) / np.float32(std)
        if dtype == "FLOAT16":
            values = values.astype(np.float16)
        return np.ascontiguousarray(values.transpose(2, 0, 1)) if output_layout == "CHW" else values

    def rotate(image: Image, angle: float, fill_value: float = 0, keep_size: bool = False) -> Image:
        height, width = image.shape[:2]
        turn = cv2.getRotationMatrix2D(((width - 1) / 2, (height - 1) / 2), angle, 1.0)
        size = width, height
        if not keep_size:
            cos, sin = abs(turn[0, 0]), abs(turn[0, 1])
            size = round(height * sin + width * cos), round(height * cos + width * sin)
            turn[:, 2] += (size[0] - width) / 2, (size[1] - height) / 2
        return cv2.warpAffine(
            image, turn, size, flags=cv2.INTER_LINEAR, borderValue=[fill_value] * 3
        )

    def color_twist(
        image: Image,
        brightness: float = 1.0,
        contrast: float = 1.0,
        hue: float = 0.0,
        saturation: float = 1.0,
    ) -> Image:
        image = cv2.convertScaleAbs(
            image, alpha=brightness * contrast, beta=128 * brightness * (1 - contrast)
        )
        if saturation != 1:  # towards or away from grey, as DALI and torchvision do
            gray = cv2.cvtColor(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
            image = cv2.addWeighted(image, saturation, gray, 1 - saturation, 0)
        if not hue:
            return image
        hsv = cv2.cvtColor(image, cv2.COLOR_RGB2HSV)
        turned = ((np.arange(256) + hue / 2) % 180).astype(np.uint8)  # its hue has 180 steps
        parts = [cv2.LUT(hsv[..., 0], turned), hsv[..., 1], hsv[..., 2]]
        return cv2.cvtColor(cv2.merge(parts), cv2.COLOR_HSV2RGB)

    def flip(image: Image, horizontal: float = 1, vertical: float = 0) -> Image:
        codes = {(1, 0): 1, (0, 1): 0, (1, 1): -1}
        code = codes.get((int(horizontal), int(vertical)))
        return image if code is None else cv2.flip(image, code)

    def gaussian_blur(image: Image, sigma: float, window_size: float = 0) -> Image:
        size = int(window_size) or 2 * math.ceil(3 * sigma) + 1
        return cv2.GaussianBlur(image, (size, size), sigma)

    found: dict[str, Operator] = {
        "random_resized_crop": random_resized_crop,
        "resize": resize,
        "crop": crop,
        "crop_mirror_normalize": crop_mirror_normalize,
        "rotate": rotate,
        "color_twist": color_twist,
        "saturation": lambda image, saturation: color_twist(image, saturation=saturation),
        "brightness": lambda image, brightness: color_twist(image, brightness),
        "brightness_contrast": color_twist,
        "flip": flip,
        "gaussian_blur": gaussian_blur,
    }
    return found


def crop_window(
    shape: tuple[int, ...], area: Any, ratio: Any, chance: random.Random
) -> tuple[int, int, int, int]:
    """(top, left, height, width) of a random crop; the central one after ten vain tries.

    The method of "Going deeper with convolutions" (C. Szegedy et al., CVPR 2015) in the form that
    torchvision's RandomResizedCrop and DALI's random_resized_crop share.
    """
    height, width = shape[:2]
    for _ in range(10):
        size = height * width * chance.uniform(*area)
        aspect = math.exp(chance.uniform(math.log(ratio[0]), math.log(ratio[1])))
        wide, high = round(math.sqrt(size * aspect)), round(math.sqrt(size / aspect))
        if 0 < wide <= width and 0 < high <= height:
            return chance.randint(0, height - high), chance.randint(0, width - wide), high, wide
    high, wide = height, width
    if width / height < ratio[0]:
        high = round(width / ratio[0])
    elif width / height > ratio[1]:
        wide = round(height * ratio[1])
    return (height - high) // 2, (width - wide) // 2, high, wide


def decode(path: str, gray: bool) -> Image:
    """HWC, uint8, RGB or one channel; turned as its EXIF says.

    Raises DataError for a file that OpenCV cannot decode.
    """
    import cv2

    encoded = np.frombuffer(Path(path).read_bytes(), np.uint8)
    mode = cv2.IMREAD_GRAYSCALE if gray else cv2.IMREAD_COLOR
    image = cv2.imdecode(encoded, mode) if encoded.size else None
    if image is None:
        raise DataError(f"OpenCV cannot decode {path}. Leave it out, or convert it to JPEG.")
    return image if gray else cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


class PoolWorkload:
    """Batches from a pool of threads, two of them ahead. OpenCV itself uses one thread a call."""

    def __init__(self, program: Program, files: list[str], batch_size: int, workers: int) -> None:
        import cv2

        cv2.setNumThreads(1)
        self._program, self._files, self._size = program, files, batch_size
        self._chance = random.Random(0)
        self._operators = operators(self._chance)
        self._indices = iter(EndlessBatchSampler(len(files), batch_size))
        self._pool = ThreadPoolExecutor(workers)
        self._coming: list[list[Future[Any]]] = [self._ask() for _ in range(AHEAD)]
        self.lead = AHEAD + 1

    def _ask(self) -> list[Future[Any]]:
        return [self._pool.submit(self._sample, index) for index in next(self._indices)]

    def _sample(self, index: int) -> list[Any]:
        image = decode(self._files[index], self._program.gray)
        return self._program.run(image, self._operators, self._chance)

    def run(self) -> int:
        samples = [one.result() for one in self._coming.pop(0)]
        self._coming.append(self._ask())
        for column in zip(*samples, strict=True):
            if len({one.shape for one in column}) == 1:
                np.stack(column)
        return self._size


def start(
    peer: Peer, program: Program, files: list[str], batch_size: int, workers: int
) -> PoolWorkload:
    """Batches of the files."""
    return PoolWorkload(program, files, batch_size, workers)


def images(peer: Peer, program: Program, files: list[str]) -> list[NDArray[Any]]:
    """The program's first output for each file, as arrays in DALI's layout."""
    chance = random.Random(0)
    table = operators(chance)
    made = [program.run(decode(file, program.gray), table, chance)[0] for file in files]
    return [np.atleast_3d(image) for image in made]
