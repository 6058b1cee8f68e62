"""cutout: A square of each photo is erased, at a random place (Cutout, DeVries and
Taylor 2017).

The same in Albumentations' transforms, for machines without DALI. It draws from the
same ranges, not the same numbers.

    for images, labels in make_loader("DIR"):
        ...

Mean and largest difference from DALI's pixels, of 255, with all draws fixed: resize
1.00, 28; none of flip, crop_mirror_normalize.

Otherwise than DALI: the window is wholly inside, where DALI's begins in the drawn
range.

Needs albumentations, which brings cv2, and torch.
"""

import os
import random
from typing import Any

import albumentations as A
import cv2
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

BATCH_SIZE = 64
NUM_WORKERS = 4
SEED = 42
MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]
transform = A.Compose(
    [
        A.RandomResizedCrop((224, 224), scale=(0.35, 1.0), area_for_downscale="image"),
        A.CoarseDropout(
            num_holes_range=(1, 1),
            hole_height_range=(0.25, 0.25),
            hole_width_range=(0.25, 0.25),
            fill=(124, 116, 104),
            p=1.0,
        ),
        A.HorizontalFlip(p=0.5),
        A.Normalize(MEAN, STD),
        A.ToTensorV2(),
    ]
)


IMAGES = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm",
    ".pgm", ".pbm", ".jp2", ".webp",
)  # fmt: skip


def is_hidden(name: str) -> bool:
    """Whether a file or folder belongs to the system or to a tool, by its name: it is no data."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found", "__pycache__")
    return name.startswith(".") or name.lower() in (*system, "system volume information")


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a folder; a link in a circle is none."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """The names of the folders in a folder, sorted, without hidden ones."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """The files of class folders, or of a flat folder: the path inside ``data``, and the label."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [
                e.name for e in entries if e.name.lower().endswith(suffixes) and not is_folder(e)
            ]
        shown = sorted(name for name in names if not is_hidden(name))
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


class Photos(Dataset):
    """Gives of each photo images and labels; the folder has one for each class."""

    def __init__(self, folder: str) -> None:
        found = named_files(folder, IMAGES)
        self.samples = [(os.path.join(folder, name), label) for name, label in found]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        path, label = self.samples[index]
        photo = cv2.imread(path, cv2.IMREAD_COLOR_RGB)
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
