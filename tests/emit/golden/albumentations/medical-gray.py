"""medical-gray: X-ray or microscopy: one channel, local contrast (CLAHE), a small turn,
mirror half.

The same in Albumentations' transforms, for machines without DALI. It draws from the
same ranges, not the same numbers.

    for images, labels in make_loader("DIR"):
        ...

Mean and largest difference from DALI's pixels, of 255, with all draws fixed: resize
1.00, 28; rotate 0.00, 1; crop 5.16, 189; none of clahe, flip, crop_mirror_normalize.

Otherwise than DALI: a middle between two pixels is rounded down, not up.

Needs albumentations, which brings cv2, and torch.
"""

import random
from pathlib import Path
from typing import Any

import albumentations as A
import cv2
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

BATCH_SIZE = 64
NUM_WORKERS = 4
SEED = 42
MEAN = [0.5]
STD = [0.25]
SUFFIXES = {".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}

transform = A.Compose(
    [
        A.Resize(256, 256, area_for_downscale="image"),
        A.CLAHE((2.0, 2.0), p=1.0),
        A.Rotate((-7, 7), p=1.0),
        A.CenterCrop(224, 224),
        A.HorizontalFlip(p=0.5),
        A.Normalize(MEAN, STD),
        A.ToTensorV2(),
    ]
)


class Photos(Dataset):
    """Gives of each photo images and labels; the folder has one for each class."""

    def __init__(self, folder: str) -> None:
        classes = sorted(path for path in Path(folder).iterdir() if path.is_dir())
        self.samples = [
            (str(path), label)
            for label, photos in enumerate(classes)
            for path in sorted(photos.iterdir())
            if path.suffix.lower() in SUFFIXES
        ]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        path, label = self.samples[index]
        photo = cv2.imread(path, cv2.IMREAD_GRAYSCALE)[..., None]
        return transform(image=photo)["image"], label


def seed_worker(worker: int) -> None:
    """Let each worker draw apart, and each transform: ``seed=`` gives all the same."""
    seed = torch.initial_seed()
    transform.set_random_state(np.random.default_rng(seed), random.Random(seed))


def make_loader(
    data: str, batch_size: int = BATCH_SIZE, num_workers: int = NUM_WORKERS
) -> DataLoader:
    """Batches of images and labels."""
    return DataLoader(
        Photos(data),
        batch_size,
        shuffle=True,
        num_workers=num_workers,
        worker_init_fn=seed_worker,
        generator=torch.Generator().manual_seed(SEED),
    )
