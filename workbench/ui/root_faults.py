"""Faults of a graph that names files itself, where the web app may not open them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from workbench.graph.faults import Fault
from workbench.graph.model import Graph
from workbench.roots import Roots
from workbench.sources import load_source, source_kinds

_FOLDER = "file_root"


def root_faults(graph: Graph, roots: Roots) -> Iterator[Fault]:
    """One fault for each argument that leads out of the roots."""
    located_by = frozenset().union(*(load_source(kind).located_by for kind in source_kinds()))
    for source in graph.sources:
        folder = source.args.get(_FOLDER)
        for arg in sorted(located_by & source.args.keys()):
            inside = folder if arg != _FOLDER and isinstance(folder, str) else ""
            for path in _texts(source.args[arg]):
                if reason := roots.refusal(os.path.join(inside, path)):
                    yield Fault(
                        source.id,
                        arg,
                        f"{path!r} cannot be opened: {reason}",
                        "Remove it, and open the folder in the Data panel.",
                    )
                    break


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [text for text in value if isinstance(text, str)] if isinstance(value, tuple) else []
