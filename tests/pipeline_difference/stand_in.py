"""A small library with Albumentations' name; each class behaves in its own way."""

from __future__ import annotations

from pathlib import Path

SOURCE = '''
import os
import signal

import numpy as np

__version__ = "0.0.1"


class Transform:
    def __init__(self, p=0.5):
        assert p == 1.0

    def __call__(self, image):
        return {"image": self.apply(image)}


class HorizontalFlip(Transform):
    def apply(self, image):
        return image[:, ::-1]


class VerticalFlip(Transform):
    """Not quite: it is 2 darker in the first channel."""

    def apply(self, image):
        flipped = image[::-1].astype(int)
        flipped[..., 0] = np.maximum(flipped[..., 0], 2) - 2
        return flipped.astype(np.uint8)


class InvertImg(Transform):
    def apply(self, image):
        raise ValueError("not today")


class Equalize(Transform):
    def apply(self, image):
        return np.random.randint(0, 255, image.shape).astype(np.uint8)


class Transpose(Transform):
    def apply(self, image):
        os.kill(os.getpid(), signal.SIGKILL)


class HueSaturationValue(Transform):
    def __init__(self, **limits):
        super().__init__(1.0)

    def apply(self, image):
        open("written", "w")


class CenterCrop(Transform):
    def __init__(self, height, width, p=1.0):
        super().__init__(p)
        self.size = height, width

    def apply(self, image):
        return image[: self.size[0] - 1, : self.size[1]]


class Solarize(Transform):
    def __init__(self, other, p=0.5):
        super().__init__(p)
'''
SCRIPT = """
import albumentations as A

train = A.Compose([
    A.HorizontalFlip(p=0.5),
    A.OneOf([A.VerticalFlip(), A.InvertImg()], p=0.3),
    A.Equalize(),
    A.Transpose(),
    A.HueSaturationValue(),
    A.CenterCrop(20, 30),
    A.Solarize(threshold=100),
    A.Posterize(4),
    A.ElasticTransform(),
    A.GaussNoise(),
    A.Lambda(image=lambda image, **_: image / image.max()),
])
"""


def write_stand_in(folder: Path) -> Path:
    """The library in a folder for ``sys.path``."""
    package = folder / "albumentations"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(SOURCE)
    described = folder / "albumentations-0.0.1.dist-info"  # the real one may be installed
    described.mkdir()
    (described / "METADATA").write_text("Name: albumentations\nVersion: 0.0.1\n")
    return folder
