"""WebDataset: tar archives whose neighbouring files of one name are a sample.

An archive, a folder of archives, or a list of archives in Python. Of a sample the image is read,
and the component ``cls`` as its label: a whole number. Where there are no labels they are 0.
An index (``wds2idx``) beside every archive, named ``.idx``, is used; without it DALI reads the
headers of all archives first.
"""

from __future__ import annotations

import inspect
import os
import tarfile
from collections.abc import Container, Iterator
from functools import lru_cache
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Sample, SourceKind, link_files
from workbench.sources.folder import IMAGES

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

LABEL = "cls"
_LOOKED_AT = 8
"""Samples of the first archive, which say what components there are."""


def list_shards(data: Any) -> list[str]:
    """The archives: one, those of a folder, or those of a list."""
    if not isinstance(data, str):
        return [path for path, _ in data]
    if not os.path.isdir(data):
        return [data]
    names = sorted(name for name in os.listdir(data) if not name.startswith("."))
    return [os.path.join(data, name) for name in names if name.endswith(".tar")]


def find_shards(data: Any) -> dict[str, Any]:
    """Arguments of the WebDataset reader, by the components of the first samples.

    Labels are the component cls; indices are used where every archive has one.
    """
    paths = list_shards(data)
    with tarfile.open(paths[0]) as archive:
        first = zip(range(64), archive, strict=False)
        names = [member.name for _, member in first if member.isfile()]
    endings = {os.path.basename(name).partition(".")[2].lower() for name in names}
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
    try:
        paths = list_shards(dataset.argument)
    except OSError as error:
        raise DataError(f"The folder {dataset} cannot be read: {error.strerror}.") from None
    if not paths:
        raise DataError(_nothing_found(dataset))
    for path in paths:
        if not os.path.isfile(path):
            raise DataError(f"There is no archive {path}. Give a .tar, or a folder of these.")
        if not os.access(path, os.R_OK):
            raise DataError(f"The archive {path} may not be read. Check its permissions.")
    return paths


def _members(path: str) -> Iterator[tuple[str, str, tarfile.TarInfo]]:
    """Key, component and place of each file in an archive. Raises DataError."""
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                folder, name = os.path.split(member.name)
                key, _, component = name.partition(".")
                if member.isfile() and key:
                    yield os.path.join(folder, key), component.lower(), member
                archive.members = []  # type: ignore[attr-defined]  # tarfile keeps all that it saw
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(
            f"{path} cannot be read as a tar archive: {error}. Write it anew, or leave it out."
        ) from None


def _require(dataset: Dataset) -> None:
    stamps = tuple((path, os.stat(path).st_mtime_ns) for path in _shards(dataset))
    _look(stamps)
    for path in (path for path, _ in stamps):
        _require_index(path)


@lru_cache(maxsize=8)
def _look(stamps: tuple[tuple[str, int], ...]) -> None:
    """Look at the first samples. ``stamps`` are the archives with their times of change.

    Raises DataError where they have no image, or a label that is no number.
    """
    path = stamps[0][0]
    images = tuple(ending[1:] for ending in IMAGES)
    components: dict[str, set[str]] = {}
    for key, component, member in islice(_members(path), 8 * _LOOKED_AT):
        if key not in components and len(components) == _LOOKED_AT:
            return
        components.setdefault(key, set()).add(component)
        if component == LABEL:
            with open(path, "rb") as file:
                file.seek(member.offset_data)
                text = file.read(min(member.size, 40))
            if not (text.isdigit() and len(text) < 10):
                raise DataError(
                    f"{path}: the label {member.name} is {text.decode(errors='replace')!r}. DALI "
                    "has no classes by name: write cls as digits alone, with no line break."
                )
    if not components:
        raise DataError(f"The archive {path} is empty. Give one with samples.")
    for key, found in components.items():
        if not found & set(images):
            raise DataError(
                f"{path}: the sample {key} has no image (found: {', '.join(sorted(found))}). Name "
                f"it {key}.jpg, or another of {', '.join(images)}."
            )
    labelled = [key for key, found in components.items() if LABEL in found]
    if labelled and len(labelled) < len(components):
        lacking = next(key for key in components if key not in labelled)
        raise DataError(f"{path}: the sample {lacking} has no {LABEL}, as others have. Add it.")


