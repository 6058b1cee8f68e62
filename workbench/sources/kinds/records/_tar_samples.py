"""The samples of a WebDataset archive: neighbouring files of one name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import islice

from workbench.errors import DataError
from workbench.sources import Sample
from workbench.sources.kinds.records._tar_files import TarDamage, TarFile, files_in_tar

Group = tuple[str, list[tuple[str, TarFile]]]
"""Key and files of a sample, by component."""
_LOOKED_AT = 8
"""Samples of the first archive, which say what components there are."""


def groups_in(path: str) -> Iterator[Group | TarDamage]:
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


def first_parts(group: Group) -> dict[str, TarFile]:
    """The files of a sample by component: of several with one component DALI reads the first."""
    parts: dict[str, TarFile] = {}
    for component, file in group[1]:
        parts.setdefault(component, file)
    return parts


def hidden_first_file(path: str) -> TarFile | None:
    """The first file of an archive where its name begins with a dot.

    DALI passes over such files, but for the first, which it counts as a sample.
    """
    with contextlib.suppress(DataError):
        first = next(files_in_tar(path), None)
        if isinstance(first, TarFile) and not _parted(first.name)[0]:
            return first
    return None


def whole_groups(path: str) -> Iterator[Group]:
    """Those of ``groups_in`` that are samples, up to where the archive cannot be read."""
    with contextlib.suppress(DataError):
        for group in groups_in(path):
            if not isinstance(group, TarDamage):
                yield group


def first_samples(path: str) -> dict[str, set[str]]:
    """The components of the first samples of an archive."""
    whole = (group for group in groups_in(path) if not isinstance(group, TarDamage))
    return {key: {part for part, _ in parts} for key, parts in islice(whole, _LOOKED_AT)}


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
            path, groups, key, parts = sample.path, whole_groups(sample.path), "", {}
        wanted, _ = _parted(sample.name.rsplit(":", 1)[-1])
        damaged = sample.name.endswith(":damaged")
        while not damaged and key != wanted and (group := next(groups, None)):
            key, parts = group[0], first_parts(group)
        found = parts.get(component) if key == wanted else None
        yield sample, found and (found.offset_data, found.size)


def _parted(name: str) -> tuple[str, str]:
    """Key and component of a file by its name in an archive; no key where it has none."""
    start = name.rfind("/") + 1
    dot = name.find(".", start)
    end = len(name) if dot < 0 else dot
    return (name[:end], name[end + 1 :].lower()) if end > start else ("", "")
