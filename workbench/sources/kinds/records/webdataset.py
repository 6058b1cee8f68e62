"""Read WebDataset tar archives, in which consecutive files with the same base name form a sample.

The data are an archive, a folder of archives, or a Python list of archives. The reader outputs the
image of a sample, and the component ``cls``, an integer, as its label; without ``cls`` labels are
0. An index (``wds2idx``) named ``.idx`` next to every archive is used. Without an index DALI first
reads the headers of all archives, which takes 7 s for a million samples. Meanwhile the workbench
shows the first samples, and creates an index in a temporary folder.
"""

from __future__ import annotations

import contextlib
import os
import tarfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, folder_of
from workbench.sources.class_folders import IMAGES, ends_with, holds_records
from workbench.sources.file_names import PATTERN_HELPERS, is_pattern, matching_files
from workbench.sources.kinds.records._record_index import IndexedFiles
from workbench.sources.kinds.records._tar_samples import (
    NamedFiles,
    TarDamage,
    TarFile,
    first_parts,
    first_samples,
    groups_in,
    hidden_first_file,
    index_lines,
    require_index,
    write_index,
)
from workbench.sources.record_features import guess_note

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

LABEL = "cls"


def list_shards(data: Any) -> list[str]:
    """Return the archives: a single archive, the archives in a folder, or those in a list."""
    data = matching_files(data) if is_pattern(data) else data
    if not isinstance(data, str):
        return [path for path, _ in data]
    if not os.path.isdir(data):
        return [data]
    names = sorted(name for name in os.listdir(data) if not name.startswith("."))
    return [os.path.join(data, name) for name in names if name.lower().endswith(".tar")]


def first_components(path: str) -> set[str]:
    """Return the components of the first files of an archive."""
    names = []
    with contextlib.suppress(tarfile.ReadError), tarfile.open(path) as archive:  # damaged
        for _, member in zip(range(64), archive, strict=False):
            names += [member.name] if member.isfile() else []
    return {os.path.basename(name).partition(".")[2].lower() for name in names}


def find_shards(data: Any) -> dict[str, Any]:
    """Return the arguments of the WebDataset reader, from the components of the first samples.

    Labels are read from the component cls. Indices are used if every archive has one.
    """
    paths = list_shards(data)
    endings = first_components(paths[0])
    images = "jpg;jpeg;png;bmp;tif;tiff;pnm;ppm;pgm;pbm;jp2;webp"
    indices = [os.path.splitext(path)[0] + ".idx" for path in paths]
    return {
        "paths": paths,
        "ext": [images, "cls"] if "cls" in endings else [images],
        "missing_component_behavior": "error",
        **({"index_paths": indices} if all(map(os.path.isfile, indices)) else {}),
    }


def read_digits(digits: Any) -> Any:
    """Return the integer that a text writes in digits. DALI stops at any other character."""
    powers: Any = types.Constant([10**power for power in range(9, -1, -1)], device="cpu")
    numbers = fn.cast(digits, dtype=types.INT32) - 48
    wrong = fn.reductions.max(fn.cast((numbers < 0) | (numbers > 9), dtype=types.INT32))
    count = digits.shape()[0]
    # Another character makes the slice one longer than the list of powers, which is an error.
    powers = fn.slice(powers, 10 - count, count + wrong, axes=[0])
    return fn.reductions.sum(numbers * powers, axes=[0], keep_dims=True, dtype=types.INT32)


def read_shards(**options: Any) -> Any:
    """Read images and labels of WebDataset archives. Labels are the integers in cls, or 0."""
    options.setdefault("case_sensitive_extensions", False)
    if len(options["ext"]) == 1:
        jpegs: Any = fn.readers.webdataset(**options)
        return jpegs, fn.cast(jpegs.shape() * 0, dtype=types.INT32)
    made: Any = fn.readers.webdataset(**options)
    jpegs, digits = made
    return jpegs, read_digits(digits)


SHARD_HELPERS: tuple[Any, ...] = (*PATTERN_HELPERS, list_shards, first_components)
"""Functions that ``find_shards`` needs in exported programs."""


@lru_cache(maxsize=8)
def _check_first_samples(stamps: tuple[tuple[str, int], ...]) -> None:
    """Raise DataError if the first samples have no image, or a label that is not a number.

    Cached by ``stamps``: the archives with their modification times.
    """
    path = stamps[0][0]
    components = first_samples(path)
    if not components:
        raise DataError(f"The archive {path} is empty. Use one with samples.")
    labelled = any(LABEL in found for found in components.values())
    samples = list(islice(samples_in(path, path, pick_image(labelled)), len(components)))
    if all(sample.fault for sample in samples):
        first = next(iter(components))
        raise DataError(
            f"{path}: none of the first samples can be used ({len(samples)} checked; {first}: "
            f"{samples[0].fault}). Each sample needs an image (0.jpg; or "
            f"{', '.join(IMAGES)}) and a file 0.{LABEL} with the class number in digits, without a "
            "line break."
        )


