"""A request: encoded images that another program feeds, one for each sample, as Triton's does.

Where a graph is previewed, measured or run as a script, samples of requests stand for it: the files
of a folder or of a list, ``request:photos``. For Triton it is the model's input, named as the node.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.sources import Dataset, SourceKind
from workbench.sources.kinds.images import folder
from workbench.sources.kinds.images.folder import find_files

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it


def find_requests(data: Any) -> dict[str, Any]:
    """Arguments of the file reader for samples of requests: a folder, or DALI's file_list."""
    return find_files(data)


def read_requests(**options: Any) -> Any:
    """Samples of requests, in the place of ``fn.external_source``."""
    jpegs, _ = fn.readers.file(**options)
    return jpegs


def _files(dataset: Dataset) -> Dataset:
    return replace(dataset, kind="folder")


_FOLDER = folder.SOURCE
SOURCE = SourceKind(
    about="folder of sample requests",
    op="request",
    located_by=frozenset(),
    find=find_requests,
    reader=read_requests,
    outputs=("jpegs",),
    options=frozenset(),
    seeded=False,
    takes=frozenset({"folder"}),
    helpers=folder.SOURCE.helpers + "\n\n" + inspect.getsource(find_files),
    imports=("os",),
    accepts=lambda path: False,
    require=lambda dataset: _FOLDER.require(_files(dataset)),
    list_samples=lambda dataset: _FOLDER.list_samples(_files(dataset)),
    root=lambda dataset: _FOLDER.root(_files(dataset)),
    class_names=lambda dataset: [],
    watched=lambda dataset: _FOLDER.watched(_files(dataset)),
    nothing_found=lambda dataset: _FOLDER.nothing_found(_files(dataset)),
    write_placeholder=_FOLDER.write_placeholder,
)
