"""What is read and where, and the kind that reads it."""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from workbench.errors import DataError
from workbench.names import did_you_mean
from workbench.sources import kinds
from workbench.sources.source_kind import SourceKind

REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://")
"""How a place on another machine begins."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """What is read, and where.

    Parameters
    ----------
    kind:
        A kind of source, by its name in ``SOURCES`` of its module.
    location:
        A path; empty for data that were given in Python.
    items:
        Those: (path, label) for each file.
    title:
        What a person knows it as, where that is not ``location``.
    first:
        Where not 0: so many from the beginning stand for all, whose index is not there yet.
    options:
        Of the kind's ``demanding`` ones those that are set where a graph reads it; None where none
        is known: then what is at fault for any of them is told.
    """

    kind: str
    location: str = ""
    items: tuple[tuple[str, int | str], ...] = ()
    title: str = ""
    first: int = 0
    options: tuple[str, ...] | None = None

    @property
    def argument(self) -> Any:
        """What the exported program is given for it."""
        return load_source(self.kind).argument(self)

    @property
    def place(self) -> str:
        """Where they lie, from anywhere: an absolute path, or a remote place; else empty."""
        local = self.location and not REMOTE.match(self.location)
        return os.path.abspath(self.location) if local else self.location

    @property
    def text(self) -> str:
        """What opens them again later; empty for data that were given in Python."""
        kind = load_source(self.kind)
        named = self.location and (kind.decoder or kind.takes)
        return "" if self.title else f"{self.kind}:{self.location}" if named else self.location

    @property
    def identity(self) -> str:
        """Equal for equal data: the absolute path, or the items themselves."""
        return (self.place or repr(self.items)) + f"\nfirst {self.first}" * bool(self.first)

    @property
    def root(self) -> str:
        """The folder that the names of files are relative to."""
        return load_source(self.kind).root(self)

    @property
    def in_memory(self) -> bool:
        """Whether a process gives its samples out of its memory: no path says where they lie."""
        return load_source(self.kind).in_memory

    def __str__(self) -> str:
        return self.title or self.location or f"a list of {len(self.items):,} files"


Datasets = Mapping[str, Dataset]
"""For each parameter of a graph's program that names data what it is given."""


@cache
def _kinds() -> Mapping[str, SourceKind]:
    """Every kind by its name: what the modules of ``kinds`` have in ``SOURCES``; ``folder`` first.

    A module is imported with the first question for any kind: all of them take 0.2 s.
    """
    modules = [info.name for info in walk_packages(kinds.__path__, f"{kinds.__name__}.")]
    found = [getattr(import_module(name), "SOURCES", {}) for name in modules]
    names = sorted((name for each in found for name in each), key=lambda n: (n != "folder", n))
    if len(set(names)) < len(names):
        raise RuntimeError(f"Two kinds of source share a name: {', '.join(names)}.")
    return {name: ChainMap(*found)[name] for name in names}


def source_kinds() -> tuple[str, ...]:
    """Every kind of source, ``folder`` first."""
    return tuple(_kinds())


@cache
def load_source(kind: str) -> SourceKind:
    """The kind of that name. Raises DataError with the nearest known ones.

    ``folder:file_root`` is one of which an exported program gives DALI's reader the data as they
    are, in that argument.
    """
    kind, _, argument = kind.partition(":")
    if argument:
        return load_source(kind).given(argument)
    if kind not in _kinds():
        hint = did_you_mean(kind, source_kinds(), f"There are {', '.join(source_kinds())}.")
        raise DataError(f"There is no kind of source {kind!r}. {hint}")
    return _kinds()[kind]
