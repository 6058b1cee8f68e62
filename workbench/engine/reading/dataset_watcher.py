"""Whether a dataset or a file that was read has changed. Runs inside the worker process only."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Mapping
from itertools import islice

from workbench.sources import Dataset, load_source

Stamp = tuple[int, int, int] | None
"""(time of the last change in ns, size in bytes, inode), or None for what is not there."""

_SHARE = 0.01
"""A slow folder (many classes, a network disk) is looked at only so often that looking takes no
more than this share of the time. A look at 16 files and 12 class folders takes 0.1 ms."""
_MANY_FOLDERS = 10_000
_numbers = itertools.count()


class DatasetWatcher:
    """One dataset: its folders or its list, and the files that were read.

    ``version`` changes with every change that was noticed. A change that leaves a file's size,
    time of change and inode as they were is not noticed.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._root = dataset.root
        self._number = next(_numbers)
        self._places: dict[str, Stamp] = {}
        self._files: dict[str, Stamp] = {}
        self._rest_until = 0.0

    @property
    def version(self) -> str:
        """A name for what the data were like when they were last looked at."""
        return str(self._number)

    def remember(self, sizes: Mapping[str, int]) -> bool:
        """Remember files, by name in the dataset, that were read just now with these sizes (bytes).

        Returns whether one has another size already: it changed while it was read.
        """
        stamps = {file: _stamp(os.path.join(self._root, file)) for file in sizes}
        self._files.update(stamps)
        return any(stamp and stamp[1] != sizes[file] for file, stamp in stamps.items())

    def look(self, files: Iterable[str]) -> bool:
        """Whether the dataset or one of these files differs from what was remembered."""
        start = time.monotonic()
        if start < self._rest_until:
            return False
        changed = self._places_changed() | any(
            _stamp(os.path.join(self._root, file)) != self._files[file]
            for file in files
            if file in self._files
        )
        if changed:
            self._number = next(_numbers)
            self._files.clear()
        took = time.monotonic() - start
        self._rest_until = start + took / _SHARE if took > _SHARE else 0.0
        return changed

    def _places_changed(self) -> bool:
        if not self._places:
            self._places = _stamps(self._dataset)
            return False
        changed = any(_stamp(folder) != stamp for folder, stamp in self._places.items())
        if changed:
            self._places = _stamps(self._dataset)
        return changed


def _stamps(dataset: Dataset) -> dict[str, Stamp]:
    places = islice(load_source(dataset.kind).watched(dataset), _MANY_FOLDERS)
    return {place: _stamp(place) for place in places}


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
