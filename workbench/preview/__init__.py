"""A batch, original and augmented, as one picture: what the user looks at while values change."""

from __future__ import annotations

from workbench.engine.call_handle import Caller
from workbench.graph.check import require_sound
from workbench.preview.fault_isolation import call
from workbench.preview.pixels import Picture, Pixels, read_picture, read_pixels
from workbench.preview.render import Preview, Tile, render
from workbench.preview.request import PreviewRequest, replayed
from workbench.preview.statistics import OutputStatistics, batch_statistics
from workbench.preview.steps import Steps, render_steps

__all__ = [
    "OutputStatistics",
    "Picture",
    "Pixels",
    "Preview",
    "PreviewRequest",
    "Steps",
    "Tile",
    "preview_batch",
    "preview_picture",
    "preview_pixels",
    "preview_statistics",
    "preview_steps",
    "replayed",
]


def preview_batch(engine: Caller, request: PreviewRequest) -> Preview:
    """Render a preview in the worker process.

    Raises GraphFaultsError where the graph cannot run, DataError for the folder, PipelineError with
    the node where DALI refuses, and the errors of the worker process: a WorkerCrashedError names
    the node that ended it, where that can be found out by running the nodes one by one.
    """
    _require_sound(request)
    preview: Preview = call(engine, render, request)
    return preview


def preview_steps(engine: Caller, request: PreviewRequest, index: int, times: bool = True) -> Steps:
    """One sample through every node (see ``render_steps``). Raises as ``preview_batch``."""
    _require_sound(request)
    steps: Steps = call(engine, render_steps, request, index, times)
    return steps


def preview_statistics(engine: Caller, request: PreviewRequest) -> tuple[OutputStatistics, ...]:
    """Histogram, mean and deviation of each image output. Raises as ``preview_batch``."""
    _require_sound(request)
    found: tuple[OutputStatistics, ...] = call(engine, batch_statistics, request)
    return found


def preview_pixels(
    engine: Caller,
    request: PreviewRequest,
    index: int,
    of: str,
    x: int = 0,
    y: int = 0,
    width: int | None = None,
    height: int | None = None,
) -> Pixels:
    """The values of a region of one sample (see ``read_pixels``). Raises as ``preview_batch``."""
    _require_sound(request)
    pixels: Pixels = call(engine, read_pixels, request, index, of, x, y, width, height)
    return pixels


def preview_picture(engine: Caller, request: PreviewRequest, index: int, of: str) -> Picture:
    """One sample at its own size, as PNG (see ``read_picture``). Raises as ``preview_batch``."""
    _require_sound(request)
    picture: Picture = call(engine, read_picture, request, index, of)
    return picture


def _require_sound(request: PreviewRequest) -> None:
    from workbench.catalog import load_catalog

    require_sound(request.graph, load_catalog())
