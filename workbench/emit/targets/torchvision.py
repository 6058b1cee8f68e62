"""Export a graph as torchvision transforms (v2), for machines without DALI."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.interop.torchvision import TORCHVISION
from workbench.emit.targets import Target
from workbench.emit.templates.transform_module import render_transforms, transform_notes
from workbench.graph.resolved import ResolvedGraph


def emit_torchvision(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``dataset.py``."""
    return {"dataset.py": render_transforms("torchvision.py.j2", resolved, TORCHVISION)}


TARGET = Target(
    "the graph as torchvision transforms, without DALI",
    emit_torchvision,
    skips_bad=False,
    notes=lambda resolved: transform_notes(resolved, TORCHVISION),
)
