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
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import DataError
from workbench.sources import Dataset, Index, Sample, SourceKind
from workbench.sources._record_index import begins_late, index_of, index_place
from workbench.sources._tar_files import TarDamage, TarFile, files_in_tar
from workbench.sources.folder import IMAGES

if TYPE_CHECKING:
    from nvidia.dali import fn, types  # the exported program has them

LABEL = "cls"
_LOOKED_AT = 8
"""Samples of the first archive, which say what components there are."""
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


def _groups(path: str) -> Iterator[tuple[str, list[tuple[str, TarFile]]] | TarDamage]:
    """Key and files of each sample in an archive, by component, and what is damaged between.

    A sample ends before a damage: the files that it has by then are whole. Raises DataError.
    """
    key = ""
    parts: list[tuple[str, TarFile]] = []
    for found in files_in_tar(path):
        if isinstance(found, TarDamage):
            if parts:
                yield key, parts
                parts = []
            yield found
            continue
        its_key, component = _parted(found.name)
        if not its_key:
            continue
        if parts and its_key != key:
            yield key, parts
            parts = []
        key = its_key
        parts.append((component, found))
    if parts:
        yield key, parts


def _parted(name: str) -> tuple[str, str]:
    """Key and component of a file by its name in an archive; no key where it has none."""
    start = name.rfind("/") + 1
    dot = name.find(".", start)
    end = len(name) if dot < 0 else dot
    return (name[:end], name[end + 1 :].lower()) if end > start else ("", "")


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
    components = _first(path)
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


def _first(path: str) -> dict[str, set[str]]:
    """The components of the first samples of an archive."""
    whole = (group for group in _groups(path) if not isinstance(group, TarDamage))
    return {key: {part for part, _ in parts} for key, parts in islice(whole, _LOOKED_AT)}


class _IndexedFiles:
    """The files that an index names; it is read as far as they are asked for."""

    def __init__(self, index: str) -> None:
        self._lines = _indexed(index)
        self._found: dict[int, int] = {}
        """Place and size in bytes of those that were not asked for yet."""

    def take_any(self, files: Collection[TarFile]) -> bool:
        """Whether it names one of the files of a sample, all of which count as asked for."""
        if not self._found:  # as long as each line is the next sample, which is soon told
            self._read_line()
            if self._found == {file.offset_data: file.size for file in files}:
                self._found.clear()
                return True
        return sum(map(self._take, files)) > 0

    def _take(self, file: TarFile) -> bool:
        while file.offset_data not in self._found and self._read_line():
            pass
        if self._found.get(file.offset_data) != file.size:
            return False
        return self._found.pop(file.offset_data) is not None

    def left(self) -> list[int]:
        """Where those begin that were not asked for."""
        while self._read_line():
            pass
        return list(self._found)

    def _read_line(self) -> bool:
        places = next(self._lines, None)
        self._found.update(places or ())
        return places is not None


def _require_index(path: str) -> None:
    """Raise DataError where the index beside an archive is that of another."""
    index = os.path.splitext(path)[0] + ".idx"
    if os.path.isfile(index):
        _look_at_index(path, index, os.stat(path).st_mtime_ns, os.stat(index).st_mtime_ns)


@lru_cache(maxsize=4096)
def _look_at_index(path: str, index: str, *stamps: int) -> None:
    """As of ``_require_index``. ``stamps`` are times of change."""
    remedy = f"Make it anew (`wds2idx {path} {index}`) or remove it."
    try:
        lines = _indexed(index)
        place, size = next(iter(next(lines).items()))
        count = 1 + sum(1 for _ in lines)
        with open(index, encoding="utf-8", errors="surrogateescape") as opened:
            told = int(opened.readline().split()[1])
        with open(path, "rb") as file:
            file.seek(place - tarfile.BLOCKSIZE)
            head = tarfile.TarInfo.frombuf(
                file.read(tarfile.BLOCKSIZE), tarfile.ENCODING, "surrogateescape"
            )
    except tarfile.TarError:
        head = None
    except (OSError, ValueError, LookupError, StopIteration):
        raise DataError(f"{index} is no index of a WebDataset. {remedy}") from None
    if told != count:
        raise DataError(
            f"{index} begins with the number {told:,}, and has {count:,} samples. {remedy}"
        )
    if head is None or head.size != size:
        raise DataError(f"{index} is the index of another archive than {path}. {remedy}")


def _indexed(index: str) -> Iterator[dict[int, int]]:
    """Of each line of an index the places of its components, and their sizes, in bytes.

    Raises ValueError, or LookupError, for what is no index.
    """
    with open(index, encoding="utf-8", errors="surrogateescape") as lines:
        step = {"v1.1": 3, "v1.2": 4}[next(lines, "").partition(" ")[0]]
        for line in lines:
            parts = line.split()
            yield dict(zip(map(int, parts[1::step]), map(int, parts[2::step]), strict=True))


