"""Define ``Dataset``: the location of data and the source kind that reads them."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

from workbench.errors import DataError
from workbench.names import did_you_mean
from workbench.sources import kinds
from workbench.sources.source_kind import SourceKind

REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://")
"""Pattern of the scheme of a remote location, such as ``s3://``."""
SAMPLER = "sampler"
"""Name of the variant of a source kind that reads in the order of a sampler."""
SAMPLER_OPTIONS = (
    *("sampler", "weights", "sample_weights", "replacement"),
    *("indices", "repeats", "num_samples"),
)
"""Options of a sampler, which sets the order of the samples. A reader with any of them is sampled.
"""
ORDER_OPTIONS = frozenset(
    {*SAMPLER_OPTIONS, "random_shuffle", "shuffle_after_epoch", "initial_fill"}
)
"""Reader options that change the order of the samples, or how often they are read in an epoch."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """Data that a graph reads, and their location.

    Parameters
    ----------
    kind:
        Name of a source kind: a key of ``SOURCES`` in a module of ``kinds``.
    location:
        A path or URL; empty for data passed in Python.
    items:
        Data passed in Python: (path, label) for each file.
    title:
        Display name, if it differs from ``location``.
    first:
        If not 0, only this many leading samples are used, because the index is not built yet.
    options:
        Names of the kind's ``demanding`` options that the graph sets. If None, they are unknown,
        and all faults that any of these options could cause are reported.
    """

    kind: str
    location: str = ""
    items: tuple[tuple[str, int | str], ...] = ()
    title: str = ""
    first: int = 0
    options: tuple[str, ...] | None = None

    @property
    def argument(self) -> Any:
        """Value of the exported program's data parameter."""
        return load_source(self.kind).argument(self)

    @property
    def place(self) -> str:
        """Absolute path or remote URL of the data, or empty for data passed in Python."""
        local = self.location and not REMOTE.match(self.location)
        return os.path.abspath(self.location) if local else self.location

    @property
    def text(self) -> str:
        """Text that a user can enter to open the dataset again; empty for data passed in Python."""
        kind = load_source(self.kind)
        found = kind.decoder or (kind.takes and not kind.accepts(Path(self.location)))
        named = self.location and found
        return "" if self.title else f"{self.kind}:{self.location}" if named else self.location

    @property
    def identity(self) -> str:
        """Key that identifies the data in caches: the absolute path, or the items themselves."""
        return (self.place or repr(self.items)) + f"\nfirst {self.first}" * bool(self.first)

    @property
    def root(self) -> str:
        """Folder that sample names are relative to."""
        return load_source(self.kind).root(self)

    @property
    def in_memory(self) -> bool:
        """Whether a process serves the samples from memory instead of files."""
        return load_source(self.kind).in_memory

    def __str__(self) -> str:
        return self.title or self.location or f"a list of {len(self.items):,} files"


Datasets = Mapping[str, Dataset]
"""Dataset of each data parameter of the exported program."""


@cache
def _kinds() -> Mapping[str, SourceKind]:
    """Return all source kinds in ``SOURCES`` of the modules in ``kinds``, ``folder`` first.

    The modules are imported on first use, because importing all of them takes 0.2 s.
    """
    modules = [info.name for info in walk_packages(kinds.__path__, f"{kinds.__name__}.")]
    found = [getattr(import_module(name), "SOURCES", {}) for name in modules]
    names = sorted((name for each in found for name in each), key=lambda n: (n != "folder", n))
    if len(set(names)) < len(names):
        raise RuntimeError(f"Two kinds of source share a name: {', '.join(names)}.")
    return {name: ChainMap(*found)[name] for name in names}


def source_kinds() -> tuple[str, ...]:
    """Return the names of all source kinds, ``folder`` first."""
    return tuple(_kinds())


@cache
def load_source(kind: str) -> SourceKind:
    """Return the source kind called ``kind``. Raises DataError, with similar names, if unknown.

    ``folder:file_root`` is the variant of ``folder`` whose exported program passes the data
    unchanged to the argument ``file_root`` of DALI's reader. ``folder:sampler`` is the variant
    that reads in the order of a sampler; DataError is raised if the kind does not support it.
    """
    kind, _, argument = kind.partition(":")
    if argument == SAMPLER:
        return load_source(kind).with_sampler()
    if argument:
        return load_source(kind).with_argument(argument)
    if kind not in _kinds():
        hint = did_you_mean(kind, source_kinds(), f"There are {', '.join(source_kinds())}.")
        raise DataError(f"There is no source kind {kind!r}. {hint}")
    return _kinds()[kind]
