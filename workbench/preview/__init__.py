"""A batch before and after augmentation, as pictures and figures."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from workbench.arguments import Kind, checked
from workbench.catalog import load_catalog
from workbench.catalog.own_operators.own_code import OWN_CODE
from workbench.engine.protocol.call_handle import Caller, ReportListener
from workbench.graph.checks.check import require_sound
from workbench.graph.model import Graph
from workbench.graph.resolved import ResolvedGraph
from workbench.graph.user_functions.function_randomness import undetermined
from workbench.preview.facts.branches import BranchShares, count_branches
from workbench.preview.facts.difference import TileDistance, tile_distances
from workbench.preview.facts.statistics import OutputStatistics, batch_statistics
from workbench.preview.pictures.contact_sheet import small_jpeg
from workbench.preview.pictures.pixels import (
    LARGEST_SIDE,
    Picture,
    Pixels,
    read_picture,
    read_pixels,
)
from workbench.preview.request import PreviewRequest, replayed
from workbench.preview.views.card_pictures import CardPicture, CardPictures, render_card_pictures
from workbench.preview.views.effect import Effect, render_effect
from workbench.preview.views.fault_isolation import call_isolating_faults
from workbench.preview.views.output_batch import (
    BatchArrays,
    OutputBatch,
    output_batch,
    read_outputs,
)
from workbench.preview.views.render import PreviewResult, Tile, render
from workbench.preview.views.steps import Steps, render_steps

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
    """A contact sheet of a batch, rendered in the worker process.

    ``on_report`` hears what is being built, and which functions of the user run.

    ::

        found = wb.preview_batch(engine, wb.PreviewRequest(graph, "photos", tiles=4))
        pathlib.Path("sheet.jpg").write_bytes(found.image)

    Raises GraphFaultsError where the graph cannot run, DataError for the folder, PipelineError with
    the node where DALI refuses, and the errors of the worker process: a WorkerCrashedError names
    the node that ended it, where that can be found out by running the nodes one by one.
    """
    require_sound(request.graph, load_catalog())
    return render_batch(engine, request, on_report)


def render_batch(
    engine: Caller, request: PreviewRequest, on_report: ReportListener | None = None
) -> PreviewResult:
    """``preview_batch`` of a graph that has been checked, as every function below."""
    preview: PreviewResult = call_isolating_faults(engine, render, request, on_report=on_report)
    return preview


def preview_card_pictures(
    engine: Caller,
    request: PreviewRequest,
    index: int,
    targets: bool = True,
    between: bool = True,
) -> CardPictures:
    """One sample at every node (see ``render_card_pictures``). Raises as ``preview_batch``."""
    pictures: CardPictures = call_isolating_faults(
        engine, render_card_pictures, request, index, targets, between
    )
    return pictures


def preview_effect(
    engine: Caller, request: PreviewRequest, graphs: Sequence[Graph], index: int
) -> Effect:
    """One sample of each graph (see ``render_effect``). Raises as ``preview_batch``."""
    effect: Effect = call_isolating_faults(engine, render_effect, request, tuple(graphs), index)
    return effect


def preview_distances(
    engine: Caller, request: PreviewRequest, other: PreviewRequest
) -> tuple[TileDistance, ...]:
    """How far each tile lies from that of another graph. Raises as ``preview_batch``."""
    found: tuple[TileDistance, ...] = call_isolating_faults(engine, tile_distances, request, other)
    return found


def preview_steps(
    engine: Caller,
    request: PreviewRequest,
    index: int,
    times: bool = True,
    node: str = "",
    targets: bool = True,
    between: bool = True,
) -> Steps:
    """One sample through the nodes (see ``render_steps``). Raises as ``preview_batch``."""
    steps: Steps = call_isolating_faults(
        engine, render_steps, request, index, times, node, targets, between
    )
    return steps


def preview_statistics(engine: Caller, request: PreviewRequest) -> tuple[OutputStatistics, ...]:
    """Histogram, mean and deviation of each image output. Raises as ``preview_batch``."""
    found: tuple[OutputStatistics, ...] = call_isolating_faults(engine, batch_statistics, request)
    return found


def preview_branch_shares(engine: Caller, request: PreviewRequest, batches: int) -> BranchShares:
    """How often each body ran (see ``count_branches``). Raises as ``preview_batch``."""
    found: BranchShares = call_isolating_faults(engine, count_branches, request, batches)
    return found


@checked(engine=ENGINE, request=REQUEST)
def preview_outputs(engine: Caller, request: PreviewRequest) -> OutputBatch:
    """All that the graph gives for a batch, as arrays, bit for bit those of the exported script.

    With a small picture of it, where an output is one. Raises as ``preview_batch``, and GraphError
    for a batch of more than a GiB.

    ::

        batch = wb.preview_outputs(engine, wb.PreviewRequest(graph, "photos", batch=3, tiles=4))
        assert batch.images.shape == (4, 224, 224, 3)
    """
    resolved = ResolvedGraph(request.graph, load_catalog())
    resolved.sound()
    for node in request.graph.walk():
        source = str(node.args.get("source", "")) if node.op in OWN_CODE else ""
        if function := undetermined(source):
            warnings.warn(f"{node.id}: {function.words}", stacklevel=3)
    found: BatchArrays = call_isolating_faults(engine, read_outputs, request)
    sheet = b""
    if resolved.images:
        shown = replace(request, tiles=min(request.tiles, 16), tile_size=96, shown="augmented")
        preview = call_isolating_faults(engine, render, shown)
        sheet = small_jpeg(preview.image, preview.mime, preview.size)
    return output_batch(request.batch, found, sheet)


def preview_pixels(
    engine: Caller,
    request: PreviewRequest,
    index: int,
    of: str,
    x: int = 0,
    y: int = 0,
    width: int | None = None,
    height: int | None = None,
    frame: int | None = None,
) -> Pixels:
    """The values of a region of one sample (see ``read_pixels``). Raises as ``preview_batch``."""
    pixels: Pixels = call_isolating_faults(
        engine, read_pixels, request, index, of, x, y, width, height, frame
    )
    return pixels


def preview_picture(
    engine: Caller, request: PreviewRequest, index: int, of: str, frame: int | None = None
) -> Picture:
    """One sample at its own size, as PNG (see ``read_picture``). Raises as ``preview_batch``."""
    picture: Picture = call_isolating_faults(
        engine, read_picture, request, index, of, LARGEST_SIDE, frame
    )
    return picture
