"""A folder of images also of formats that DALI does not decode: GIF, AVIF and what Pillow opens.

Class folders or one flat folder, as of ``folder``, and images of any format that Pillow reads. They
are decoded by ``decoders.pillow``. A folder that holds images for DALI alone, or beside others, is
opened by ``folder``, which passes the others over: ``pillow_images:PATH`` opens all of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample
from workbench.sources.class_folders import (
    FIND_CLASS_FILES,
    IMAGES,
    describe_unread,
    is_hidden,
    named_files,
)
from workbench.sources.kinds.folder import IMAGES_SOURCE, OTHERS, Folder

_LOOKED_AT = 1000


def find_images(data: str) -> dict[str, Any]:
    """Arguments of the file reader for class folders, or a flat folder, of any images."""
    found = named_files(data, (*IMAGES, *OTHERS))
    files, labels = [name for name, _ in found], [label for _, label in found]
    return {"file_root": data, "files": files, "labels": labels}


_OTHERS_SOURCE = f"""\
OTHERS = (
    {", ".join(f'"{suffix}"' for suffix in OTHERS)},
)  # fmt: skip
"""


def _names(path: Path) -> Iterator[str]:
    with os.scandir(path) as entries:
        for entry in entries:
            if entry.is_dir() and not is_hidden(entry.name):
                with os.scandir(entry.path) as inner:
                    yield from (each.name for each in islice(inner, _LOOKED_AT // 10))
            else:
                yield entry.name


class PillowImages(Folder):
    """A folder of images that Pillow decodes."""

    about = "folder of images, GIF and AVIF too"
    find = staticmethod(find_images)
    helpers = (FIND_CLASS_FILES, f"{IMAGES_SOURCE}{_OTHERS_SOURCE}")
    precedence = 1
    decoder = "decoders.pillow"

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        self.require(dataset)
        try:
            found = find_images(dataset.location)
        except OSError as error:
            raise DataError(f"{error.filename} cannot be listed: {error.strerror}.") from None
        for name, label in zip(found["files"], found["labels"], strict=True):
            path = os.path.join(dataset.location, name)
            yield Sample(path, name, label, with_pillow=True)

    def accepts(self, path: Path) -> bool:
        """A folder that holds none of DALI's images as far as is looked, and others."""
        if not os.path.isdir(path):
            return False
        try:
            names = [name.lower() for name in islice(_names(path), _LOOKED_AT)]
        except OSError:
            return False
        return any(name.endswith(OTHERS) for name in names) and not any(
            name.endswith(IMAGES) for name in names
        )

    def nothing_found(self, dataset: Dataset) -> str:
        return (
            f"There is no image in {dataset}. Give a folder of images, or of class folders with "
            f"images: {', '.join((*IMAGES, *OTHERS))}."
        )

    def not_read(self, dataset: Dataset) -> Iterator[str]:
        return describe_unread(dataset.location, (*IMAGES, *OTHERS))

    def passed_over(self, dataset: Dataset) -> Iterator[str]:
        return iter(())

    def directly(self, dataset: Dataset | None) -> str:
        return ""


SOURCE = PillowImages()
