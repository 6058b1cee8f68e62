"""A folder of images and a folder of masks with the same names: ``images/7.jpg, masks/7.png``.

A mask is an image file with one number per pixel, a class or an instance. Palette images contain
the palette index; colour images are COCO panoptic masks. DALI would decode colours, so the reader
opens masks with Pillow. The file ``masks.names`` can contain the class names from 0 on, one per
line.
"""

from __future__ import annotations

import io
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind
from workbench.sources.class_folders import (
    IMAGES,
    class_folders,
    describe_unread,
    ends_with,
    is_folder,
    is_hidden,
)
from workbench.sources.kinds.coco import annotation_files
from workbench.sources.kinds.folder import IMAGES_SOURCE
from workbench.sources.source_kind import READER_OPTIONS

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it

_FEW = 65_536
"""Number of different values in a 16-bit mask."""


def pair_folders(data: str) -> tuple[str, str]:
    """Return the image folder and the mask folder, recognised by name, or empty strings."""
    names = class_folders(data)
    masks = [name for name in names if "mask" in name.lower()]
    masks += [n for n in names if n.lower() in ("segmentation", "segmentationclass", "annotations")]
    images = [n for n in names if n.lower() in ("image", "images", "img", "imgs", "jpegimages")]
    return (images or [""])[0], (masks or [""])[0]


def pairs_in(data: str) -> list[tuple[str, str]]:
    """Return the path of each image, sorted by name, and of its mask (empty if it has none)."""
    images, masks = (os.path.join(data, name) for name in pair_folders(data))
    named = {
        os.path.splitext(name)[0]: name
        for name in sorted(os.listdir(masks))
        if name.lower().endswith(IMAGES) and not is_hidden(name)
    }
    return [
        (os.path.join(images, name), os.path.join(masks, mask) if mask else "")
        for name in sorted(os.listdir(images))
        if name.lower().endswith(IMAGES) and not is_hidden(name)
        for mask in [named.get(os.path.splitext(name)[0], "")]
    ]


def find_pairs(data: str) -> dict[str, Any]:
    """Return the paths of the images that have a mask, and the paths of their masks."""
    pairs = [(image, mask) for image, mask in pairs_in(data) if mask]
    return {"files": [image for image, _ in pairs], "masks": [mask for _, mask in pairs]}


def mask_numbers(content: bytes) -> Any:
    """Decode a mask to int32 numbers of shape (height, width, 1).

    Colours become red + 256 green + 65,536 blue.
    """
    import numpy as np
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(content)) as image:
        turned = ImageOps.exif_transpose(image) if "exif" in image.info else image
        numbers = np.array(turned, np.int32)  # rotated as DALI rotates the photo
    if numbers.ndim == 2:
        return numbers[..., None]
    first = numbers[..., :1]
    grey = numbers.shape[2] < 3 or (numbers[..., :3] == first).all()
    steps = np.array([[1], [256], [65536]], np.int32)
    return first if grey else numbers[..., :3] @ steps


def read_pairs(masks: list[str], **options: Any) -> Any:
    """Read images and decode their masks. ``masks`` has the mask's path for each image."""
    jpegs, places = fn.readers.file(labels=list(range(len(masks))), **options)

    def mask_at(place: Any) -> Any:
        with open(masks[int(place[0])], "rb") as file:
            return mask_numbers(file.read())

    return jpegs, fn.python_function(places, function=mask_at, output_layouts=["HWC"])


def classes_of_masks(samples: Iterable[Sample]) -> Iterator[Collection[int]]:
    """Yield the numbers in the mask of each sample; unreadable masks are skipped."""
    import numpy as np
    from PIL import Image

    unread = (OSError, ValueError, SyntaxError, Image.DecompressionBombError)
    for sample in samples:
        with suppress(*unread), sample.open_mask() as file:
            numbers = mask_numbers(file.read()).ravel()
            few = numbers.size and numbers.min() >= 0 and numbers.max() < _FEW
            # ``unique`` sorts, which takes ten times as long.
            found = np.flatnonzero(np.bincount(numbers)) if few else np.unique(numbers)
            yield found.tolist()


