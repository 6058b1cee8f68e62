"""Render a preview in the worker: run changed nodes, create tiles, and encode the sheet."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from workbench.engine.protocol.registry import task
from workbench.engine.reading.undecodable_samples import Sample
from workbench.engine.resources.batch_store import Batch
from workbench.engine.resources.process_memory import MemoryUse
from workbench.engine.run.worker import Worker, memory_use
from workbench.errors import NO_IMAGE, GraphError
from workbench.figures import plot_pictures
from workbench.graph.model import Port
from workbench.graph.model.faults import Fault
from workbench.preview.pictures.annotation_overlays import Overlays, draw_overlays, overlays_of
from workbench.preview.pictures.contact_sheet import (
    RAW,
    compose,
    compose_on_gpu,
    decode,
    encode,
    grid_of,
    jpeg_within,
)
from workbench.preview.pictures.output_tiles import (
    DifferenceTiles,
    differences_of,
    gpu_jpeg_encoder,
    tiles_of,
)
from workbench.preview.pictures.tiles import Tiles
from workbench.preview.request import MOST_RAW, GraphRun, PreviewRequest, run_request
from workbench.preview.requests.branches import (
    Augmentation,
    Branch,
    augmentation_keys,
    augmentation_texts,
    augmentations_offered,
    branches_of,
    executed_scopes,
)
from workbench.preview.requests.texts import (
    augmentations_of,
    describe_shape,
    label_port,
    labels_of,
    names_of_labels,
    plain_random_value,
    random_value_texts,
    random_values,
    shape_and_type_text,
    target_texts,
)
from workbench.sources import data_facts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Box = tuple[int, int, int, int]
"""Rectangle (x, y, width, height) in pixels of the sheet."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Description of one sample on the sheet.

    ``draws`` has a text per generator, such as ``angle -7.24``. ``notes`` are remarks on the tile,
    such as the size of its difference, or that it is one of many random variants. ``class_name`` is
    the name of the class, or the label as text if the class has no name. ``branches`` are the block
    bodies that ran for the sample (``branch.then``). ``augmentations`` are the keys of the
    automatic augmentations applied, and ``applied`` is their text for each node, such as ``rotate
    -27``.
    """

    index: int
    sample: Sample
    label: str
    shape: str
    draws: tuple[str, ...]
    original: Box | None
    augmented: tuple[Box, ...]
    notes: tuple[str, ...] = ()
    class_name: str = ""
    branches: tuple[str, ...] = ()
    augmentations: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()
    marks: tuple[Overlays, ...] = ()
    """Overlays for the original, if it is displayed, and then for each augmented picture."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Random values by CPU generator. A value is None if the sample did not reach the generator."""
    targets: tuple[str, ...] = ()
    """Texts of annotations that are not drawn, such as ``image_ids 17``, ``labels cat 0.70, dog
    0.30``.
    """


