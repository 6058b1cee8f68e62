"""Read images and masks with the same names: ``images/7.jpg, masks/7.png``, or ``7_mask.png``.

Images and masks are in two folders or in one. For Pascal VOC, a list of ``ImageSets`` can select
images. A mask is an image file with one number per pixel, a class or an instance. Palette images
contain the palette index; colour images are COCO panoptic masks. DALI would decode colours, so the
reader opens masks with Pillow. The file ``masks.names`` can contain the class names from 0 on, one
per line.
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
)
from workbench.sources.file_names import is_hidden
from workbench.sources.kinds._sampler import Sampler
from workbench.sources.kinds.coco import annotation_files
from workbench.sources.kinds.folder import IMAGES_SOURCE, images_in
from workbench.sources.source_kind import READER_OPTIONS

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it

_FEW = 65_536
"""Number of values that a pixel of a 16-bit mask can have."""


def mask_stem(name: str) -> str:
    """Return the image's name, without its ending, for the name of a mask: 7 for 7_mask.png."""
    stem = os.path.splitext(name)[0]
    endings = ("_mask", "-mask", ".mask", "_seg", "_label", "_gt")
    return next((stem.removesuffix(each) for each in endings if stem.endswith(each)), stem)


def image_names(folder: str) -> list[str]:
    """Return the names of the visible images in a folder, sorted."""
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith(IMAGES))
    return [name for name in names if not is_hidden(name)]


def pair_folders(data: str) -> tuple[str, str]:
    """Return the image folder and the mask folder, or empty strings if they are not recognised.

    Both are the same folder if it has names such as 7.jpg and 7_mask.png.
    """
    root = os.path.abspath(os.path.join(data, "../../..")) if os.path.isfile(data) else data
    names = {name.lower(): os.path.join(root, name) for name in class_folders(root)}
    masks = [names[name] for name in names if "mask" in name]
    usual = ("segmentationclass", "segmentation", "annotations", "labels", "gt")
    masks += [names[name] for name in usual if name in names and image_names(names[name])]
    images = [names[n] for n in ("images", "image", "imgs", "img", "jpegimages") if n in names]
    if images and masks:
        return images[0], masks[0]
    files = image_names(root) if os.path.isdir(root) and not names else []
    stems = {os.path.splitext(name)[0] for name in files}
    own = any(mask_stem(name) in stems - {os.path.splitext(name)[0]} for name in files)
    return (root, root) if own else ("", "")