def _require_index(path: str) -> None:
    """Raise DataError where the index beside an archive is that of another."""
    index = os.path.splitext(path)[0] + ".idx"
    if not os.path.isfile(index):
        return
    remedy = f"Make it anew (`wds2idx {path} {index}`) or remove it."
    try:
        with open(index, encoding="utf-8") as lines:
            first = list(islice(lines, 2))[1].split()
        offset, size = int(first[1]), int(first[2])
        with open(path, "rb") as file:
            file.seek(offset - tarfile.BLOCKSIZE)
            member = tarfile.TarInfo.frombuf(file.read(tarfile.BLOCKSIZE), "utf-8", "replace")
        fits = member.isfile() and member.size == size
    except (OSError, ValueError, IndexError):
        raise DataError(f"{index} is no index of a WebDataset. {remedy}") from None
    except tarfile.TarError:
        fits = False
    if not fits:
        raise DataError(f"{index} is the index of another archive than {path}. {remedy}")


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    """In the order of the archives, with labels where they are numbers."""
    root = _root(dataset)
    for path in _shards(dataset):
        image: tarfile.TarInfo | None = None
        current, label = "", 0
        with open(path, "rb") as opened:
            for key, component, member in chain(_members(path), [("", "", None)]):
                if key != current:
                    if image is not None:
                        place = os.path.relpath(path, root)
                        name = f"{place}:{image.offset_data}:{image.name}"
                        yield Sample(path, name, label, image.offset_data, image.size)
                    current, image, label = key, None, 0
                if f".{component}" in IMAGES:
                    image = member
                elif component == LABEL and member is not None:
                    opened.seek(member.offset_data)
                    text = opened.read(min(member.size, 10))
                    label = int(text) if text.isdigit() else 0


def _leave_out(dataset: Dataset, names: Container[str], folder: Path) -> Dataset:
    """Beside a link to each archive an index without those samples, as ``wds2idx`` writes it."""
    root = _root(dataset)
    rest, links = link_files(dataset, _shards(dataset), root, folder)
    for path, link in links:
        lines = []
        for _, members in groupby(_members(path), key=itemgetter(0)):
            files = [(component, member) for _, component, member in members]
            place = os.path.relpath(path, root)
            if not any(f"{place}:{file.offset_data}:{file.name}" in names for _, file in files):
                parts = (f"{name} {f.offset_data} {f.size} {f.name}" for name, f in files)
                lines.append(" ".join(parts) + "\n")
        text = "".join([f"v1.2 {len(lines)}\n", *lines])
        link.with_suffix(".idx").write_text(text, encoding="utf-8")
    return rest


def _root(dataset: Dataset) -> str:
    if dataset.location:
        path = os.path.abspath(dataset.location)
        return path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.commonpath([os.path.dirname(path) for path, _ in dataset.items])


def _watched(dataset: Dataset) -> Iterator[str]:
    if dataset.location:
        yield dataset.location
    try:
        yield from list_shards(dataset.argument)
    except OSError:
        return  # the reader says what is wrong


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


SOURCE = SourceKind(
    about="WebDataset (.tar, or a folder of these)",
    op="readers.webdataset",
    located_by=frozenset({"paths", "ext", "index_paths", "missing_component_behavior"}),
    find=find_shards,
    reader=read_shards,
    helpers=inspect.getsource(list_shards),
    imports=("os", "tarfile"),
    suffixes=(".tar",),
    leave_out=_leave_out,
    holder=lambda name: name.rsplit(":", 2)[0],
    accepts=_accepts,
    require=_require,
    list_samples=_list_samples,
    root=_root,
    class_names=lambda dataset: [],
    watched=_watched,
    nothing_found=_nothing_found,
    write_placeholder=_write_placeholder,
)
