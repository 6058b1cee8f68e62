"""A copy of an LMDB without some of its values: the tree's pages point to the others alone."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable, Collection
from pathlib import Path
from typing import IO

from workbench.errors import DataError
from workbench.sources import Dataset
from workbench.sources.kinds.records._lmdb import (
    BRANCH,
    DEPTH,
    FILE,
    HEAD,
    LEAF,
    NO_PAGE,
    NODE,
    PAGE,
    TREE,
    database_file,
    main_tree,
    name_of,
)


def leave_out(dataset: Dataset, names: Collection[str], folder: Path) -> Path:
    """A copy of the database in a folder without the values of these names and damaged pages.

    Raises DataError where there is no room for it.
    """
    path = database_file(dataset)
    size, free = os.path.getsize(path), shutil.disk_usage(folder).free
    if size > free:
        raise DataError(
            f"{dataset}: {len(names):,} samples cannot be used, and for a copy without these "
            f"{folder} has {free:,} bytes of {size:,}. Make room there, or write the LMDB anew."
        )
    holder = os.path.basename(os.path.abspath(dataset.location))
    copy = folder / holder
    copy.mkdir()
    shutil.copyfile(path, copy / FILE)
    with open(copy / FILE, "r+b") as file:
        page_size, root, places = main_tree(file)
        pruned = _Pruned(file, page_size, lambda key: name_of(holder, key) in names)
        kept = None if root == NO_PAGE else pruned.page(root, DEPTH)
        for place in places:
            file.seek(place)
            fields = TREE.unpack(file.read(TREE.size))
            file.seek(place)
            last = NO_PAGE if kept is None else kept
            file.write(TREE.pack(*fields[:-2], pruned.entries, last))
    return copy


class _Pruned:
    """Writes pages anew without what is left out."""

    def __init__(self, file: IO[bytes], size: int, is_out: Callable[[bytes], bool]) -> None:
        self._file, self._size, self._is_out = file, size, is_out
        self.entries = 0
        """Of the values that are kept."""

    def page(self, number: int, depth: int) -> int | None:
        """The page that stands for this one; None where nothing is left of it.

        One that a branch leads to alone stands for that: LMDB takes no branch of one.
        """
        self._file.seek(number * self._size)
        page = bytearray(self._file.read(self._size))
        if len(page) < self._size or not depth:
            return None
        *head, flags, lower, upper = PAGE.unpack_from(page)
        if not flags & (BRANCH | LEAF) or not HEAD <= lower <= self._size or lower % 2:
            return None
        kept: list[int] = []
        children: list[int] = []
        for (at,) in struct.iter_unpack("<H", bytes(page[HEAD:lower])):
            try:
                low, high, kind, length = NODE.unpack_from(page, at)
            except struct.error:
                return None
            key = bytes(page[at + NODE.size : at + NODE.size + length])
            if flags & BRANCH:
                child = self.page(low | high << 16 | kind << 32, depth - 1)
                if child is None:
                    continue
                children.append(child)
                words = child & 0xFFFF, child >> 16 & 0xFFFF, child >> 32
                NODE.pack_into(page, at, *words, length)
            elif self._is_out(key):
                continue
            kept.append(at)
        if not kept:
            return None
        if len(children) == 1:
            return children[0]
        self.entries += 0 if children else len(kept)
        struct.pack_into(f"<{len(kept)}H", page, HEAD, *kept)
        PAGE.pack_into(page, 0, *head, flags, HEAD + 2 * len(kept), upper)
        self._file.seek(number * self._size)
        self._file.write(page)
        return number