class Picked(NamedTuple):
    """Image and label of a sample, and why the sample cannot be used."""

    image: TarFile | None
    label: int = 0
    fault: str = ""
    first: TarFile | None = None
    """File by which DALI names the sample, if it is not the image."""
    is_skipped: bool = False


Pick = Callable[[BinaryIO, Mapping[str, TarFile]], Picked]
"""Function that picks the image and label from an open archive and a sample's files by component.
"""
_ENDINGS = frozenset(each[1:] for each in IMAGES)


def pick_image(labelled: bool) -> Pick:
    """Return a function that picks the image and, if ``labelled``, requires a label."""

    def pick(opened: BinaryIO, parts: Mapping[str, TarFile]) -> Picked:
        image = next((parts[each] for each in parts if each in _ENDINGS), None)
        if image is None:
            return Picked(None, 0, f"it has no image (found: {', '.join(sorted(parts))})")
        if labelled and LABEL not in parts:
            return Picked(image, 0, f"it has no component {LABEL!r}, unlike the others")
        return Picked(image, *(read_label(opened, LABEL, parts[LABEL]) if labelled else ()))

    return pick


def read_label(opened: BinaryIO, component: str, file: TarFile) -> tuple[int, str]:
    """Return the integer in a component, and a fault if there is none."""
    opened.seek(file.offset_data)
    text = opened.read(min(file.size, 40))
    if text.isdigit() and len(text) < 10:
        return int(text), ""
    return 0, f"its component {component!r} is {text.decode(errors='replace')!r}, not an integer"


def samples_in(
    path: str,
    holder: str,
    pick: Pick,
    indexed: NamedFiles | None = None,
    images: Collection[str] = _ENDINGS,
) -> Iterator[Sample]:
    """Yield the samples of an archive or, with ``indexed``, only the samples that the index lists.

    DALI reads only the first file of a sample with a component in ``images``. Each damaged part of
    the archive is one faulty sample, which no index lists.
    """
    with open(path, "rb") as opened:
        groups = groups_in(path)
        if indexed is None and (hidden := hidden_first_file(path)) is not None:
            name = f"{holder}:{hidden.offset_data}:{hidden.name}"
            fault = "it is hidden and first, and DALI reads it as a sample without an image"
            yield Sample(
                path,
                name,
                0,
                hidden.offset_data,
                hidden.size,
                f"{fault}: exclude it",
                counted=False,
            )
        while True:
            try:
                group = next(groups, None)
            except DataError as error:  # none at all, although others have one
                if indexed is None:
                    yield Sample(path, f"{holder}:0:damaged", 0, 0, 0, str(error))
                return
            if group is None:
                return
            if isinstance(group, TarDamage):
                if indexed is None:
                    name = f"{holder}:{group.at}:damaged"
                    yield Sample(path, name, 0, group.at, 0, group.fault)
                continue
            parts = first_parts(group)
            if indexed is not None and not indexed.contains_any([file for _, file in group[1]]):
                continue
            found = pick(opened, parts)
            if found.is_skipped:
                continue
            image, shown = found.image, found.image or next(iter(parts.values()))
            first = found.first or shown
            name = f"{holder}:{first.offset_data}:{first.name}"
            yield Sample(
                path,
                name,
                found.label,
                shown.offset_data,
                shown.size,
                found.fault,
                has_image=found.image is not None or found.first is None,
            )
            for component, other in group[1]:
                if indexed is None and component in images and other is not image:
                    name = f"{holder}:{other.offset_data}:{other.name}"
                    fault = f"another image of the sample {group[0]}; DALI reads only the first"
                    at, size = other.offset_data, other.size
                    yield Sample(path, name, 0, at, size, fault, counted=False)


