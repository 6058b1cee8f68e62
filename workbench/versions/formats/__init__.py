"""The file formats of dataset versions.

Each module defines a ``VersionFormat``, which writes the samples of a shard and reads them back.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from workbench.errors import ArgumentError
from workbench.versions.formats.format import VersionFormat

FORMATS = ("folder", "coco", "webdataset", "tfrecord", "parquet")


@cache
def load_format(name: str) -> VersionFormat:
    """Return a format by name. Raises ArgumentError for an unknown name."""
    if name not in FORMATS:
        raise ArgumentError(f"format is {name!r}. Use one of {', '.join(FORMATS)}.")
    found: VersionFormat = import_module(f"workbench.versions.formats.{name}").FORMAT
    return found
