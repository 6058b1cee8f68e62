"""WebDataset: tar archives whose neighbouring files of one name are a sample.

An archive, a folder of archives, or a list of archives in Python. Of a sample the image is read,
and the component ``cls`` as its label: a whole number. Where there are no labels they are 0.
An index (``wds2idx``) beside every archive, named ``.idx``, is used; without it DALI reads the
headers of all archives first, 7 s for a million samples. So the workbench shows the first samples
meanwhile, and makes an index in a temporary folder.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import tarfile
from collections.abc import Callable, Collection, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Index, Sample, folder_of, kind_of_functions
from workbench.sources.common.class_folders import IMAGES
from workbench.sources.kinds.records._record_index import (
    begins_late,
    index_of,
    index_place,
    record_files,
    watched_with_index,
)
from workbench.sources.kinds.tar._tar_files import TarDamage
from workbench.sources.kinds.tar._tar_index import (
    IndexedFiles,
    index_lines,
    require_index,
    write_index,
)
from workbench.sources.kinds.tar._tar_samples import (
    first_parts,
    first_samples,
    groups_in,
    hidden_first_file,
)

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

LABEL = "cls"
_LARGE = 2**28
"""Bytes of archives of which DALI reads all headers in a moment, some 100,000 of small photos."""
_TOLD_EACH = 10_000


def list_shards(data: Any) -> list[str]:
    """The archives: one, those of a folder, or those of a list."""
    if not isinstance(data, str):
        return [path for path, _ in data]
    if not os.path.isdir(data):
        return [data]
    names = sorted(name for name in os.listdir(data) if not name.startswith("."))
    return [os.path.join(data, name) for name in names if name.endswith(".tar")]


def first_components(path: str) -> set[str]:
    """The components of the first files of an archive."""
    names = []
    with contextlib.suppress(tarfile.ReadError), tarfile.open(path) as archive:  # damaged
        for _, member in zip(range(64), archive, strict=False):
            names += [member.name] if member.isfile() else []
    return {os.path.basename(name).partition(".")[2].lower() for name in names}


def find_shards(data: Any) -> dict[str, Any]:
    """Arguments of the WebDataset reader, by the components of the first samples.

    Labels are the component cls; indices are used where every archive has one.
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


def read_shards(**options: Any) -> Any:
    """Images and labels of WebDataset archives: the digits of cls as a number, or 0."""
    options.setdefault("case_sensitive_extensions", False)
    if len(options["ext"]) == 1:
        jpegs: Any = fn.readers.webdataset(**options)
        return jpegs, fn.cast(jpegs.shape() * 0, dtype=types.INT32)
    made: Any = fn.readers.webdataset(**options)
    jpegs, digits = made
    powers = types.Constant([10**power for power in range(9, -1, -1)], device="cpu")
    count = digits.shape()[0]
    powers = fn.slice(powers, 10 - count, count, axes=[0])
    places = (fn.cast(digits, dtype=types.INT32) - 48) * powers
    return jpegs, fn.reductions.sum(places, axes=[0], keep_dims=True, dtype=types.INT32)


def _shards(dataset: Dataset) -> list[str]:
    """The archives. Raises DataError where one is missing or may not be read."""
    return record_files(dataset, list_shards, "archive", "a .tar")


def _require(dataset: Dataset) -> None:
    stamps = tuple((path, os.stat(path).st_mtime_ns) for path in _shards(dataset))
    _look(stamps)
    for path in (path for path, _ in stamps):
        require_index(path)


