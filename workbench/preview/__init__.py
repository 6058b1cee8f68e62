"""Render a batch before and after augmentation, as images and as arrays."""

from __future__ import annotations

from dataclasses import replace

from workbench.arguments import Kind, checked, warn_caller
from workbench.catalog import load_catalog
from workbench.engine.protocol.call_handle import Caller, ReportListener
from workbench.graph.checks.check import require_sound
from workbench.graph.resolved import ResolvedGraph
from workbench.preview.pictures.contact_sheet import jpeg_within
from workbench.preview.pictures.pixels import Picture, Pixels, read_picture, read_pixels
from workbench.preview.request import PreviewRequest, replayed
from workbench.preview.requests.branches import BranchShares, count_branches
from workbench.preview.requests.card_pictures import CardPicture, CardPictures, render_card_pictures
from workbench.preview.requests.difference import TileDistance, tile_distances
from workbench.preview.requests.effect import Effect, render_effect
from workbench.preview.requests.fault_isolation import call_isolating_faults, isolating_faults
from workbench.preview.requests.output_batch import (
    BatchArrays,
    OutputBatch,
    output_batch,
    read_outputs,
    unusable_text,
)
from workbench.preview.requests.render import PreviewResult, Tile, render
from workbench.preview.requests.statistics import OutputStatistics, batch_statistics
from workbench.preview.requests.steps import Steps, render_steps

__all__ = [
    "BranchShares",
    "CardPicture",
    "CardPictures",
    "Effect",
    "OutputBatch",
    "OutputStatistics",
    "Picture",
    "Pixels",
    "PreviewRequest",
    "PreviewResult",
    "Steps",
    "Tile",
    "TileDistance",
    "preview_batch",
    "preview_branch_shares",
    "preview_card_pictures",
    "preview_distances",
    "preview_effect",
    "preview_outputs",
    "preview_picture",
    "preview_pixels",
    "preview_statistics",
    "preview_steps",
    "render_batch",
    "replayed",
]

ENGINE = Kind("an Engine: workbench.Engine()", lambda value: hasattr(value, "call"))
REQUEST = Kind.of("workbench.PreviewRequest(graph, data)", PreviewRequest)


@checked(engine=ENGINE, request=REQUEST)
def preview_batch(
    engine: Caller, request: PreviewRequest, on_report: ReportListener | None = None
) -> PreviewResult:
    """Render a contact sheet of a batch in the worker process.

    ``on_report`` is called with the nodes being built and the user functions being run.

    ::

        found = wb.preview_batch(engine, wb.PreviewRequest(graph, "photos", tiles=4))
        pathlib.Path("sheet.jpg").write_bytes(found.image)

    Raises GraphFaultsError if the graph cannot run, DataError if the data cannot be used,
    PipelineError with the node if DALI reports an error, and the errors of the worker process: a
    WorkerCrashedError names the node that caused the crash if running the nodes separately reveals
    it.
    """
    require_sound(request.graph, load_catalog())
    return render_batch(engine, request, on_report)


def render_batch(
    engine: Caller, request: PreviewRequest, on_report: ReportListener | None = None
) -> PreviewResult:
    """Render a contact sheet like ``preview_batch``, without checking the graph for faults."""
    preview: PreviewResult = call_isolating_faults(engine, render, request, on_report=on_report)
    return preview


# Worker tasks as functions whose first argument is the engine.
preview_card_pictures = isolating_faults(render_card_pictures)
preview_effect = isolating_faults(render_effect)
preview_distances = isolating_faults(tile_distances)
preview_steps = isolating_faults(render_steps)
preview_statistics = isolating_faults(batch_statistics)
preview_branch_shares = isolating_faults(count_branches)
preview_pixels = isolating_faults(read_pixels)
preview_picture = isolating_faults(read_picture)


@checked(engine=ENGINE, request=REQUEST)
def preview_outputs(engine: Caller, request: PreviewRequest) -> OutputBatch:
    """Return all outputs of a batch as arrays, bit-identical to the exported script.

    Includes a contact sheet if an output is an image. Findings of ``check_warnings``,
    and samples that cannot be used or have faulty annotations, are issued as a UserWarning. Raises
    the errors of ``preview_batch``, and
    GraphError for a batch larger than 1 GiB.

    ::

        batch = wb.preview_outputs(engine, wb.PreviewRequest(graph, "photos", batch=3, tiles=4))
        assert batch.images.shape == (4, 224, 224, 3)
    """
    resolved = ResolvedGraph(request.graph, load_catalog())
    for warning in resolved.sound().warnings:
        warn_caller(str(warning))
    found: BatchArrays = call_isolating_faults(engine, read_outputs, request)
    sheet = b""
    if resolved.images:
        shown = replace(request, tiles=min(request.tiles, 16), tile_size=96, shown="augmented")
        preview = call_isolating_faults(engine, render, shown)
        sheet = jpeg_within(preview.annotated())
    if found.left_out:
        warn_caller(f"{found.left_out[0].upper()}{found.left_out[1:]}.")
    batch = output_batch(request.batch, found, sheet)
    if batch.errors:
        warn_caller(unusable_text(batch))
    return batch
