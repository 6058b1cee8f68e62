"""Define Kornia and torchvision on a GPU as peers of ``rotate-jitter``.

    workbench bench rotate-jitter --data photos --device mixed --load 1.0 --batch-size 64 \\
        --peer benchmarks.gpu_peers:kornia --peer benchmarks.gpu_peers:torchvision_cuda

Run it in the project folder. Both return uint8 batches of 224 x 224 on the GPU. The hue is rotated
in HSV, not in YIQ as in DALI.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

SIDE = (224, 224)
JITTER = {
    "brightness": (0.8, 1.2),
    "contrast": (0.8, 1.2),
    "saturation": (0.7, 1.3),
    "hue": (-20 / 360, 20 / 360),
}


def kornia(files: Sequence[str], batch_size: int, threads: int) -> Iterator[tuple[Any]]:
    """Decode and resize with OpenCV in threads, then augment whole batches with Kornia."""
    import cv2
    import numpy as np
    import torch
    from kornia.augmentation import AugmentationSequential, ColorJitter
    from kornia.augmentation import RandomHorizontalFlip as Flip
    from kornia.augmentation import RandomRotation as Rotation

    cv2.setNumThreads(1)
    augment = AugmentationSequential(
        Rotation(10.0, p=1.0), ColorJitter(**JITTER, p=1.0), Flip(p=0.5), data_keys=["input"]
    )

    def decode(path: str) -> Any:
        image = cv2.cvtColor(cv2.imread(path), cv2.COLOR_BGR2RGB)
        return cv2.resize(image, SIDE, interpolation=cv2.INTER_AREA)

    with ThreadPoolExecutor(threads) as pool:
        for some in batches(files, batch_size):
            host = torch.from_numpy(np.stack([*pool.map(decode, some)])).pin_memory()
            images = host.to("cuda", non_blocking=True).permute(0, 3, 1, 2).float() / 255
            yield finished(augment(images) * 255)


def torchvision_cuda(files: Sequence[str], batch_size: int, threads: int) -> Iterator[tuple[Any]]:
    """Decode batches with torchvision on the GPU, and augment image by image."""
    import torch
    from torchvision.io import decode_jpeg, read_file
    from torchvision.transforms import v2

    augment = v2.Compose(
        [
            v2.Resize(SIDE, antialias=True),
            v2.RandomRotation(10, interpolation=v2.InterpolationMode.BILINEAR),
            v2.ColorJitter(**JITTER),
            v2.RandomHorizontalFlip(0.5),
        ]
    )
    with ThreadPoolExecutor(threads) as pool:
        for some in batches(files, batch_size):
            encoded = [*pool.map(read_file, some)]
            images = decode_jpeg(encoded, device="cuda")
            yield finished(torch.stack([augment(image) for image in images]))


def batches(files: Sequence[str], batch_size: int) -> Iterator[Sequence[str]]:
    """Yield the complete batches of one epoch."""
    for start in range(0, len(files) - batch_size + 1, batch_size):
        yield files[start : start + batch_size]


def finished(images: Any) -> tuple[Any]:
    """Return the batch as uint8 after the GPU has computed it."""
    import torch

    made = images.clamp(0, 255).to(torch.uint8)
    torch.cuda.synchronize()
    return (made,)


def check(folder: str) -> None:
    """Print the shape of one batch of each installed library. Needs a GPU."""
    files = [str(path) for path in sorted(Path(folder).rglob("*.jpg"))]
    for factory in (kornia, torchvision_cuda):
        try:
            (images,) = next(factory(files, min(8, len(files)), 4))
        except ImportError as error:
            print(f"{factory.__name__}: {error}")
        else:
            print(factory.__name__, tuple(images.shape), images.dtype, images.device)


if __name__ == "__main__":
    import sys

    check(sys.argv[1])
