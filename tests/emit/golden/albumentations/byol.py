"""byol: BYOL's two views (arXiv 2006.07733): blur for all and for 0.1, solarize for
none and 0.2.

The same in Albumentations' transforms, for machines without DALI. It draws from the
same ranges, not the same numbers.

    for view_1, view_2, labels in make_loader("DIR"):
        ...

Mean and largest difference from DALI's pixels, of 255, with all draws fixed: resize
1.00, 28; saturation 0.05, 1; hue 14.81, 84; brightness_shift 0.97, 1; grey 0.10, 1;
gaussian_blur 0.00, 1; none of flip, crop_mirror_normalize, solarize.

Otherwise than DALI: colours change in an order that is drawn; the hue is turned in HSV,
not in YIQ; contrast turns about 0, not about 128.

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
view_1_transform = A.Compose(
    [
        A.RandomResizedCrop(
            (224, 224), interpolation=cv2.INTER_CUBIC, area_for_downscale="image"
        ),
        A.HorizontalFlip(p=0.5),
        A.Sequential(
            [
                A.ColorJitter(
                    brightness=(1.0, 1.0),
                    contrast=(1.0, 1.0),
                    saturation=(0.8, 1.2),
                    hue=(-0.1, 0.1),
                    p=1.0,
                ),
                A.RandomBrightnessContrast(
                    brightness_limit=(-0.4, 0.4), contrast_limit=(-0.4, 0.4), p=1.0
                ),
            ],
            p=0.8,
        ),
        A.ToGray(p=0.2),
        A.GaussianBlur((23, 23), (0.1, 2.0), p=1.0),
        A.Normalize(MEAN, STD),
        A.ToTensorV2(),
    ]
)
view_2_transform = A.Compose(
    [
        A.RandomResizedCrop(
            (224, 224), interpolation=cv2.INTER_CUBIC, area_for_downscale="image"
        ),
        A.HorizontalFlip(p=0.5),
        A.Sequential(
            [
                A.ColorJitter(
                    brightness=(1.0, 1.0),
                    contrast=(1.0, 1.0),
                    saturation=(0.8, 1.2),
                    hue=(-0.1, 0.1),
                    p=1.0,
                ),
                A.RandomBrightnessContrast(
                    brightness_limit=(-0.4, 0.4), contrast_limit=(-0.4, 0.4), p=1.0
                ),
            ],
            p=0.8,
        ),
        A.ToGray(p=0.2),
        A.GaussianBlur((23, 23), (0.1, 2.0), p=0.1),
        A.Solarize((0.50196, 0.50196), p=0.2),
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
    """Gives of each photo view_1, view_2 and labels; the folder has one for each class."""

    def __init__(self, folder: str) -> None:
        found = named_files(folder, IMAGES)
        self.samples = [(os.path.join(folder, name), label) for name, label in found]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        path, label = self.samples[index]
        photo = cv2.imread(path, cv2.IMREAD_COLOR_RGB)
        return (
            view_1_transform(image=photo)["image"],
            view_2_transform(image=photo)["image"],
            label,
        )


def seed_worker(worker: int) -> None:
    """Let each worker draw apart, and each transform: ``seed=`` gives all the same."""
    seed = torch.initial_seed()
    for each in [view_1_transform, view_2_transform]:
        each.set_random_state(np.random.default_rng(seed), random.Random(seed))


def make_loader(
    data: str, batch_size: int = BATCH_SIZE, num_workers: int = NUM_WORKERS
) -> DataLoader:
    """Batches of view_1, view_2 and labels."""
    return DataLoader(
        Photos(data),
        batch_size,
        shuffle=True,
        num_workers=num_workers,
        worker_init_fn=seed_worker,
        generator=torch.Generator().manual_seed(SEED),
    )
