"""WebDataset archives: one tar file per shard, with the files of a sample next to each other.

A sample has ``KEY.png`` or ``KEY.jpg``, ``KEY.cls`` with the class number, ``KEY.json`` with COCO
annotations, ``KEY.masks.png``, and ``KEY.NAME.npy`` for other outputs.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.errors import DataError
from workbench.samples.records import add_to_tar
from workbench.versions.formats.format import EncodedSample, VersionFormat, shard_path
from workbench.versions.outputs import Roles
from workbench.versions.plan import Task, VersionPlan
from workbench.versions.records import SampleRecord


class WebDatasetFormat(VersionFormat):
    """Stores the parts of a sample as files of an archive. Every output can be stored."""

    name = "webdataset"

    def require(self, roles: Roles, plan: VersionPlan) -> None:
        pass

    def write(
        self, samples: Iterator[EncodedSample], folder: Path, task: Task, plan: VersionPlan
    ) -> Iterator[tuple[EncodedSample, dict[str, str]]]:
        with tarfile.open(shard_path(folder, task, "tar"), "w", format=tarfile.GNU_FORMAT) as made:
            for each in samples:
                for ending, part in each.parts.items():
                    add_to_tar(made, f"{each.sample.key}.{ending}", part)
                yield each, {}

    def read(
        self, folder: Path, task: Task, records: Sequence[SampleRecord], plan: VersionPlan
    ) -> Iterator[tuple[str, str, bytes | None]]:
        path = shard_path(folder, task, "tar")
        try:
            with tarfile.open(path) as archive:
                for member in archive:
                    key, _, ending = member.name.partition(".")
                    file = archive.extractfile(member)
                    yield key, ending, file.read() if file else None
        except (tarfile.TarError, OSError) as error:
            raise DataError(f"{path} cannot be read: {error}.") from None


FORMAT = WebDatasetFormat()