@lru_cache(maxsize=8)
def _look(stamps: tuple[tuple[str, int], ...]) -> None:
    """Look at the first samples. ``stamps`` are the archives with their times of change.

    Raises DataError where they have no image, or a label that is no number.
    """
    path = stamps[0][0]
    components = first_samples(path)
    if not components:
        raise DataError(f"The archive {path} is empty. Give one with samples.")
    labelled = any(LABEL in found for found in components.values())
    samples = list(islice(_samples(path, path, labelled), len(components)))
    if all(sample.fault for sample in samples):
        raise DataError(
            f"{path}: of the sample {next(iter(components))}, as of the {len(samples) - 1} after "
            f"it, {samples[0].fault}. Give each an image (0.jpg; or {', '.join(IMAGES)}), and as "
            f"its label (0.{LABEL}) digits alone, with no line break: DALI has no classes by name."
        )


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    """In the order of the archives; those alone that are in the indices, where all have one.

    A place in an index at which no file begins is at fault.
    """
    root, paths = folder_of(dataset), _shards(dataset)
    for path in paths:
        require_index(path)
    indices = [os.path.splitext(path)[0] + ".idx" for path in paths]
    labelled = any(LABEL in found for found in first_samples(paths[0]).values())
    are_indexed = all(map(os.path.isfile, indices))
    for path, index in zip(paths, indices, strict=True):
        holder = os.path.relpath(path, root)
        kept = IndexedFiles(index) if are_indexed else None
        yield from _samples(path, holder, labelled, kept)
        for at in kept.left() if kept else ():
            fault = f"its index names a file at byte {at:,}, where none of this size begins"
            yield Sample(path, f"{holder}:{at}:damaged", 0, at, 0, fault)


def _samples(
    path: str, holder: str, labelled: bool, kept: IndexedFiles | None = None
) -> Iterator[Sample]:
    """Those of an archive of which an index names a component; without it all.

    For each damage of the archive one that is at fault stands between, of which no index knows.
    """
    with open(path, "rb") as opened:
        groups = groups_in(path)
        if kept is None and (hidden := hidden_first_file(path)) is not None:
            name = f"{holder}:{hidden.offset_data}:{hidden.name}"
            fault = "it is hidden and first, and DALI takes it for a sample without an image"
            yield Sample(
                path,
                name,
                0,
                hidden.offset_data,
                hidden.size,
                f"{fault}: leave it out",
                counted=False,
            )
        while True:
            try:
                group = next(groups, None)
            except DataError as error:  # none at all, where others are
                if kept is None:
                    yield Sample(path, f"{holder}:0:damaged", 0, 0, 0, str(error))
                return
            if group is None:
                return
            if isinstance(group, TarDamage):
                if kept is None:
                    name = f"{holder}:{group.at}:damaged"
                    yield Sample(path, name, 0, group.at, 0, group.fault)
                continue
            parts = first_parts(group)
            if kept is not None and not kept.take_any([file for _, file in group[1]]):
                continue
            image = next((parts[each] for each in parts if f".{each}" in IMAGES), None)
            fault, label = "", 0
            if image is None:
                fault = f"it has no image (found: {', '.join(sorted(parts))})"
            elif labelled and LABEL not in parts:
                fault = f"it has no {LABEL}, as others have"
            elif labelled:
                opened.seek(parts[LABEL].offset_data)
                text = opened.read(min(parts[LABEL].size, 40))
                if text.isdigit() and len(text) < 10:
                    label = int(text)
                else:
                    fault = f"its {LABEL} is {text.decode(errors='replace')!r}, no whole number"
            shown = image or next(iter(parts.values()))
            name = f"{holder}:{shown.offset_data}:{shown.name}"
            yield Sample(path, name, label, shown.offset_data, shown.size, fault)
            for component, other in group[1]:
                if kept is None and f".{component}" in IMAGES and other is not image:
                    name = f"{holder}:{other.offset_data}:{other.name}"
                    fault = f"another image of the sample {group[0]}, of which DALI reads the first"
                    at, size = other.offset_data, other.size
                    yield Sample(path, name, 0, at, size, fault, counted=False)


def _leave_out(dataset: Dataset, names: Collection[str], folder: Path) -> Path:
    """Links to the archives, each with an index of the samples that are left."""
    left: dict[str, set[int]] = {}
    for sample in _list_samples(dataset):
        if sample.name not in names:
            left.setdefault(sample.path, set()).add(sample.offset)
    for number, (path, places) in enumerate(left.items()):
        name = f"{number:06}-{os.path.basename(path)}" if dataset.items else os.path.basename(path)
        os.symlink(os.path.abspath(path), folder / name)
        lines = [line for line, begins in index_lines(path) if not places.isdisjoint(begins)]
        write_index((folder / name).with_suffix(".idx"), lines)
    return folder