class ImageMasks(SourceKind):
    """Source kind for images with one mask each, in two folders."""

    about = "images with masks (images/7.jpg, masks/7.png)"
    op = "readers.image_masks"
    located_by = frozenset({"files", "masks", "labels", "file_root", "file_list"})
    find = staticmethod(find_pairs)
    reader = staticmethod(read_pairs)
    outputs = ("jpegs", "masks")
    helpers = (
        *(IMAGES_SOURCE, is_hidden, is_folder, class_folders),
        *(pair_folders, pairs_in, mask_numbers),
    )
    imports = ("io", "os")
    precedence = 1
    targets = "masks"
    sample = "segmentation"
    looks_ahead = True
    options = READER_OPTIONS | {"shuffle_after_epoch", "shuffle_after_epoch_seed"}

    def _pairs(self, dataset: Dataset) -> list[tuple[str, str]]:
        if not all(pair_folders(dataset.location)):
            raise DataError(self.nothing_found(dataset))
        try:
            return pairs_in(dataset.location)
        except OSError as error:
            raise DataError(f"{error.filename} cannot be listed: {error.strerror}.") from None

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples. Images without a mask and masks without an image are faulty."""
        pairs = self._pairs(dataset)
        for image, mask in pairs:
            name = os.path.relpath(image, dataset.location)
            yield Sample(image, name, 0, fault="" if mask else "it has no mask", mask=mask)
        folder = os.path.join(dataset.location, pair_folders(dataset.location)[1])
        known = {mask for _, mask in pairs}
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name.lower().endswith(IMAGES) and path not in known and not is_hidden(name):
                shown = os.path.relpath(path, dataset.location)
                yield Sample(path, shown, 0, fault="it is a mask without an image", counted=False)

    def require(self, dataset: Dataset) -> None:
        if not any(mask for _, mask in self._pairs(dataset)):
            raise DataError(self.nothing_found(dataset))

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Create folders of links to the remaining images and their masks."""
        place.mkdir()
        for inner in ("images", "masks"):
            (place / inner).mkdir()
        for image, mask in self._pairs(dataset):
            if mask and os.path.relpath(image, dataset.location) not in names:
                for path, inner in ((image, "images"), (mask, "masks")):
                    link = place / inner / os.path.basename(path)
                    if not link.is_symlink():  # 7.jpg and 7.png share a mask
                        link.symlink_to(os.path.abspath(path))
        if os.path.isfile(names_file := self._names_file(dataset)):
            (place / "masks.names").symlink_to(os.path.abspath(names_file))
        return place

    def _names_file(self, dataset: Dataset) -> str:
        return os.path.join(dataset.location, f"{pair_folders(dataset.location)[1]}.names")

    def class_names(self, dataset: Dataset) -> list[str]:
        path = self._names_file(dataset)
        if not os.path.isfile(path):
            return []
        try:
            with open(path, encoding="utf-8") as file:
                return [line.strip() for line in file]
        except (OSError, ValueError):
            raise DataError(f"{path} is not a text file. Write one name per line.") from None

    def watched_paths(self, dataset: Dataset) -> Iterator[str]:
        yield dataset.location
        yield from (os.path.join(dataset.location, n) for n in pair_folders(dataset.location) if n)

    def nothing_found(self, dataset: Dataset) -> str:
        return (
            f"There is no image with a mask in {dataset}. Use a folder with subfolders "
            "images and masks whose files have the same names: images/7.jpg, masks/7.png."
        )

    def accepts(self, path: Path) -> bool:
        try:
            images, masks = pair_folders(str(path))
            return bool(images and masks) and not any(annotation_files(str(path / masks)))
        except OSError:
            return False

    def write_placeholder(self, folder: Path) -> Path:
        for name in ("images", "masks"):
            (folder / name).mkdir()
            (folder / name / "0.png").touch()
        return folder

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        folders = pair_folders(dataset.location)
        yield from describe_unread(dataset.location, ends_with(*IMAGES), "image", folders, ())

    def root(self, dataset: Dataset) -> str:
        return dataset.location

    def classes_in(self, dataset: Dataset, samples: Sequence[Sample]) -> Iterator[Collection[int]]:
        return classes_of_masks(each for each in samples if each.mask)


SOURCES = {"image_masks": ImageMasks()}
