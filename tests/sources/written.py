"""The same photos as data of each kind, written without the libraries that usually do."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from workbench.sources import Sample, list_samples, open_dataset

Photos = list[tuple[bytes, int]]
"""The encoded image and the label of each, in the order of the folder."""


def read_photos(folder: Path) -> Photos:
    """The files of class folders, in the reader's order."""
    found: list[Sample] = list(list_samples(open_dataset(folder)))
    return [(Path(each.path).read_bytes(), each.label) for each in found]


def add_to_tar(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """One file into an open archive."""
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def write_webdataset(photos: Photos, folder: Path) -> Path:
    """Two shards, with labels."""
    folder.mkdir()
    half = len(photos) // 2
    for shard, part in enumerate([photos[:half], photos[half:]]):
        with tarfile.open(folder / f"{shard:06}.tar", "w") as archive:
            for number, (image, label) in enumerate(part):
                add_to_tar(archive, f"{number:06}.jpg", image)
                add_to_tar(archive, f"{number:06}.cls", str(label).encode())
    return folder


WRITERS: Mapping[str, Callable[[Photos, Path], Path]] = {"webdataset": write_webdataset}
"""By kind of source: writes photos to a new place, and gives the path to open."""
