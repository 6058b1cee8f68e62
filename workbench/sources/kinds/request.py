"""A request: encoded images that another program feeds, one for each sample, as Triton's does.

Where a graph is previewed, measured or run as a script, samples of requests stand for it: the files
of a folder or of a list, ``request:photos``. For Triton it is the model's input, named as the node.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.sources import Dataset
from workbench.sources.kinds.folder import Folder, find_files

if TYPE_CHECKING:
    from nvidia.dali import fn  # the exported program has it


def find_requests(data: Any) -> dict[str, Any]:
    """Arguments of the file reader for samples of requests: a folder, or DALI's file_list."""
    return find_files(data)


def read_requests(**options: Any) -> Any:
    """Samples of requests, in the place of ``fn.external_source``."""
    jpegs, _ = fn.readers.file(**options)
    return jpegs


class Request(Folder):
    """Encoded images of requests, read from files where it runs without a server."""

    about = "folder of sample requests"
    op = "request"
    located_by: frozenset[str] = frozenset()
    find = staticmethod(find_requests)
    reader = staticmethod(read_requests)
    outputs = ("jpegs",)
    options: frozenset[str] = frozenset()
    seeded = False
    takes = frozenset({"folder"})
    helpers = (*Folder.helpers, find_files)

    def accepts(self, path: Path) -> bool:
        return False

    def class_names(self, dataset: Dataset) -> list[str]:
        return []

    def directly(self, dataset: Dataset | None) -> str:
        return ""


SOURCE = Request()
