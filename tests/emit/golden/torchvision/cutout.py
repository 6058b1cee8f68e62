"""cutout: A square of each photo is erased, at a random place (Cutout, DeVries and
Taylor 2017).

The same in torchvision's transforms, for machines without DALI. It draws from the same
ranges, not the same numbers, and images are (C, H, W).

    for images, labels in make_loader("DIR"):
        ...

Mean and largest difference from DALI's pixels, of 255, with all draws fixed: resize
0.14, 11; none of flip, crop_mirror_normalize.

Otherwise than DALI: the window is wholly inside, where DALI's begins in the drawn
range.

Needs torch and torchvision.
"""

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

BATCH_SIZE = 64
NUM_WORKERS = 4
SEED = 42
MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]

transform = v2.Compose(
    [
        v2.ToImage(),
        v2.RandomResizedCrop((224, 224), scale=(0.35, 1.0)),
        v2.RandomErasing(
            p=1.0, scale=(0.0625, 0.0625), ratio=(1.0, 1.0), value=[124, 116, 104]
        ),
        v2.RandomHorizontalFlip(p=0.5),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ]
)


def make_loader(
    data: str, batch_size: int = BATCH_SIZE, num_workers: int = NUM_WORKERS
) -> DataLoader:
    """Batches of images and labels; ``data`` has a folder of photos for each class."""
    return DataLoader(
        ImageFolder(data, transform),
        batch_size,
        shuffle=True,
        num_workers=num_workers,
        generator=torch.Generator().manual_seed(SEED),
    )
