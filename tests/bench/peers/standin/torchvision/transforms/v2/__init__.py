from __future__ import annotations

import enum
import math
import random
from typing import Any

from torchvision.transforms.v2 import functional

__all__ = ["InterpolationMode", "RandomResizedCrop", "functional"]


class InterpolationMode(enum.Enum):
    NEAREST = "nearest"
    BILINEAR = "bilinear"


class RandomResizedCrop:
    def __init__(
        self,
        size: tuple[int, int],
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        antialias: bool = True,
    ) -> None:
        self.size, self.scale, self.ratio = size, scale, ratio

    def __call__(self, image: Any) -> Any:
        height, width = functional.get_size(image)
        side = math.sqrt(height * width * random.uniform(*self.scale))
        high, wide = min(height, round(side)), min(width, round(side))
        return functional.resize(functional.crop(image, 0, 0, high, wide), list(self.size))
