"""A batch, original and augmented, as one picture: what the user looks at while values change."""

from __future__ import annotations

from workbench.engine.process import Engine
from workbench.graph.check import require_sound
from workbench.preview.render import Preview, PreviewRequest, Tile, render

__all__ = ["Preview", "PreviewRequest", "Tile", "preview_batch"]


def preview_batch(engine: Engine, request: PreviewRequest) -> Preview:
    """Render a preview in the worker process.

    Raises GraphFaultsError where the graph cannot run, DataError for the folder, PipelineError with
    the node where DALI refuses, and the errors of the worker process.
    """
    from workbench.catalog import load_catalog

    require_sound(request.graph, load_catalog())
    preview: Preview = engine.call(render, request)
    return preview