def _list_samples(dataset: Dataset) -> Iterator[Sample]:
    """In the order of the archives; those alone that are in the indices, where all have one.

    A place in an index at which no file begins is at fault.
    """
    root, paths = _root(dataset), _shards(dataset)
    for path in paths:
        _require_index(path)
    indices = [os.path.splitext(path)[0] + ".idx" for path in paths]
    labelled = any(LABEL in found for found in _first(paths[0]).values())
    are_indexed = all(map(os.path.isfile, indices))
    for path, index in zip(paths, indices, strict=True):
        holder = os.path.relpath(path, root)
        kept = _IndexedFiles(index) if are_indexed else None
        yield from _samples(path, holder, labelled, kept)
        for at in kept.left() if kept else ():
            fault = f"its index names a file at byte {at:,}, where none of this size begins"
            yield Sample(path, f"{holder}:{at}:damaged", 0, at, 0, fault)


def _samples(
    path: str, holder: str, labelled: bool, kept: _IndexedFiles | None = None
) -> Iterator[Sample]:
    """Those of an archive of which an index names a component; without it all.

    For each damage of the archive one that is at fault stands between, of which no index knows.
    """
    with open(path, "rb") as opened:
        groups = _groups(path)
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
            parts = dict(group[1])
            if kept is not None and not kept.take_any(parts.values()):
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


def _leave_out(dataset: Dataset, names: Collection[str], folder: Path) -> Path:
    """Links to the archives, each with an index of the samples that are left."""
    left: dict[str, set[int]] = {}
    for sample in _list_samples(dataset):
        if sample.name not in names:
            left.setdefault(sample.path, set()).add(sample.offset)
    for number, (path, places) in enumerate(left.items()):
        name = f"{number:06}-{os.path.basename(path)}" if dataset.items else os.path.basename(path)
        os.symlink(os.path.abspath(path), folder / name)
        lines = [line for line, begins in _index_lines(path) if not places.isdisjoint(begins)]
        _write_index((folder / name).with_suffix(".idx"), lines)
    return folder


def _index_lines(path: str) -> Iterator[tuple[str, list[int]]]:
    """The line of an index for each sample of an archive, and where its components begin."""
    for _, parts in _whole_groups(path):
        fields = [f"{c} {m.offset_data} {m.size} {m.name}" for c, m in parts]
        yield " ".join(fields), [member.offset_data for _, member in parts]


def _write_index(path: Path, lines: Collection[str]) -> None:
    text = "".join(f"{line}\n" for line in (f"v1.2 {len(lines)}", *lines))
    path.write_text(text, "utf-8", "surrogateescape")


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
        for line, begins in _index_lines(path):
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
            lines = [line for line, _ in islice(_index_lines(path), left)]
            indices.append(os.fspath(folder / f"{len(indices)}.idx"))
            _write_index(Path(indices[-1]), lines)
            left -= len(lines)
            if not left:
                break
    elif not all(map(os.path.isfile, indices)):
        return None
    return {**find_shards(dataset.argument), "paths": paths[: len(indices)], "index_paths": indices}


def _root(dataset: Dataset) -> str:
    if dataset.location:
        path = os.path.abspath(dataset.location)
        return path if os.path.isdir(path) else os.path.dirname(path)
    return os.path.commonpath([os.path.dirname(path) for path, _ in dataset.items])


def _watched(dataset: Dataset) -> Iterator[str]:
    if dataset.location:
        yield dataset.location
    try:
        paths = list_shards(dataset.argument)
        yield from paths
        yield from (f"{os.path.splitext(path)[0]}.idx" for path in paths)
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


def with_component(
    samples: Iterable[Sample], component: str
) -> Iterator[tuple[Sample, tuple[int, int] | None]]:
    """Each sample, and where in its archive a component of it begins and its size in bytes.

    None where it has none. They are in the order in which they lie in their archives, which are
    read no further than to the last of them.
    """
    path = ""
    for sample in samples:
        if sample.path != path:
            path, groups, key, parts = sample.path, _whole_groups(sample.path), "", {}
        wanted, _ = _parted(sample.name.rsplit(":", 1)[-1])
        damaged = sample.name.endswith(":damaged")
        while not damaged and key != wanted and (group := next(groups, None)):
            key, parts = group[0], dict(group[1])
        found = parts.get(component) if key == wanted else None
        yield sample, found and (found.offset_data, found.size)


def _whole_groups(path: str) -> Iterator[tuple[str, list[tuple[str, TarFile]]]]:
    """Those of ``_groups`` that are samples, up to where the archive cannot be read."""
    with contextlib.suppress(DataError):
        for group in _groups(path):
            if not isinstance(group, TarDamage):
                yield group


_HELPERS: tuple[Any, ...] = (list_shards, first_components)
SOURCE = SourceKind(
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
    root=_root,
    class_names=lambda dataset: [],
    watched=_watched,
    nothing_found=_nothing_found,
    sample="webdataset",
    looks_ahead=True,
    with_targets=("webdataset_masks", "webdataset_boxes"),
    write_placeholder=_write_placeholder,
)
