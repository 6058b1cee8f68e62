"""Restrict a worker to the web app's root folders, even while symbolic links change.

The app checks every path before it sends a graph. However, a symbolic link may point elsewhere when
DALI opens it, and back again before the next check. Therefore the worker checks paths again before
it reads, and shows only data that is byte for byte the content of files inside the roots.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import DataError
from workbench.graph.model import Node, Source
from workbench.roots import Roots, roots_of_worker
from workbench.sources import Dataset, list_samples, load_source, source_kinds

CHANGED = "it changed while it was read"
_FOLDER = "file_root"
NAMED_IN_DATA = "io.file.read"
"""Operator that reads files whose names another node outputs, so they are not known in advance."""


def located_paths(source: Source) -> Iterator[tuple[str, str, str]]:
    """Yield (argument, text, path) for each path in the arguments of a source."""
    located_by = frozenset().union(*(load_source(kind).located_by for kind in source_kinds()))
    folder = source.args.get(_FOLDER)
    for arg in sorted(located_by & source.args.keys()):
        inside = folder if arg != _FOLDER and isinstance(folder, str) else ""
        for text in _texts(source.args[arg]):
            yield arg, text, os.path.join(inside, text)


def require_listed(data: Dataset) -> None:
    """Raise DataError if a dataset's files cannot be listed: the web app could not check them."""
    if not load_source(data.kind).is_listed:
        raise DataError(
            f"{data} cannot be opened: the web app only reads files in its allowed folders. Use "
            "JupyterLab, Python or a shell command."
        )


def require_inside(source: Source, data: Dataset | None) -> None:
    """Raise DataError if this worker may not open the folder or list that a source reads.

    Files that are listed individually are checked when they are read (``outside_roots``).
    """
    roots = roots_of_worker()
    if roots is None:
        return
    if data is not None:
        require_listed(data)
        roots.require(filter(None, (data.location, "" if data.in_memory else data.root)))
        if source.decodes:  # its output cannot be compared with file contents
            roots.require(sample.path for sample in list_samples(data))
    lists = {arg for arg, value in source.args.items() if isinstance(value, str)}
    roots.require(path for arg, _, path in located_paths(source) if arg in lists)


def refuse_named_files(nodes: Iterable[Node]) -> None:
    """Raise DataError if a node could name files that this worker may not open."""
    if roots_of_worker() is None:
        return
    for node in nodes:
        if node.op == NAMED_IN_DATA:
            raise DataError(
                f"{node.id}: fn.io.file.read can open any file, but the web app only reads files "
                "in its allowed folders. Use JupyterLab, Python or a shell command."
            )


def outside_roots(
    files: Iterable[str],
    folder: str,
    contents: Iterable[NDArray[Any] | None],
    container_of: Callable[[str], str] | None = None,
) -> dict[str, str]:
    """Map each file that this worker may not show to the reason.

    ``files`` are relative to ``folder``. ``contents`` has the bytes of each file as DALI read them,
    or None. ``container_of`` returns the file that contains a sample; then only the location of
    this file is checked.
    """
    roots = roots_of_worker()
    if roots is None:
        return {}
    if container_of is not None:
        found = {file: roots.refusal(os.path.join(folder, container_of(file))) for file in files}
        return {file: reason for file, reason in found.items() if reason}
    found = {
        file: _refusal(roots, os.path.join(folder, file), data)
        for file, data in zip(files, contents, strict=True)
    }
    return {file: reason for file, reason in found.items() if reason}


def require_shown(
    node: str, files: Sequence[str], folder: str, container_of: Callable[[str], str] | None
) -> None:
    """Raise DataError for the first decoded sample whose file is outside the roots."""
    for file, reason in outside_roots(files, folder, [None] * len(files), container_of).items():
        raise DataError(f"{node}: {file} cannot be shown: {reason}.")


def _refusal(roots: Roots, path: str, content: NDArray[Any] | None) -> str:
    if (reason := roots.refusal(path)) or content is None:
        return reason
    try:
        with roots.open(path) as file:
            current = np.frombuffer(file.read(content.nbytes + 1), np.uint8)
    except (OSError, DataError):
        return CHANGED
    return "" if np.array_equal(current, content) else CHANGED


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for text in value if isinstance(text, str)] if isinstance(value, tuple) else []
