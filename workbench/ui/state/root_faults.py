"""Faults of a graph that names files itself, where the web app may not open them."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.engine.resources.root_guard import NAMED_IN_DATA, located_paths
from workbench.graph.model import Graph
from workbench.graph.model.faults import Fault
from workbench.roots import Roots


def root_faults(graph: Graph, roots: Roots) -> Iterator[Fault]:
    """One fault for each argument that leads out of the roots, or may."""
    for node in graph.walk():
        if node.op == NAMED_IN_DATA:
            yield Fault(
                node.id,
                "filepaths",
                "it may open any file, and pages read what lies below the roots alone",
                "Open the graph in JupyterLab, in Python or from a shell.",
            )
    for source in graph.sources:
        told: set[str] = set()
        for arg, text, path in located_paths(source):
            if arg not in told and (reason := roots.refusal(path)):
                told.add(arg)
                yield Fault(
                    source.id,
                    arg,
                    f"{text!r} cannot be opened: {reason}",
                    "Remove it, and open the folder in the Data panel.",
                )
