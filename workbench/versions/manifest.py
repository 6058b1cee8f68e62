"""The manifest of a complete version: its plan, and the hashes of all records and whole files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from workbench.errors import DataError
from workbench.figures import plot_pictures
from workbench.results import DocumentedResult, ResultDocument, ResultTable
from workbench.sources.opening import VERSION_FILE, VERSION_FORMAT
from workbench.versions.comparison import VersionDifference, counts_of, difference
from workbench.versions.formats import load_format
from workbench.versions.pictures import caption_of, pictures_of, samples_by_class
from workbench.versions.plan import Task, VersionPlan, load_plan
from workbench.versions.records import (
    WORK,
    SampleRecord,
    file_hash,
    read_records,
    record_path,
    write_complete,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNFINISHED = ".unfinished"
"""Ending of the folder of a version until it is complete."""


class Manifest(msgspec.Struct, frozen=True):
    """Content of ``version.json``.

    ``records`` has the SHA-256 of each shard's records, ``files`` that of each file that contains
    many samples, ``samples`` the number of samples by split, and ``excluded`` the bad samples.
    """

    plan: VersionPlan
    samples: Mapping[str, int]
    records: Mapping[str, str]
    files: Mapping[str, str]
    excluded: Mapping[str, str]
    size: int
    format: str = VERSION_FORMAT
    digest: str = ""
    """SHA-256 of all other values."""

    def computed_digest(self) -> str:
        """Return the digest that the values have."""
        values = msgspec.structs.replace(self, digest="")
        return hashlib.sha256(msgspec.json.encode(values)).hexdigest()


@dataclass(frozen=True, slots=True, repr=False)
class Version(DocumentedResult):
    """A complete dataset version in a folder.

    ::

        version = wb.open_version("versions/v1")
        print(version.path, version.samples)
    """

    path: Path
    manifest: Manifest

    @property
    def plan(self) -> VersionPlan:
        """The plan, which has all settings."""
        return self.manifest.plan

    @property
    def samples(self) -> Mapping[str, int]:
        """The number of samples by split."""
        return self.manifest.samples

    @property
    def notes(self) -> tuple[str, ...]:
        """What was changed or excluded, as sentences."""
        excluded = self.manifest.excluded
        listed = [f"{name} ({why.rstrip('.')})" for name, why in list(excluded.items())[:5]]
        more = f" and {len(excluded) - 5:,} more" if len(excluded) > 5 else ""
        bad = f"{len(excluded):,} bad samples are excluded: {', '.join(listed)}{more}."
        return (*self.plan.notes, *self._fewer, *([bad] if excluded else []))

    @property
    def _fewer(self) -> Iterator[str]:
        """Yield a sentence for each split with fewer samples than the data has."""
        for split in self.plan.splits:
            planned = split.samples * (split.copies + split.originals)
            left = planned - self.samples[split.name]
            later = len(self.manifest.excluded) - len(self.plan.excluded)
            if left > later * (split.copies + split.originals):
                yield (
                    f"{split.name} has {self.samples[split.name]:,} samples, but the data list "
                    f"{planned:,}: the reader skips the others, for example images without objects."
                )

    def records(self, split: str = "") -> Iterator[SampleRecord]:
        """Yield the record of each sample, by default of all splits.

        ::

            version = wb.open_version("versions/v1")
            for record in version.records("train"):
                print(record.source, record.label, record.paths)
        """
        for task in self.plan.tasks():
            if split in ("", task.split):
                yield from self.records_of(task)

    def records_of(self, task: Task) -> Iterator[SampleRecord]:
        """Yield the records of a shard."""
        yield from read_records(record_path(self.path, task))[1]

    def diff(self, other: Version | str | Path) -> VersionDifference:
        """Return the differences to another version: graph, settings, samples and pictures.

        ::

            second = wb.render(graph.flip(), "versions/v2", "photos")
            print(wb.open_version("versions/v1").diff(second))
        """
        return difference(self, other if isinstance(other, Version) else open_version(other))

    def plot(self, split: str = "", *, rows: int | None = None) -> Figure:
        """Return a matplotlib figure of samples of all classes.

        Boxes, points and masks are drawn for the formats ``folder``, ``coco`` and ``webdataset``.
        ``split`` is ``train``, ``val`` or ``test``, by default any. Without ``rows``, at most 16
        pictures are shown: the first picture of the first copy of a sample. Raises ArgumentError
        for another split, and for a version without pictures.

        ::

            wb.open_version("versions/v1").plot("train", rows=2)
        """
        chosen = samples_by_class(self, split, 4 * (rows or 4))[: 4 * (rows or 4)]
        pictures = pictures_of(self, chosen)
        titles = [caption_of(self.plan, record) for _, record in chosen]
        title = f"{self.path.name}{f', {split}' if split else ''}"
        return plot_pictures(list(pictures.values()), titles, title, rows=rows)

    def lines(self) -> list[str]:
        """Return a description as lines."""
        plan = self.plan
        parts = [f"{count:,} {name}" for name, count in self.samples.items()]
        pictures = f"JPEG {plan.quality}" if plan.encoding == "jpeg" else "PNG"
        head = f"{self.path.name}: {', '.join(parts)}, {plan.format}, {pictures}"
        graph = plan.graphs["train"].get("name") or "a graph"
        return [head, f"graph {graph}, data {plan.data[plan.main]}", *self.notes]

    def document(self) -> ResultDocument:
        title, *sentences = self.lines()
        counts = counts_of(self)
        rows = tuple((split, name or "all", count) for (split, name), count in counts.items())
        table = ResultTable("", ("split", "class", "samples"), rows)
        return ResultDocument("versions", title, tuple(sentences), (table,))


def open_version(path: str | Path) -> Version:
    """Open a complete version. Raises DataError if the folder is not one.

    ::

        version = wb.open_version("versions/v1")
    """
    folder = Path(path).expanduser().absolute()
    try:
        text = (folder / VERSION_FILE).read_bytes()
    except OSError as error:
        unfinished = folder.with_name(f"{folder.name}{UNFINISHED}")
        is_begun = unfinished.is_dir() or (folder.name.endswith(UNFINISHED) and folder.is_dir())
        more = " It is unfinished: the command that began it continues." if is_begun else ""
        is_lacking = folder.is_dir() and isinstance(error, FileNotFoundError)
        reason = f"it has no {VERSION_FILE}" if is_lacking else error.strerror
        raise DataError(f"{folder} is not a version: {reason}.{more}") from None
    try:
        return Version(folder, msgspec.json.decode(text, type=Manifest))
    except msgspec.DecodeError as error:
        raise DataError(f"{folder / VERSION_FILE} is not a manifest: {error}.") from None


def find_unfinished(folder: str | Path) -> list[str]:
    """Return a line for each version in a folder that is not complete."""
    found = []
    for place in sorted(Path(folder).expanduser().absolute().glob(f"*{UNFINISHED}")):
        with contextlib.suppress(OSError, DataError):
            tasks = list(load_plan((place / WORK / "plan.json").read_bytes()).tasks())
            done = sum(record_path(place, task).is_file() for task in tasks)
            found.append(
                f"{place.name.removesuffix(UNFINISHED)}: unfinished, {done:,} of {len(tasks):,} "
                "shards. The command that began it continues."
            )
    return found


def find_versions(folder: str | Path) -> list[Version]:
    """Return the complete versions in a folder, by name."""
    found = Path(folder).expanduser().absolute()
    try:
        inside = sorted(each for each in found.iterdir() if (each / VERSION_FILE).is_file())
    except OSError as error:
        raise DataError(f"{found} cannot be listed: {error.strerror}.") from None
    return [open_version(each) for each in inside]


def write_version(folder: Path, plan: VersionPlan) -> None:
    """Write ``version.json`` from the records of all shards."""

    def records(split: str) -> Iterator[SampleRecord]:
        for task in plan.tasks():
            if task.split == split:
                yield from read_records(record_path(folder, task))[1]

    samples: Counter[str] = Counter()
    files: dict[str, str] = {}
    excluded = dict(plan.excluded)
    hashes = {}
    for task in plan.tasks():
        shard, _ = read_records(record_path(folder, task))
        samples[task.split] += shard.samples
        files |= shard.files
        excluded |= shard.excluded
        hashes[task.name] = file_hash(record_path(folder, task))
    made = load_format(plan.format).finish(folder, plan, records)
    files |= {path: file_hash(folder / path) for path in made}
    size = sum(
        os.stat(os.path.join(at, name)).st_size
        for at, folders, names in os.walk(folder)
        if not _is_work(folders)
        for name in names
        if name != VERSION_FILE
    )
    manifest = Manifest(plan, dict(samples), hashes, files, excluded, size)
    manifest = msgspec.structs.replace(manifest, digest=manifest.computed_digest())
    text = json.dumps(msgspec.to_builtins(manifest), indent=1, ensure_ascii=False)
    write_complete(folder / VERSION_FILE, [text.encode(errors="surrogateescape")])


def _is_work(folders: list[str]) -> bool:
    """Remove the working folder from the folders that ``os.walk`` visits next."""
    folders[:] = [each for each in folders if each != ".render"]
    return False
