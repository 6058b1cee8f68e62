"""ResNet training on ImageNet: random crop, mirror, normalise.

The graph as torchvision transforms, for machines without DALI:

    for images, labels in make_loader("DIR"):
        ...

The order of photos and random values are not DALI's; the values come from the same
ranges.

Mean and largest difference from DALI's pixels (0 to 255), with all random values fixed:
resize 0.14, 11; none of flip, crop_mirror_normalize.

Needs torch and torchvision, which brings Pillow (PIL).
"""

import os
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

BATCH_SIZE = 64
NUM_WORKERS = 4
SEED = 42 + int(os.environ.get("RANK", "0"))
MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]


def decode_with_pillow(
    encoded: bytes, grey: bool = False, adjust_orientation: bool = True
) -> object:
    """Decode the first frame of an image file to the pixels of DALI's CPU decoder.

    Returns uint8 of shape (height, width, 3), or (height, width, 1) with ``grey``. The EXIF
    orientation is applied, an alpha channel is dropped, and 16 bits and floats from 0 to 1 are
    scaled to 8 bits. Raises ValueError, OSError or SyntaxError for an image that Pillow decodes
    differently or not at all.
    """
    from io import BytesIO

    import numpy as np
    from PIL import Image, ImageOps

    with Image.open(BytesIO(encoded)) as image:
        kind, mode, tags = image.format, image.mode, getattr(image, "tag_v2", {})
        if 2 in tags.get(339, ()) or (mode == "I" and kind not in ("PNG", "PPM")):
            raise ValueError("its pixels are signed or 32-bit integers")
        if tags.get(284) == 2 and max(tags.get(258, (8,))) > 8:
            raise ValueError("a planar TIFF of more than 8 bits a channel")
        largest = tuple(image.tile[0].args or "")[-1] if kind == "PPM" else 255
        if largest not in ("L", "B", "I", 255, 65535):
            raise ValueError(f"its maximum value is {largest}, not 255 or 65535")
        if kind == "JPEG2000" and mode not in ("L", "I;16"):
            head = bytes(encoded[:4096])
            bits = head[head.find(b"\xff\x4f\xff\x51") + 42] & 127  # minus 1
            if bits > 7 or b"colr\1\0\0\0\0\0\x12" in head:
                raise ValueError("a JPEG 2000 of more than 8 bits or of YCC colours")
        for other in ("xmp", "XML:com.adobe.xmp", "Raw profile type exif"):
            image.info.pop(other, None)  # DALI reads the orientation from EXIF only
        exif = image.getexif()
        if not adjust_orientation:
            exif.pop(0x0112, None)  # before Pillow loads: it rotates a TIFF by itself
        upright = ImageOps.exif_transpose(image)
    if upright.mode == "F":
        scaled = np.clip(np.nan_to_num(np.asarray(upright)), 0, 1) * 255
        upright = Image.fromarray(np.rint(scaled).astype(np.uint8))
    elif upright.mode.startswith("I"):
        scaled = np.asarray(upright) / 257
        upright = Image.fromarray(np.rint(scaled).astype(np.uint8))
    pixels = np.array(upright.convert("L" if grey else "RGB"))
    return pixels[..., None] if grey else pixels


def read_photo(path: str) -> Any:
    """Decode a photo to the pixels of DALI's CPU decoder."""
    encoded = Path(path).read_bytes()
    try:
        return decode_with_pillow(encoded)
    except (OSError, SyntaxError, ValueError) as error:
        raise ValueError(f"{path} cannot be decoded: {error}") from None


transform = v2.Compose(
    [
        v2.ToImage(),
        v2.RandomResizedCrop((224, 224)),
        v2.RandomHorizontalFlip(p=0.5),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(MEAN, STD),
    ]
)


IMAGES = (
    ".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pnm", ".ppm",
    ".pgm", ".pbm", ".jp2", ".webp",
)  # fmt: skip


def is_hidden(name: str) -> bool:
    """Return whether a file or folder is hidden or belongs to the system, judged by its name."""
    system = ("__macosx", "@eadir", "#recycle", "$recycle.bin", "lost+found")
    others = ("__pycache__", "system volume information", "thumbs.db", "desktop.ini")
    return name.startswith(".") or name.lower() in system + others


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder entry is a folder; False for circular links."""
    return os.path.isdir(entry.path) if entry.is_symlink() else entry.is_dir()


def class_folders(data: str) -> list[str]:
    """Return the visible subfolders of a folder, sorted by name."""
    if not os.path.isdir(data):
        return []
    with os.scandir(data) as entries:
        return sorted(e.name for e in entries if is_folder(e) and not is_hidden(e.name))


def named_files(data: str, suffixes: tuple[str, ...]) -> list[tuple[str, int]]:
    """Return the relative path and label of each file in class folders or a flat folder."""
    found = []
    for label, folder in enumerate(class_folders(data) or [""]):
        with os.scandir(os.path.join(data, folder)) as entries:
            names = [entry.name for entry in entries if not is_folder(entry)]
        named = sorted(name for name in names if name.lower().endswith(suffixes))
        shown = [name for name in named if not is_hidden(name)]
        found += [(os.path.join(folder, name), label) for name in shown]
    return found


class PhotoFolder(ImageFolder):
    """The photos of a folder that DALI reads, with the same labels."""

    def find_classes(self, directory: str) -> tuple[list[str], dict[str, int]]:
        classes = class_folders(directory)
        return classes, {name: label for label, name in enumerate(classes)}

    @staticmethod
    def make_dataset(directory: str, *_: Any, **options: Any) -> list[tuple[str, int]]:
        found = named_files(directory, IMAGES)
        if not found:
            raise FileNotFoundError(f"There is no image in {directory}.")
        return [(os.path.join(directory, name), label) for name, label in found]


def make_loader(
    data: str, batch_size: int = BATCH_SIZE, num_workers: int = NUM_WORKERS
) -> DataLoader:
    """Batches of images and labels; ``data`` has one subfolder per class."""
    if not num_workers:  # worker processes are seeded by the loader
        torch.manual_seed(SEED)
    return DataLoader(
        PhotoFolder(data, transform, loader=read_photo),
        batch_size,
        shuffle=True,
        num_workers=num_workers,
        generator=torch.Generator().manual_seed(SEED),
    )