def pairs_in(data: str) -> list[tuple[str, str]]:
    """Return the path of each image, sorted by name, and of its mask (empty if it has none)."""
    images, masks = pair_folders(data)
    names, files = image_names(images), image_names(masks)
    if images == masks:
        stems = {os.path.splitext(name)[0] for name in files}
        files = [n for n in files if mask_stem(n) in stems - {os.path.splitext(n)[0]}]
        names = [name for name in names if name not in files]
    if os.path.isfile(data):
        with open(data, encoding="utf-8-sig") as lines:
            listed = {line.strip() for line in lines}
        names = [name for name in names if os.path.splitext(name)[0] in listed]
    named = {mask_stem(name): name for name in files}
    named |= {os.path.splitext(name)[0]: name for name in files}
    return [
        (os.path.join(images, name), os.path.join(masks, mask) if mask else "")
        for name in names
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
    return np.ascontiguousarray(first if grey else numbers[..., :3] @ steps)


def read_pairs(masks: list[str], **options: Any) -> Any:
    """Read images and decode their masks. ``masks`` has the mask's path for each image."""
    jpegs, places = fn.readers.file(labels=list(range(len(masks))), **options)

    def mask_at(place: Any) -> Any:
        with open(masks[int(place[0])], "rb") as file:
            return mask_numbers(file.read())

    return jpegs, fn.python_function(places, function=mask_at, output_layouts=["HWC"])


def read_sampled_pairs(name: str, files: list[str], masks: list[str], **options: Any) -> Any:
    """Read images and decode their masks, in the order of a sampler."""
    sampler = Sampler(len(files), **options)
    sampler.name_files(name, files)

    def masks_at(places: Any) -> list[Any]:
        found = []
        for place in places:
            with open(masks[place], "rb") as file:
                found.append(mask_numbers(file.read()))
        return found

    return sampler.read_files(files), sampler.output(masks_at, "HWC")


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
    """Source kind for images with one mask each, in one folder or two."""

    about = "images with masks (images/7.jpg, masks/7.png)"
    op = "readers.image_masks"
    located_by = frozenset({"files", "masks", "labels", "file_root", "file_list"})
    find = staticmethod(find_pairs)
    reader = staticmethod(read_pairs)
    sampled = staticmethod(read_sampled_pairs)
    sampler_helpers = (Sampler,)
    outputs = ("jpegs", "masks")
    helpers = (
        *(IMAGES_SOURCE, is_hidden, is_folder, class_folders),
        *(mask_stem, image_names, pair_folders, pairs_in, mask_numbers),
    )
    imports = ("io", "os")
    precedence = 1
    takes = frozenset({"voc"})
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
        pairs, root = self._pairs(dataset), self.root(dataset)
        for image, mask in pairs:
            name = os.path.relpath(image, root)
            yield Sample(image, name, 0, fault="" if mask else "it has no mask", mask=mask)
        folder = pair_folders(dataset.location)[1]
        known = {path for pair in pairs for path in pair}
        stems = {os.path.splitext(os.path.basename(image))[0] for image, _ in pairs}
        if os.path.isfile(dataset.location):
            return  # other images have the other masks
        for name in image_names(folder):
            if (path := os.path.join(folder, name)) not in known:
                shown = os.path.relpath(path, root)
                other = mask_stem(name) in stems
                fault = (
                    "it is a mask of an image with another mask"
                    if other
                    else ("it is a mask without an image")
                )
                yield Sample(path, shown, 0, fault=fault, counted=False)

    def require(self, dataset: Dataset) -> None:
        if not any(mask for _, mask in self._pairs(dataset)):
            raise DataError(self.nothing_found(dataset))

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Create folders of links to the remaining images and their masks."""
        place.mkdir()
        for inner in ("images", "masks"):
            (place / inner).mkdir()
        for image, mask in self._pairs(dataset):
            if mask and os.path.relpath(image, self.root(dataset)) not in names:
                for path, inner in ((image, "images"), (mask, "masks")):
                    link = place / inner / os.path.basename(path)
                    if not link.is_symlink():  # 7.jpg and 7.png share a mask
                        link.symlink_to(os.path.abspath(path))
        if os.path.isfile(names_file := self._names_file(dataset)):
            (place / "masks.names").symlink_to(os.path.abspath(names_file))
        return place

    def _names_file(self, dataset: Dataset) -> str:
        images, masks = pair_folders(dataset.location)
        return os.path.join(masks, "masks.names") if images == masks else f"{masks}.names"

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
        yield from filter(None, pair_folders(dataset.location))
        with suppress(DataError):  # the reader reports the cause
            yield from (mask for _, mask in self._pairs(dataset) if mask)

    def nothing_found(self, dataset: Dataset) -> str:
        return (
            f"There is no image with a mask in {dataset}. Use a folder with subfolders images "
            "and masks whose files have the same names (images/7.jpg, masks/7.png), or one folder "
            "with 7.jpg and 7_mask.png."
        )

    def accepts(self, path: Path) -> bool:
        try:
            flat = not class_folders(str(path))
            if flat and not any(
                mask_stem(n) != os.path.splitext(n)[0] for n in images_in(str(path))
            ):
                return False
            images, masks = pair_folders(str(path))
            return bool(images and masks) and not any(annotation_files(masks))
        except OSError:
            return False

    def write_placeholder(self, folder: Path) -> Path:
        for name in ("images", "masks"):
            (folder / name).mkdir()
            (folder / name / "0.png").touch()
        return folder

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        root = self.root(dataset)
        folders = [os.path.relpath(path, root) for path in pair_folders(dataset.location) if path]
        folders = ["" if name == "." else name for name in folders]
        yield from describe_unread(root, ends_with(*IMAGES), "image", folders, ())
        if remark := self.decoding_remark(dataset, ""):
            yield f"{remark}."

    def decoding_remark(self, dataset: Dataset, device: str) -> str:
        """Describe masks that are JPEG files, or return an empty string."""
        masks = [mask for _, mask in self._pairs(dataset) if mask]
        found = [mask for mask in masks if mask.lower().endswith((".jpg", ".jpeg"))]
        if not found:
            return ""
        return (
            f"{len(found):,} of {len(masks):,} masks are JPEG files (first: "
            f"{os.path.relpath(found[0], self.root(dataset))}), whose compression changes the "
            "numbers of pixels. Use PNG files"
        )

    def root(self, dataset: Dataset) -> str:
        place = dataset.location
        return str(Path(place).absolute().parents[2]) if os.path.isfile(place) else place

    def classes_in(self, dataset: Dataset, samples: Sequence[Sample]) -> Iterator[Collection[int]]:
        return classes_of_masks(each for each in samples if each.mask)


SOURCES = {"image_masks": ImageMasks()}