class WebDataset(IndexedFiles):
    """Source kind for tar archives with one image and one class per sample."""

    about = "WebDataset (.tar, or a folder of these)"
    op = "readers.webdataset"
    located_by = frozenset({"paths", "ext", "index_paths", "missing_component_behavior"})
    find = staticmethod(find_shards)
    reader: Callable[..., Any] | None = staticmethod(read_shards)
    helpers: tuple[Any, ...] = (*SHARD_HELPERS, read_digits)
    imports: tuple[str, ...] = ("contextlib", "glob", "os", "tarfile")
    suffixes: tuple[str, ...] = (".tar",)
    file_noun = "archive"
    ending = ".tar"
    find_files = staticmethod(list_shards)
    is_record = staticmethod(ends_with(".tar"))
    sample = "webdataset"
    with_targets: tuple[str, ...] = (
        *("webdataset_masks", "webdataset_boxes", "webdataset_features"),
    )

    def require(self, dataset: Dataset) -> None:
        stamps = tuple((path, os.stat(path).st_mtime_ns) for path in self.files(dataset))
        _check_first_samples(stamps)
        for path in (path for path, _ in stamps):
            require_index(path)

    def list_samples(self, dataset: Dataset) -> Iterator[Sample]:
        """Yield the samples in archive order, or in index order if all archives have an index.

        An index entry at which no file starts is a faulty sample.
        """
        root, paths = folder_of(dataset), self.files(dataset)
        for path in paths:
            require_index(path)
        indices = [os.path.splitext(path)[0] + ".idx" for path in paths]
        pick, images = self.picking(dataset, paths)
        are_indexed = all(map(os.path.isfile, indices))
        for path, index in zip(paths, indices, strict=True):
            holder = os.path.relpath(path, root)
            indexed = NamedFiles(index) if are_indexed else None
            yield from samples_in(path, holder, pick, indexed, images)
            for at in indexed.unqueried_offsets() if indexed else ():
                fault = (
                    f"its index has a file at byte {at:,}, but no file of this size starts there"
                )
                yield Sample(path, f"{holder}:{at}:damaged", 0, at, 0, fault)

    def picking(self, dataset: Dataset, paths: Sequence[str]) -> tuple[Pick, Collection[str]]:
        """Return the function that picks the image and label, and the image components."""
        labelled = any(LABEL in found for found in first_samples(paths[0]).values())
        return pick_image(labelled), _ENDINGS

    def unread_notes(self, dataset: Dataset) -> Iterator[str]:
        """Yield the notes and, if some components are unread, the ones that are read."""
        yield from super().unread_notes(dataset)
        if self.targets:
            return  # these are read by name
        with contextlib.suppress(DataError):
            present = set().union(*first_samples(self.files(dataset)[0]).values())
            chosen = [each for each in sorted(present) if each in _ENDINGS or each == LABEL]
            if others := sorted(present - {*chosen}):
                yield guess_note("components", chosen, others, f"webdataset_features:{dataset}")

    def write_without(self, dataset: Dataset, names: Collection[str], place: Path) -> Path:
        """Create links to the archives, each with an index of the remaining samples."""
        place.mkdir()
        left: dict[str, set[int]] = {}
        for sample in self.list_samples(dataset):
            if sample.name not in names:
                left.setdefault(sample.path, set()).add(sample.offset)
        for number, (path, places) in enumerate(left.items()):
            several = bool(dataset.items) or is_pattern(dataset.location)
            name = f"{number:06}-" * several + os.path.basename(path)
            os.symlink(os.path.abspath(path), place / name)
            lines = [line for line, begins in index_lines(path) if not places.isdisjoint(begins)]
            write_index((place / name).with_suffix(".idx"), lines)
        return place

    def scan(self, path: str, progress: Callable[[Iterable[Any]], Iterator[Any]]) -> Iterator[Any]:
        lines = []
        for line, begins in progress(index_lines(path)):
            if len(line.split()) != 4 * len(begins):
                raise DataError(
                    f"{path}: an index cannot store file names with spaces "
                    f"({line[:60].strip()!r}). "
                    "Rename these files and create the archive again."
                )
            lines.append(line)
        yield "v1.2", len(lines)
        yield from (line.split(" ", 1) for line in lines)

    def write_first(self, path: str, count: int, index: Path) -> int:
        lines = [line for line, _ in islice(index_lines(path), count)]
        write_index(index, lines)
        return len(lines)

    def indexed(self, dataset: Dataset, paths: list[str], indices: list[str]) -> dict[str, Any]:
        return {**self.find(dataset.argument), "paths": paths, "index_paths": indices}

    def nothing_found(self, dataset: Dataset) -> str:
        return (
            f"There is no sample in {dataset}. Use .tar files or a folder of them, "
            f"with an image and a component {LABEL} for each sample: 0000.jpg, "
            f"0000.{LABEL}."
        )

    def accepts(self, path: Path) -> bool:
        if not os.path.isdir(path):
            return path.suffix.lower() == ".tar"
        return holds_records(path, self.is_record)

    def write_placeholder(self, folder: Path) -> Path:
        path = folder / "samples.tar"
        with tarfile.open(path, "w") as archive:
            for name in ("0.jpg", f"0.{LABEL}"):
                archive.addfile(tarfile.TarInfo(name))
        return path

    def container_of(self, name: str) -> str:
        return name.rsplit(":", 2)[0]


WEBDATASET = WebDataset()
SOURCES = {"webdataset": WEBDATASET}
