"""Find the data that the readers of an imported pipeline name, for the graph's parameters."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice

from workbench.emit.pipeline_import.trace.traced import TracedOp
from workbench.errors import DataError
from workbench.sources import Dataset, load_source

_LOCATIONS = ("files", "filenames", "path", "paths", "file_list", "annotations_file", "file_root")
"""Reader arguments with the locations of files, the most specific first."""


def own_data(op: TracedOp) -> Dataset | None:
    """Return the data that a replaced reader reads, or None if the data cannot be read here."""
    name = next((name for name in _LOCATIONS if name in op.args), "")
    given = op.args.get(name)
    paths = (given,) if isinstance(given, str) else given
    if not isinstance(paths, tuple) or not paths or "file_filter" in op.args:
        return None
    root = str(op.args.get("file_root", "")) if name != "file_root" else ""
    texts = [os.path.join(root, str(path)) for path in paths]
    labels = op.args.get("labels")
    found = Dataset(op.kind, texts[0])
    with suppress(DataError, OSError):
        if labels == ():  # then DALI numbers the files
            labels = tuple(range(len(texts)))
        if isinstance(labels, tuple) and len(labels) == len(texts):
            pairs = zip(texts, labels, strict=True)
            found = Dataset(
                op.kind, items=tuple((os.path.abspath(p), int(str(n))) for p, n in pairs)
            )
        elif len(texts) > 1:
            found = Dataset(op.kind, os.path.dirname(texts[0]) or ".")
            if not _lists(found, texts):
                found = Dataset(op.kind, items=tuple((os.path.abspath(path), 0) for path in texts))
        load_source(op.kind).require(found)
        return found
    return None


def _lists(folder: Dataset, files: Sequence[str]) -> bool:
    """Return True if a folder has exactly these files, in this order."""
    with suppress(DataError, OSError):
        listed = islice(load_source(folder.kind).list_samples(folder), len(files) + 1)
        return [os.path.abspath(each.path) for each in listed] == [*map(os.path.abspath, files)]
    return False