def _not_indexed(dataset: Dataset) -> list[str]:
    return [path for path in _shards(dataset) if not os.path.isfile(index_place(path))]


def _is_index_needed(dataset: Dataset) -> bool:
    return begins_late(_shards(dataset), _LARGE)


def _make_index(dataset: Dataset, tell: Callable[[int], None]) -> None:
    """Of each archive without one, in a temporary folder."""
    made = 0

    def scan(path: str) -> Iterator[tuple[str, Any]]:
        nonlocal made
        lines: list[str] = []
        for line, begins in index_lines(path):
            if len(line.split()) != 4 * len(begins):
                raise DataError(f"{path}: an index cannot hold the blanks in its names.")
            lines.append(line)
            made += 1
            if made % _TOLD_EACH == 0:
                tell(made)
        yield "v1.2", len(lines)
        yield from (line.split(" ", 1) for line in lines)  # type: ignore[misc]

    for path in _not_indexed(dataset):
        index_of(path, scan)


def _find_indexed(dataset: Dataset, folder: Path) -> dict[str, Any] | None:
    paths = _shards(dataset)
    indices = list(map(index_place, paths))
    if dataset.first:
        indices, left = [], dataset.first
        for path in paths:
            lines = [line for line, _ in islice(index_lines(path), left)]
            indices.append(os.fspath(folder / f"{len(indices)}.idx"))
            write_index(Path(indices[-1]), lines)
            left -= len(lines)
            if not left:
                break
    elif not all(map(os.path.isfile, indices)):
        return None
    return {**find_shards(dataset.argument), "paths": paths[: len(indices)], "index_paths": indices}


def _nothing_found(dataset: Dataset) -> str:
    return (
        f"There is no sample in {dataset}. Give a .tar, or a folder of these, with an image and a "
        f"component {LABEL} for each sample: 0000.jpg, 0000.{LABEL}."
    )


def _accepts(path: Path) -> bool:
    if not os.path.isdir(path):
        return path.suffix.lower() == ".tar"
    try:
        with os.scandir(path) as entries:
            shown = [entry for entry in islice(entries, 10_000) if not entry.name.startswith(".")]
    except OSError:
        return False
    if any(entry.is_dir() or entry.name.lower().endswith(IMAGES) for entry in shown):
        return False
    return any(entry.name.endswith(".tar") for entry in shown)


def _write_placeholder(folder: Path) -> Path:
    path = folder / "samples.tar"
    with tarfile.open(path, "w") as archive:
        for name in ("0.jpg", f"0.{LABEL}"):
            archive.addfile(tarfile.TarInfo(name))
    return path


_HELPERS: tuple[Any, ...] = (list_shards, first_components)
SOURCE = kind_of_functions(
    about="WebDataset (.tar, or a folder of these)",
    op="readers.webdataset",
    located_by=frozenset({"paths", "ext", "index_paths", "missing_component_behavior"}),
    find=find_shards,
    reader=read_shards,
    helpers="\n\n".join(map(inspect.getsource, _HELPERS)),
    leave_out=_leave_out,
    index=Index(_is_index_needed, _make_index, _find_indexed),
    imports=("contextlib", "os", "tarfile"),
    suffixes=(".tar",),
    holder=lambda name: name.rsplit(":", 2)[0],
    accepts=_accepts,
    precedence=3,
    require=_require,
    list_samples=_list_samples,
    root=folder_of,
    class_names=lambda dataset: [],
    watched=lambda dataset: watched_with_index(dataset, list_shards),
    nothing_found=_nothing_found,
    sample="webdataset",
    looks_ahead=True,
    with_targets=("webdataset_masks", "webdataset_boxes"),
    write_placeholder=_write_placeholder,
)
