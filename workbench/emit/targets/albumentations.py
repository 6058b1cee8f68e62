"""Export a graph as Albumentations transforms, for machines without DALI."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.emit.core.code import Code
from workbench.emit.interop.albumentations import ALBUMENTATIONS
from workbench.emit.targets import Target
from workbench.emit.templates.transform_module import render_transforms, transform_notes
from workbench.graph.resolved import ResolvedGraph


def emit_albumentations(resolved: ResolvedGraph) -> Mapping[str, Code]:
    """Create the module ``dataset.py``."""
    return {"dataset.py": render_transforms("albumentations.py.j2", resolved, ALBUMENTATIONS)}


TARGET = Target(
    "the graph as Albumentations transforms, without DALI",
    emit_albumentations,
    skips_bad=False,
    notes=lambda resolved: transform_notes(resolved, ALBUMENTATIONS),
)