@dataclass(frozen=True, slots=True, repr=False)
class PreviewResult:
    """A contact sheet and its description.

    ``size`` is (width, height). ``note`` describes how values and channels are displayed. ``facts``
    has the shape and type of each node's output, such as ``224×224×3 u8``. ``reran`` names the
    nodes that had to run. ``milliseconds`` is the time in the worker. For a difference,
    ``baseline`` names the node that each output is compared with. ``folder`` is a text that changes
    whenever the data changes. ``branches`` are all bodies of the graph's blocks. ``augmentations``
    are all augmentations that its automatic augmentations may apply.

    ::

        found = wb.preview_batch(engine, wb.PreviewRequest(graph, "photos", tiles=4))
        print([tile.sample.file for tile in found.tiles], found.size)
    """

    image: bytes
    mime: str
    size: tuple[int, int]
    tiles: tuple[Tile, ...]
    outputs: tuple[str, ...]
    note: str
    batch: int
    facts: dict[str, str]
    reran: tuple[str, ...]
    milliseconds: float
    baseline: tuple[str, ...] = ()
    memory: MemoryUse | None = None
    folder: str = ""
    branches: tuple[Branch, ...] = ()
    augmentations: tuple[Augmentation, ...] = ()
    warnings: tuple[Fault, ...] = ()
    """Warnings of ``check_warnings`` for the graph and this data."""

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row per sample.

        The columns are index, file, label, class, shape and random values.

        ::

            request = wb.PreviewRequest(graph, "photos", tiles=4)
            print(wb.preview_batch(engine, request).to_frame())

        Raises ImportError if pandas is not installed.
        """
        import pandas

        columns = ["place", "file", "label", "class", "shape", "draws"]
        rows = [
            (each.index, each.sample.file, each.label, each.class_name, each.shape,
             ", ".join(each.draws))
            for each in self.tiles
        ]  # fmt: skip
        return pandas.DataFrame(rows, columns=columns)

    def plot(self) -> Figure:
        """Return a matplotlib figure of the contact sheet.

        ::

            request = wb.PreviewRequest(graph, "photos", tiles=4)
            figure = wb.preview_batch(engine, request).plot()
        """
        sheet = decode(self.image, self.mime, self.size).convert("RGB")
        return plot_pictures([sheet], [""], repr(self)[1:-1])

    def __repr__(self) -> str:
        size = "×".join(map(str, self.size))
        return (
            f"<preview of batch {self.batch}: {len(self.tiles)} samples of "
            f"{', '.join(self.outputs)}, {size} pixels>"
        )

    def annotated(self) -> Image.Image:
        """Return the sheet in RGB with boxes, points, masks and names, as displayed on the screen.

        The attribute ``image`` is the sheet without annotations.
        """
        sheet = decode(self.image, self.mime, self.size)
        for tile in self.tiles:
            boxes = [box for box in (tile.original, *tile.augmented) if box]
            for (x, y, width, height), marks in zip(boxes, tile.marks, strict=False):
                if marks:
                    picture = np.asarray(sheet.crop((x, y, x + width, y + height)))
                    sheet.paste(Image.fromarray(draw_overlays(picture, marks, names=True)), (x, y))
        return sheet

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, object], dict[str, object]]:
        picture = jpeg_within(self.annotated())
        shown: dict[str, object] = {"image/jpeg": picture, "text/plain": repr(self)}
        return shown, {"image/jpeg": {"alt": repr(self)[1:-1]}}


@task
def render(worker: Worker, request: PreviewRequest) -> PreviewResult:
    """Task: render the preview of a valid graph.

    Raises PipelineError, DataError, GraphError, or CancelledError if interrupted.
    """
    start = time.perf_counter()
    run = run_request(worker, request)
    images = run.images
    if not images:
        raise GraphError(f"{NO_IMAGE}, so there is nothing to show. Connect an image output.")
    worker.check_interrupt()
    original = run.original if request.shown in ("original", "both") else None
    request.require_room(bool(original) + (len(images) if request.shown != "original" else 0))
    groups = [tiles_of(worker, run, original, request.tile_size)] if original else []
    differences: list[DifferenceTiles] = []
    if request.shown == "difference":
        differences = differences_of(worker, run, request.tile_size)
        groups += [difference.tiles for difference in differences]
    elif request.shown != "original":
        groups += [tiles_of(worker, run, port, request.tile_size) for port in images.values()]
    if not groups:
        raise GraphError("The graph decodes no image, so there is no original to show.")
    worker.check_interrupt()
    samples = run.result.samples
    grid = grid_of(groups)
    places = grid.places
    first = run.result.batches[next(iter(images.values()))]
    boxes = []
    for index, sample in enumerate(samples):
        corners = places[index * len(groups) : (index + 1) * len(groups)]
        sizes = [group.sizes[index] for group in groups]
        if sample.error:
            sizes = [(request.tile_size, request.tile_size)] * len(groups)
        boxes.append([(*corner, *size) for corner, size in zip(corners, sizes, strict=True)])
    mime = _mime(request, math.prod(grid.extent))
    plan = run.result.plan
    known = {name: data_facts(each, plan.version) for name, each in plan.data.items()}
    warnings = run.resolved.on_data(known).warnings
    return PreviewResult(
        image=_picture(worker, run, groups, mime),
        mime=mime,
        size=grid.extent,
        tiles=_tiles(worker, run, first, boxes, original is not None, differences),
        outputs=tuple(images),
        note="; ".join(filter(None, (run.result.left_out, _note(groups), *_sentences(warnings)))),
        batch=request.batch,
        facts={node.id: shape_and_type_text(run, node) for node in run.nodes},
        reran=run.result.reran,
        milliseconds=(time.perf_counter() - start) * 1000,
        baseline=tuple(_name(difference.baseline) for difference in differences),
        memory=memory_use(worker),
        folder=run.result.plan.version,
        branches=branches_of(run.resolved),
        augmentations=augmentations_offered(run),
        warnings=warnings,
    )


def _picture(worker: Worker, run: GraphRun, groups: list[Tiles], mime: str) -> bytes:
    """Encode the sheet: on the GPU if all tiles are on it, otherwise in reused host memory."""
    bad = [index for index, sample in enumerate(run.result.samples) if sample.error]
    on_gpu = any(group.device == "gpu" for group in groups)
    encoder = gpu_jpeg_encoder(worker) if on_gpu and mime == "image/jpeg" else None
    if encoder and not bad and all(group.device == "gpu" for group in groups):
        sheet = compose_on_gpu(groups, worker.kept)
        if sheet is not None:
            return encode(sheet, mime, encoder)
    store = worker.runner.store
    last = store.get("sheet")
    made = compose(groups, bad, last[0] if last else None)
    store.put("sheet", [made])
    return encode(made.pixels, mime, encoder)


def _mime(request: PreviewRequest, pixels: int) -> str:
    if not request.lossless:
        return "image/jpeg"
    return RAW if request.raw and pixels <= MOST_RAW else "image/png"


def _tiles(
    worker: Worker,
    run: GraphRun,
    first: Batch,
    boxes: list[list[Box]],
    has_original: bool,
    differences: list[DifferenceTiles],
) -> tuple[Tile, ...]:
    batches = run.result.batches
    sampled, automatic = random_values(run, ("cpu",)), augmentations_of(run)
    draws = random_value_texts(run, sampled) | automatic
    port = label_port(run.resolved)
    labels = labels_of(port, batches)
    names = names_of_labels(worker, run, port, labels)
    labels = labels if any(names) else [""] * len(labels)  # the data have none
    shapes = [describe_shape(shape, first.dtype) for shape in first.shapes]
    fired = executed_scopes(run)
    augmented, applied = augmentation_keys(run), augmentation_texts(run)
    shown = [run.original] if has_original else []
    shown += run.images.values() if boxes and len(boxes[0]) > len(shown) else []
    targets = target_texts(worker, run, port)
    marks = [overlays_of(worker, run, each) for each in shown if each is not None]
    return tuple(
        Tile(
            index,
            sample,
            labels[index] if labels else "",
            shapes[index],
            tuple(f"{name} {values[index]}" for name, values in draws.items() if values[index]),
            boxes[index][0] if has_original else None,
            tuple(boxes[index][1:] if has_original else boxes[index]),
            (*_repeat_note(run, index), *(found.notes[index] for found in differences)),
            names[index] if names else "",
            fired[index],
            augmented[index],
            applied[index],
            tuple(group[index] for group in marks),
            {name: plain_random_value(values[index]) for name, values in sampled.items()}
            | {name: texts[index] for name, texts in automatic.items()},
            targets[index],
        )
        for index, sample in enumerate(run.result.samples)
    )


def _repeat_note(run: GraphRun, index: int) -> tuple[str, ...]:
    if run.request.repeat is None:
        return ()
    return (
        f"random variant {index} of one photo, not part of batch {run.request.batch} of the export",
    )


def _sentences(warnings: Sequence[Fault]) -> list[str]:
    """Return the warnings without final full stops, so that they can be joined by semicolons."""
    return [str(warning).removesuffix(".") for warning in warnings]


def _note(groups: list[Tiles]) -> str:
    """Join the notes of the groups without duplicates. Notes of augmented images are first."""
    notes: list[str] = []
    reported: set[str] = set()
    for group in reversed(groups):
        parts = group.note.split(", ")
        if group.note and not reported.issuperset(parts):
            notes.append(group.note)
        reported.update(parts)
    return "; ".join(notes)


def _name(port: Port | None) -> str:
    return str(port) if port is not None else ""
