"""Create the tiles for outputs and differences. Tiles of unchanged outputs are reused.

Used in the worker process only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.catalog.spec import SHOWN_KINDS
from workbench.engine.resources.batch_store import Batch
from workbench.engine.run.worker import Worker
from workbench.errors import GraphError
from workbench.graph.model import Port
from workbench.graph.model.node_order import ancestors
from workbench.preview.pictures.contact_sheet import Encoder, gpu_encoder
from workbench.preview.pictures.frame_strip import as_pictures, is_sound, sound_scaling
from workbench.preview.pictures.tiles import Tiles, make_tiles, on_host, picture_layout
from workbench.preview.pictures.value_scaling import Scaling, scaling_of
from workbench.preview.request import GraphRun

NO_DIFFERENCE = (70, 70, 76)
"""RGB colour of a tile whose difference cannot be computed."""
_KEPT_SCALINGS = 4096
_STRETCHED = ", as shown: stretched from black to white, so brightness is ignored"


@dataclass(frozen=True, slots=True)
class DifferenceTiles:
    """Tiles of the absolute difference between an output and the output of the node ``baseline``.

    ``notes`` has a text per sample: the mean difference, or the reason why there is none.
    """

    tiles: Tiles
    baseline: Port | None
    notes: tuple[str, ...]


def tiles_of(worker: Worker, run: GraphRun, port: Port, size: int) -> Tiles:
    """Return an output's tiles for the whole batch. Raises GraphError if it is not an image."""
    batch = run.result.batches[port]
    key = f"tiles {len(batch)} {size} {port.output} {run.result.keys[port.node]}"
    cached = worker.runner.store.get(key)
    if cached is not None:
        tiles: Tiles = cached[0]
        return tiles
    batch = pictures_of(run, port, batch)
    picture_layout(batch)
    made = make_tiles(worker, batch, size, scaling_for(worker, run, port))
    worker.runner.store.put(key, [made])
    return made


def pictures_of(run: GraphRun, port: Port, batch: Batch) -> Batch:
    """Convert the samples of an output to images if they are sequences or sounds."""
    return as_pictures(batch, run.resolved.kind(port))


def scaling_for(worker: Worker, run: GraphRun, port: Port) -> Scaling | None:
    """Return the scaling with which an output is displayed. It is the same for the whole batch."""
    known: dict[tuple[str, str, int], Scaling | None] = worker.kept.setdefault(("scalings",), {})
    key = run.key(port), port.output, len(run.result.samples)
    if key not in known:
        if len(known) >= _KEPT_SCALINGS:
            known.clear()
        batch = run.result.batches[port]
        if is_sound(batch, run.resolved.kind(port)):
            known[key] = sound_scaling(batch)
        else:
            known[key] = scaling_of(run.resolved, port, batch)
    return known[key]


def gpu_jpeg_encoder(worker: Worker) -> Encoder | None:
    """Return the GPU's JPEG encoder, or None if it is unavailable and Pillow must be used."""
    if ("encoder",) not in worker.kept:
        try:
            worker.kept[("encoder",)] = gpu_encoder()
        except (ImportError, RuntimeError):  # nvImageCodec is optional: Pillow is the fallback
            worker.kept[("encoder",)] = None
    encoder: Encoder | None = worker.kept[("encoder",)]
    return encoder


def differences_of(worker: Worker, run: GraphRun, size: int) -> list[DifferenceTiles]:
    """Return the difference between each image output and ``baseline``.

    The tiles of an output that does not depend on the baseline are grey. Raises GraphError if no
    output depends on it.
    """
    ports = list(run.images.values())
    wanted = run.request.baseline
    steps = dict.fromkeys(step.node for port in ports for step in _steps_before(run, port))
    if wanted and wanted not in steps:
        fix = f"Compare with one of: {', '.join(steps)}." if steps else "No step can be compared."
        raise GraphError(f"No output depends on {wanted!r}. {fix}")
    return [_difference_of(worker, run, port, size) for port in ports]


def _difference_of(worker: Worker, run: GraphRun, port: Port, size: int) -> DifferenceTiles:
    """Return |output - baseline| for each displayed pixel and channel, so that 0 is black."""
    of = tiles_of(worker, run, port, size)
    after = on_host(of)
    extents = _extents(run, port)
    baseline = _baseline_port(run, port)
    pixels = np.empty_like(after)
    pixels[:] = NO_DIFFERENCE
    if baseline is None:
        note = f"no difference: {_nothing_to_compare(run, port)}"
        return DifferenceTiles(Tiles(pixels, of.sizes, of.note), None, (note,) * len(extents))
    shown_as = [scaling_for(worker, run, which) for which in (port, baseline)]
    stretched = any(scaling is not None and scaling.stretched for scaling in shown_as)
    before = on_host(tiles_of(worker, run, baseline, size))
    base_extents = _extents(run, baseline)
    notes = []
    for index, (here, there) in enumerate(zip(extents, base_extents, strict=True)):
        if here != there:
            names = ["×".join(map(str, extent[::-1])) for extent in (there, here)]
            notes.append(
                f"no difference: {baseline.node} outputs {names[0]} pixels, not {names[1]}"
            )
            continue
        found = _absolute(after[index], before[index])
        pixels[index] = found
        width, height = of.sizes[index]
        shown = found[:height, :width]
        figure = f"difference {shown.mean():.3g} of 255 on average, {shown.max()} at most"
        notes.append(f"{figure}{_STRETCHED if stretched else ''}")
    return DifferenceTiles(Tiles(pixels, of.sizes, of.note), baseline, tuple(notes))


def _nothing_to_compare(run: GraphRun, port: Port) -> str:
    if run.request.baseline:
        return f"{port.node} does not come from images of {run.request.baseline}"
    sides = "×".join(map(str, _extents(run, port)[0][::-1]))
    return f"no previous step outputs images of {sides} pixels"


def _absolute(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.asarray(np.maximum(a, b) - np.minimum(a, b), np.uint8)


def _extents(run: GraphRun, port: Port) -> list[tuple[int, int]]:
    batch = pictures_of(run, port, run.result.batches[port])
    layout = picture_layout(batch)
    at = layout.index("H"), layout.index("W")
    return [(shape[at[0]], shape[at[1]]) for shape in batch.shapes]


def _steps_before(run: GraphRun, port: Port) -> list[Port]:
    """Return the image ports that an output depends on, in topological order."""
    before = ancestors(run.graph, [port])
    return [
        found
        for found in run.result.batches
        if found.node in before and found != port and run.resolved.kind(found) in SHOWN_KINDS
    ]


def _baseline_port(run: GraphRun, port: Port) -> Port | None:
    """Return the port to compare an output with: the requested one, or the first of equal size."""
    steps = _steps_before(run, port)
    wanted = run.request.baseline
    if wanted:
        return next((step for step in steps if step.node == wanted), None)
    extents = _extents(run, port)
    for step in steps:
        try:
            if _extents(run, step) == extents:
                return step
        except GraphError:
            continue  # a step that outputs no image
    return None
