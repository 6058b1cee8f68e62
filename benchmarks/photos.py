"""Photos as ImageNet has them on average, 500x375 pixels, cut from the sample photos.

python benchmarks/photos.py DIR COUNT
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from PIL import Image

from workbench.samples import write_samples

SIZE = (500, 375)
CLASSES = 10
QUALITY = 90


def make_photos(folder: Path, count: int) -> Path:
    """Write this number of JPEGs into class folders; deterministic."""
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as samples:
        write_samples(samples)
        paths = sorted(Path(samples).rglob("*.jpg"))
        photos = [Image.open(path).convert("RGB") for path in paths]
    for number in range(count):
        photo = photos[number % len(photos)]
        share = chance.uniform(0.7, 1.0)
        width, height = round(photo.width * share), round(photo.height * share)
        left = chance.randint(0, photo.width - width)
        top = chance.randint(0, photo.height - height)
        target = folder / f"class_{number % CLASSES}" / f"{number:05}.jpg"
        target.parent.mkdir(parents=True, exist_ok=True)
        box = (left, top, left + width, top + height)
        photo.resize(SIZE, Image.Resampling.BICUBIC, box).save(target, quality=QUALITY)
    return folder


if __name__ == "__main__":
    make_photos(Path(sys.argv[1]), int(sys.argv[2]))
